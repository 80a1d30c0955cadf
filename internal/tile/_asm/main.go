// Command _asm writes the amd64 tiles of package tile, the table of them, and the constants that both sides
// need.
//
//	go run . -tier avx512 -pkg tile -out ../tile_avx512_amd64.s -stubs ../stubs_avx512_amd64.go
//	go run . -tables ..
package main

import (
	"flag"
	"log"
	"slices"

	. "github.com/mmcloughlin/avo/build"
)

var (
	tier   = flag.String("tier", "", "write the tiles of this tier")
	tables = flag.String("tables", "", "write the table of tiles and the constants to this folder, and no tiles")
)

func main() {
	flag.Parse()
	ConstraintExpr("!purego")
	if *tables != "" {
		for _, t := range tiers {
			emit(t)
		}
		if err := writeTables(*tables); err != nil {
			log.Fatal(err)
		}
		return
	}
	i := slices.IndexFunc(tiers, func(t isa) bool { return t.name == *tier })
	if i < 0 {
		log.Fatalf("no tier %q", *tier)
	}
	emit(tiers[i])
	Generate()
}

// emit emits all tiles of a tier.
func emit(t isa) {
	if !t.evex {
		emitMaskTable()
		emitSpanTable()
	} else {
		emitPairTable()
	}
	for _, x := range []*number{double, single} {
		for cols := 1; cols <= maxDots; cols++ {
			mulBasis(t, cols, x)
		}
		sumBlocks(t, x)
		addPanels(t, x)
	}
	for _, m := range []int{8, 4, 2, 1} {
		rankUpdate(t, m)
	}
	panels(t)
	copyPieces(t)
	pairPanel(t)
	transposeSquares(t)
	transposeEdge(t)
	if !t.evex { // AVX-512 uses it too
		transposeSquares32(t)
		transposeFours32(t)
		joinFew32(t)
		splitFew32(t)
	}
	lanes(t)
	sumDifferences(t)
	leastSquares(t)
	for r := range smallColumns + 1 {
		if t.smallVectors(r) > 0 {
			leastSquaresSmall(t, r)
		}
	}
	residual(t)
	rotate(t)
	vectors(t)
	levelOne(t)
	triangles(t)
	pairTriangles(t)
	solveUpper(t)
	fmaPeak(t)
}
