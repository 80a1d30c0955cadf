//go:build !arm64

package blas

import reference "gonum.org/v1/gonum/blas/gonum"

// fallback computes what this package leaves to gonum.
type fallback = reference.Implementation
