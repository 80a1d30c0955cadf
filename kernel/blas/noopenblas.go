//go:build !openblas

package blas

// Backend names what computes the dense operations of gonum.
func Backend() string { return "gonum" }

// OpenBLASForced reports whether DIFALT_KERNEL has every shape done by OpenBLAS.
func OpenBLASForced() bool { return false }
