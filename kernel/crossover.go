//go:build openblas

package kernel

import (
	"math"
	"os"
	"slices"
	"strings"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/internal/tile"
)

// forced is what DIFALT_KERNEL asked for when the program started.
var forced = strings.ToLower(os.Getenv(tile.Variable))

// From this rank and this number of samples on OpenBLAS is faster than the tiles.
var crossoverRank, crossoverSamples = crossover(tile.Active(), openblas.Core())

// crossover returns what was measured, in turns, for shapes of 32 to 2048 features with
// OpenBLAS 0.3.21, as the ratio of the times of the tiles and of OpenBLAS at and above
// the crossover. Below it OpenBLAS loses by up to a factor 2.5: only where the least
// squares are so large that LAPACK's blocks pay does it win against tiles in assembly.
// AVX2 tiles and those of NEON never lost. An OpenBLAS that is older than the processor
// does not know it and uses narrower vectors, or code of 2004: it is left aside.
//
// This is a table, and not a measurement at run time as the schedules are (schedule.go),
// because the two round differently: the same data must give the same bits in every run.
func crossover(tier tile.Tier, core string) (rank, samples int) {
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, core) })
	}
	switch {
	case tier == tile.Generic:
		return 1, 1 // 1.8 to 6.8
	case tier == tile.AVX512 && is("SkylakeX", "Cooperlake", "SapphireRapids"):
		return 192, 512 // 1.2 to 1.3
	}
	return math.MaxInt, math.MaxInt
}

// preferOpenBLAS reports whether tasks of up to maxRows samples and a basis of r
// columns are done by OpenBLAS rather than by the tiles: if DIFALT_KERNEL says so,
// or if it says nothing and that is faster. If it is true for a shape it is true
// for larger ones.
func preferOpenBLAS(maxRows, r int) bool {
	if forced != "" {
		return forced == openBLAS
	}
	return r >= crossoverRank && maxRows >= crossoverSamples
}
