// Command _asm writes the amd64 tiles of package tile, and the functions that choose one.
//
//	go run . -tier avx512 -pkg tile -out ../tile_avx512_amd64.s -stubs ../stubs_avx512_amd64.go
//	go run . -select ../select_amd64.go
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

var (
	tier     = flag.String("tier", "avx512", "avx2 or avx512")
	selected = flag.String("select", "", "write the functions that choose a tile to this file, and no tiles")
)

// rankUpdates are the numbers of products that a tile of rankUpdate adds, down to one.
var rankUpdates = []int{8, 4, 2, 1}

func main() {
	flag.Parse()
	ConstraintExpr("!purego")
	switch {
	case *selected != "":
		emit(avx2)
		emit(avx512)
		if err := writeSelect(*selected); err != nil {
			log.Fatal(err)
		}
		return
	case *tier == avx2.name:
		emit(avx2)
	default:
		emit(avx512)
	}
	Generate()
}

// emit emits all tiles of a tier.
func emit(t isa) {
	if t == avx2 {
		emitMaskTable()
	}
	for _, x := range []*samples{samples64, samples32, samples16} {
		for cols := 1; cols <= maxDots; cols++ {
			mulBasis(t, cols, x)
		}
		sumBlocks(t, x)
		addPanels(t, x)
	}
	addScaled(t)
	halve(t, samples64)
	halve(t, samples32)
	size(t, samples64)
	size(t, samples32)
	for _, m := range rankUpdates {
		rankUpdate(t, m)
	}
	for _, height := range panelRows(t) {
		panel(t, height, false)
	}
	panel(t, panelRows(t)[0], true)
	transposeSquares(t)
	sumDifferences(t)
	widen(t)
	leastSquares(t)
	for _, m := range maxSmall {
		for r := 1; r <= m.columns && t == avx512; r++ {
			leastSquaresSmall(r, m.vectors)
		}
	}
	residual(t)
	rotate(t)
	solveUpper(t)
	for _, streams := range []int{1, 4} {
		readSum(t, streams)
	}
	fmaPeak(t)
}
