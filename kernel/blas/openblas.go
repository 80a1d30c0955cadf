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

// forced is "openblas", the name of a tier of tiles, or empty.
var forced = strings.ToLower(os.Getenv(tile.Variable))

// From this rank on OpenBLAS is faster than the tiles.
const openBLASRank = 1000

// PreferOpenBLAS reports whether tasks of up to maxRows samples and a basis of r
// columns are done by OpenBLAS rather than by the tiles. If it is true for a shape
// it is true for larger ones. The environment variable DIFALT_KERNEL forces the
// answer: yes if it is "openblas", no if it names a tier.
func PreferOpenBLAS(maxRows, r int) bool {
	switch forced {
	case "openblas":
		return true
	case "":
		return r >= openBLASRank && maxRows >= r
	}
	return false
}
