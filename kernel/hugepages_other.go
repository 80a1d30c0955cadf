//go:build !linux

package kernel

// adviseHugePages does nothing on systems without such advice.
func adviseHugePages([]float64) {}
