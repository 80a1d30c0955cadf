//go:build openblas

package blas

import (
	"os"
	"strings"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// Dense operations of gonum go to OpenBLAS in this build.
func init() {
	blas64.Use(blasnetlib.Implementation{})
	lapack64.Use(lapacknetlib.Implementation{})
}

// Backend names what computes the dense operations of gonum.
func Backend() string { return openblas.Version() }

var forced = strings.ToLower(os.Getenv(tile.Variable))

// OpenBLASForced reports whether DIFALT_KERNEL has every shape done by OpenBLAS.
func OpenBLASForced() bool { return forced == OpenBLAS }

// From this rank on OpenBLAS is faster than the tiles.
const openBLASRank = 1000

// An OpenBLAS that is older than the processor and does not know it falls back to
// code without AVX.
var outdated = openblas.Core() == "Prescott"

// PreferOpenBLAS reports whether tasks of up to maxRows samples and a basis of r
// columns are done by OpenBLAS rather than by the tiles: if DIFALT_KERNEL says so,
// or if it says nothing and that is faster. If it is true for a shape it is true
// for larger ones.
func PreferOpenBLAS(maxRows, r int) bool {
	if forced != "" {
		return OpenBLASForced()
	}
	return r >= openBLASRank && maxRows >= r && !outdated
}
