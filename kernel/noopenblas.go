//go:build !openblas

package kernel

func library() string { return "" }

func useOpenBLAS() bool { return false }

// stepOpenBLAS does the tasks of chunks with OpenBLAS and reports whether it did;
// this build has no OpenBLAS.
func (g *Group) stepOpenBLAS(int, int, *Basis, float64, *Workspace) bool { return false }

// openBLASWork returns the scratch memory of stepOpenBLAS.
func openBLASWork(maxSamples, d, r int) []float64 { return nil }
