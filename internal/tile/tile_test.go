package tile_test

import (
	"testing"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

var ops = Ops{
	MulBasis:     tile.MulBasis[float64],
	MulBasis32:   tile.MulBasis[float32],
	PackBasis:    tile.PackBasis,
	MulPacked:    tile.MulPacked,
	LeastSquares: tile.LeastSquares,

	Orthogonalize: tile.Orthogonalize,

	Residual:        tile.Residual,
	MulTransposed:   tile.MulTransposed[float64],
	MulTransposed32: tile.MulTransposed[float32],

	RankUpdate: tile.RankUpdate,
	SolveUpper: tile.SolveUpper,
	Rotate:     tile.Rotate,
	Panel:      tile.Panel[float64],
	Transpose:  tile.Transpose[float64],

	RowDots:     tile.RowDots[float64],
	AddRows:     tile.AddRows[float64],
	AddOuter:    tile.AddOuter[float64],
	Panel32:     tile.Panel[float32],
	Transpose32: tile.Transpose[float32],
	RowDots32:   tile.RowDots[float32],
	AddRows32:   tile.AddRows[float32],
	AddOuter32:  tile.AddOuter[float32],
}

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// overBLAS brings the operations of package blas to the arguments of the tiles.
var overBLAS = Ops{
	MulBasis: func(a []float64, lda int, x []float64, ldx int, u []float64, ldu int, n, d, r int, _ tile.Hint) {
		dense.MulTN(of(n, r, lda, a), of(tile.Pad(d), n, ldx, x), of(tile.Pad(d), r, ldu, u))
	},
	Residual: func(e, a []float64, lda int, b, y []float64, n, r int) float64 {
		return dense.Residual(e, of(n, r, lda, a), b, y)
	},
	RankUpdate: func(g []float64, ldg int, v []float64, ldv int, b []float64, ldb int, m, d, r int) {
		dense.AddMulNT(of(tile.Pad(d), r, ldg, g), of(tile.Pad(d), m, ldv, v), of(r, m, ldb, b))
	},
	Combine: func(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
		dense.MulNN(of(cols, m, ldc, c), of(cols, n, ldz, z), of(n, m, ldw, w))
	},
}

func TestConformance(t *testing.T) { test(t, ops, repeats()) }

// Package blas calls the tiles, which are held to more shapes.
func TestConformanceOfBLAS(t *testing.T) { test(t, overBLAS, 1) }

func FuzzMulBasis(f *testing.F)        { fuzz(f, ops, "MulBasis") }
func FuzzMulBasis32(f *testing.F)      { fuzz(f, ops, "MulBasis32") }
func FuzzMulPacked(f *testing.F)       { fuzz(f, ops, "MulPacked") }
func FuzzLeastSquares(f *testing.F)    { fuzz(f, ops, "LeastSquares") }
func FuzzResidual(f *testing.F)        { fuzz(f, ops, "Residual") }
func FuzzMulTransposed(f *testing.F)   { fuzz(f, ops, "MulTransposed") }
func FuzzMulTransposed32(f *testing.F) { fuzz(f, ops, "MulTransposed32") }
func FuzzRankUpdate(f *testing.F)      { fuzz(f, ops, "RankUpdate") }
func FuzzSolveUpper(f *testing.F)      { fuzz(f, ops, "SolveUpper") }
func FuzzRotate(f *testing.F)          { fuzz(f, ops, "Rotate") }
func FuzzPanel(f *testing.F)           { fuzz(f, ops, "Panel") }
