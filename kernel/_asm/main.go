// Command _asm writes the amd64 tiles of package tile.
//
//	go run . -tier avx512 -pkg tile -out ../internal/tile/tile_avx512_amd64.s -stubs ../internal/tile/stubs_avx512_amd64.go
package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
)

var tier = flag.String("tier", "avx512", "avx2 or avx512")

func main() {
	flag.Parse()
	t := avx512
	if *tier == "avx2" {
		t = avx2
	}
	ConstraintExpr("!purego")
	if t == avx2 {
		emitMaskTable()
	}
	for _, x := range []*samples{samples64, samples32, samples16} {
		for cols := 1; cols <= 6; cols++ {
			mulBasis(t, cols, x)
		}
		mulTransposed(t, x)
	}
	addScaled(t)
	halve(t, samples64)
	halve(t, samples32)
	size(t, samples64)
	size(t, samples32)
	for _, m := range []int{8, 4, 2, 1} {
		rankUpdate(t, m)
	}
	for _, height := range panelRows(t) {
		panel(t, height, false)
	}
	panel(t, panelRows(t)[0], true)
	widen(t)
	leastSquares(t)
	residual(t)
	columnProducts(t)
	columnUpdate(t)
	columnScale(t)
	gramProducts(t)
	solveUpper(t)
	for _, streams := range []int{1, 4} {
		readSum(t, streams)
	}
	fmaPeak(t)
	Generate()
}
