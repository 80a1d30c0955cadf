package blas

import "github.com/difalt/difalt/internal/tile"

// fallback computes what this package leaves to gonum, with the bits of gonum on amd64.
type fallback = ordered

// rowDot returns x'y for vectors of one length, as ordered does.
func rowDot(x, y []float64) float64 { return tile.Dot(x, y) }

// addRow adds alpha x to y for vectors of one length, as ordered does.
func addRow(alpha float64, x, y []float64) { addRounded(len(x), alpha, x, 0, 1, y, 0, 1) }
