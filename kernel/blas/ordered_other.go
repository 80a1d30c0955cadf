//go:build !arm64

package blas

import (
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/floats"
)

// fallback computes what this package leaves to gonum.
type fallback = reference.Implementation

// rowDot returns x'y for vectors of one length, as gonum's Ddot does without its questions.
func rowDot(x, y []float64) float64 { return floats.Dot(x, y) }

// addRow adds alpha x to y for vectors of one length, as gonum's Daxpy does.
func addRow(alpha float64, x, y []float64) { floats.AddScaled(y, alpha, x) }
