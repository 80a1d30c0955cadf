package tile_test

import (
	"testing"

	"github.com/difalt/difalt/kernel/internal/conformance"
	"github.com/difalt/difalt/kernel/internal/tile"
)

var ops = conformance.Ops{
	MulBasis:        tile.MulBasis[float64],
	MulBasis32:      tile.MulBasis[float32],
	PackBasis:       tile.PackBasis,
	MulPacked:       tile.MulPacked[float64],
	MulPacked32:     tile.MulPacked[float32],
	LeastSquares:    tile.LeastSquares,
	Residual:        tile.Residual,
	MulTransposed:   tile.MulTransposed[float64],
	MulTransposed32: tile.MulTransposed[float32],
	RankUpdate:      tile.RankUpdate,
	Factor:          tile.Factor,
	FormQ:           tile.FormQ,
	Gram:            tile.Gram,
	SolveUpper:      tile.SolveUpper,
	Combine:         tile.Combine,
}

func TestConformance(t *testing.T) { conformance.Test(t, ops) }

func FuzzMulBasis(f *testing.F)        { conformance.Fuzz(f, ops, "MulBasis") }
func FuzzMulBasis32(f *testing.F)      { conformance.Fuzz(f, ops, "MulBasis32") }
func FuzzMulPacked(f *testing.F)       { conformance.Fuzz(f, ops, "MulPacked") }
func FuzzMulPacked32(f *testing.F)     { conformance.Fuzz(f, ops, "MulPacked32") }
func FuzzLeastSquares(f *testing.F)    { conformance.Fuzz(f, ops, "LeastSquares") }
func FuzzResidual(f *testing.F)        { conformance.Fuzz(f, ops, "Residual") }
func FuzzMulTransposed(f *testing.F)   { conformance.Fuzz(f, ops, "MulTransposed") }
func FuzzMulTransposed32(f *testing.F) { conformance.Fuzz(f, ops, "MulTransposed32") }
func FuzzRankUpdate(f *testing.F)      { conformance.Fuzz(f, ops, "RankUpdate") }
func FuzzFactor(f *testing.F)          { conformance.Fuzz(f, ops, "Factor") }
func FuzzGram(f *testing.F)            { conformance.Fuzz(f, ops, "Gram") }
func FuzzSolveUpper(f *testing.F)      { conformance.Fuzz(f, ops, "SolveUpper") }
func FuzzCombine(f *testing.F)         { conformance.Fuzz(f, ops, "Combine") }
