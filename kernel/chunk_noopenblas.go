//go:build !openblas

package kernel

func library() string { return "" }

// openBLASBackend is never called in builds without OpenBLAS.
func openBLASBackend() backend { panic(badBackend) }
