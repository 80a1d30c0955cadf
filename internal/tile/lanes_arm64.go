//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

// The operations on tasks in the lanes of vectors: neonLanes lanes, two vectors of NEON. They have the bits
// of the tiles of amd64.

const neonLanes = 4

// withLanes adds the tiles of this file to a table.
func withLanes(o *operations) {
	for columns := 1; columns <= 4; columns++ {
		o.mulBasisLanes[columns] = 1
	}
	o.leastSquaresLanes, o.mulTransposedLanes = 1, 1
}

// mulBasisLanesTile takes each row as a product of the columns and a matrix of one row a feature.
func mulBasisLanesTile(a *float64, lda int, x, u *float64, ldu, n, d, index int) {
	for i := range n {
		p := rowsProduct{unsafe.Pointer(at(a, i*lda)), neonLanes, unsafe.Pointer(u), ldu, 1,
			unsafe.Pointer(at(x, i*d*neonLanes)), neonLanes, index, d, false}
		p.compute(neonLanes, false)
	}
}

// mulTransposedLanesTile takes laneFeatures features at a time. The last group overlaps the group before
// unless their number is a multiple of laneFeatures.
func mulTransposedLanesTile(v *float64, ldv int, x, e *float64, lde, n, d int) {
	const laneFeatures = 8
	var sums [laneFeatures * neonLanes]float64
	last := n - 1
	for k := 0; k < d; k += laneFeatures {
		first := min(k, d-laneFeatures)
		from := at(x, (last*d+first)*neonLanes)
		mulTransposedLanes_neon(&sums[0], from, d*neonLanes, at(e, last*lde), lde, n)
		for i := range laneFeatures {
			for l := range neonLanes {
				*at(v, l*ldv+first+i) = sums[i*neonLanes+l]
			}
		}
	}
}

// A lane4 is a number of each lane.
type lane4 [neonLanes]float64

// lanesAt returns number i from p on.
func lanesAt(p *float64, i int) *lane4 { return (*lane4)(unsafe.Pointer(at(p, i*neonLanes))) }

// A laneSolver is the elimination of the tile of amd64, with all columns from the pivot on at a time. Numbers
// are counted from the first one of [A y], and of work, which begins with zeros: they stand for a pivot and
// its factors before the first ones.
type laneSolver struct {
	rank, row     int // the numbers of a row of [A y], and of a row of F, are one more
	a, work       *float64
	column        int // the pivot column
	f, factors    int // the row of F of the pivot, and that of the pivot before from the next column on
	lo, hi, size  lane4
	sums          [LaneColumns + 1]lane4
	product, ones lane4
}

func leastSquaresLanesTile(a *float64, m, n, r int, work *float64) {
	s := laneSolver{rank: r, row: r + 1, a: a, work: work, f: laneZeros}
	for l := range neonLanes {
		s.lo[l], s.product[l], s.ones[l] = math.Inf(1), 1, 1
	}
	for ; s.column < r; s.column++ {
		s.stage(m)
		s.factor()
	}
	s.stage(n)
	s.substitute()
}

// stage subtracts the multiples of the previous pivot from the columns from this pivot on, and from y, in
// some rows. It sums up their products with the pivot.
func (s *laneSolver) stage(rows int) {
	columns := s.rank - s.column
	clear(s.sums[:columns+1])
	fused := columns > 2 // as the tile of amd64 does it
	for i := range rows {
		x, pivot := lanesAt(s.work, 0), lanesAt(s.a, i*s.row+s.column)
		if s.column > 0 {
			x = lanesAt(s.a, i*s.row+s.column-1)
		}
		for j := range columns + 1 {
			v, factor, sum := lanesAt(s.a, i*s.row+s.column+j), lanesAt(s.work, s.factors+j), &s.sums[j]
			for l := range neonLanes {
				v[l] = math.FMA(-factor[l], x[l], v[l])
				if fused {
					sum[l] = math.FMA(v[l], pivot[l], sum[l])
				} else {
					sum[l] += float64(v[l] * pivot[l])
				}
			}
		}
	}
}

// factor divides the products by the product of the pivot with itself. It stores them as a row of F with
// that product on the diagonal, and moves on to the next row.
func (s *laneSolver) factor() {
	columns := s.rank - s.column
	for l, square := range s.sums[0] {
		if !(s.lo[l] < square) { // NaN in the last ends there
			s.lo[l] = square
		}
		inverse := 1 / square
		for j := 1; j <= columns; j++ {
			s.sums[j][l] *= inverse
		}
	}
	for j, v := range s.sums[:columns+1] {
		*lanesAt(s.work, s.f+j) = v
	}
	s.factors = s.f + 1
	s.f = s.factors + s.row
}

// entry returns entry j of row k of F. Column r of F is y.
func (s *laneSolver) entry(k, j int) *lane4 { return lanesAt(s.work, laneZeros+k*s.row+j) }

// substitute replaces the last column of F by b, and stores the results behind F.
func (s *laneSolver) substitute() {
	r, squares := s.rank, s.sums[0]
	for k := r - 1; k >= 0; k-- {
		v, norm := *s.entry(k, r), s.ones
		for j := r - 1; j > k; j-- {
			x, b := s.entry(k, j), s.entry(j, r)
			for l := range neonLanes {
				v[l] = math.FMA(-x[l], b[l], v[l])
				norm[l] = math.FMA(x[l], x[l], norm[l])
			}
		}
		*s.entry(k, r) = v
		for l, square := range s.entry(k, k) {
			for _, size := range [2]float64{0 - v[l], v[l]} {
				if !(s.size[l] > size) { // which skips NaN like the minimum in lo
					s.size[l] = size
				}
			}
			s.hi[l] = math.FMA(square, norm[l], s.hi[l])
		}
	}
	for k := range r {
		for l, square := range s.entry(k, k) {
			s.product[l] *= float64(square * (1 / s.hi[l]))
		}
	}
	for i, result := range []*lane4{&s.lo, &s.hi, &s.size, &squares, &s.product} {
		*s.entry(r, i) = *result
	}
}
