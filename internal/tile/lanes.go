package tile

const (
	// LaneColumns is the largest rank of LeastSquaresLanes.
	LaneColumns = 8
	// LaneRows and LaneFeatures are the smallest numbers of rows and features of a block.
	LaneRows, LaneFeatures = 5, 8

	laneZeros, laneResults = LaneColumns + 1, 5
)

// LaneResults are the results of LeastSquaresLanes, in its workspace.
type LaneResults struct {
	// B holds b_j of lane l at j*Stride+l.
	B      []float64
	Stride int
	// With A = QR, Lo is the square of the smallest diagonal entry of R for each lane, and Hi the sum of the
	// squares of R. Product multiplies the squares of the diagonal, each divided by Hi. Size is the largest
	// absolute value of b, and Squares the sum of the squares of y - A b.
	Lo, Hi, Size, Squares, Product []float64 // in the order of the tile
}

// LaneStride returns how many numbers a row of LeastSquaresLanes has.
func LaneStride(r int) int { return r + 1 }

// LaneWork returns the length of work of LeastSquaresLanes.
func LaneWork(r int) int { return (laneZeros + r*LaneStride(r) + laneResults) * Lanes() }

// LaneZeros returns how many of the first entries of work must be zero.
func LaneZeros() int { return laneZeros * Lanes() }

// Lanes returns the number of tasks that the operations on lanes compute in one call, 0 on a tier without
// them.
//
// They do the steps of Alg. 3, lines 8 and 11, for a block of tasks, one in each lane of a vector: what they
// compute for a task depends on no other one. A number of a block is a vector of a float64 a lane, and
// strides count float64. The samples x of a block are n rows of d such numbers, one row after the other.
func Lanes() int {
	if tiles.mulBasisLanes[1] == 0 {
		return 0
	}
	return tiles.lanes
}

// MulBasisLanes computes, for every lane l and the column-major d x r basis u,
//
//	a[i*lda+j*Lanes()+l] = sum_k x[(i*d+k)*Lanes()+l] * u[j*ldu+k],  i < n, j < r, k < d,
//
// n >= LaneRows, r <= LaneColumns.
func MulBasisLanes(a []float64, lda int, x, u []float64, ldu, n, d, r int) {
	lanes, most := tiles.lanes, largest(tiles.mulBasisLanes[:], r)
	raceRead(x, 1, n*d*lanes, 0)
	raceRead(u, r, d, ldu)
	raceWrite(a, n, r*lanes, lda)
	_, _, _ = a[(max(n, LaneRows)-1)*lda+r*lanes-1], x[max(n, LaneRows)*d*lanes-1], u[(r-1)*ldu+d-1]
	height := n
	if most < r { // the rows stay in the first-level cache for the other columns
		height = max(20480/(8*LaneRows*d*lanes), 1) * LaneRows
	}
	for i := 0; i < n; i += height {
		i = min(i, n-LaneRows) // the last rows may be computed twice
		for j := 0; j < r; j += most {
			width := largest(tiles.mulBasisLanes[:], r-j)
			mulBasisLanesTile(&a[i*lda+j*lanes], lda, &x[i*d*lanes], &u[j*ldu], ldu, min(height, n-i), d, width)
		}
	}
}

// LeastSquaresLanes computes b = argmin |A b - y| for every lane as leastSquaresGeneric does, but drops no
// column: where columns are dependent, its numbers mean nothing. a holds m rows of LaneStride(r) numbers: A,
// and y. The first n of y become y - A b, without the m-n rows of a ridge. Of work, which has LaneWork(r)
// entries, the first LaneZeros must be zero, and stay so.
func LeastSquaresLanes(a []float64, m, n, r int, work []float64) LaneResults {
	row := LaneStride(r) * tiles.lanes
	raceWrite(a, 1, m*row, 0)
	raceWrite(work, 1, LaneWork(r), 0)
	_, _ = a[m*row-1], work[LaneWork(r)-1]
	leastSquaresLanesTile(&a[0], m, n, r, &work[0])
	f := work[laneZeros*tiles.lanes:]
	at := func(i int) []float64 { return f[r*row+i*tiles.lanes:][:tiles.lanes] }
	return LaneResults{f[r*tiles.lanes:], row, at(0), at(1), at(2), at(3), at(4)}
}

// MulTransposedLanes computes v = X'e for every lane,
//
//	v[l*ldv+k] = sum_i x[(i*d+k)*Lanes()+l] * e[i*lde+l],  i < n, k < d,
//
// n > 0, d >= LaneFeatures.
func MulTransposedLanes(v []float64, ldv int, x, e []float64, lde, n, d int) {
	raceRead(x, 1, n*d*tiles.lanes, 0)
	raceRead(e, n, tiles.lanes, lde)
	raceWrite(v, tiles.lanes, d, ldv)
	_, _, _ = v[(tiles.lanes-1)*ldv+d-1], x[n*d*tiles.lanes-1], e[(n-1)*lde+tiles.lanes-1]
	mulTransposedLanesTile(&v[0], ldv, &x[0], &e[0], lde, n, d)
}
