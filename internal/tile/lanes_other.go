//go:build purego || !amd64

package tile

// Lanes returns 0: this build has no operations on lanes, and calls none.
func Lanes() int { return 0 }

const noLanes = "tile: no operations on lanes"

func MulBasisLanes(a []float64, lda int, x, u []float64, ldu, n, d, r int) { panic(noLanes) }

func LeastSquaresLanes(a []float64, m, n, r int, work []float64) LaneResults { panic(noLanes) }

func MulTransposedLanes(v []float64, ldv int, x, e []float64, lde, n, d int) { panic(noLanes) }
