package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// A triangleOf is a triangle of an order, and rows of entries to which it is applied: in memory in any
// direction.
type triangleOf[F tile.Float] struct {
	order, cols       int
	a, b, d           []F
	down, across, ldb int
}

// newTriangle takes the order from the samples, the number of entries in a row from the features, and the
// direction from the rank.
func newTriangle[F tile.Float](r *run, s shape) *triangleOf[F] {
	most := tile.TriangleOrder
	if unsafe.Sizeof(F(0)) == 4 {
		most = tile.TriangleOrder32
	}
	t := &triangleOf[F]{order: orderOf(s, most), cols: s.d}
	t.a, t.down = columns[F](r, t.order, t.order, 1)
	t.across = 1
	for i := range t.order {
		for k := range t.order {
			t.a[i*t.down+k] = F(r.value(r.rng))
		}
	}
	declare(r, "a", t.a)
	if s.r%2 == 0 {
		t.d, _ = dense[F](r, "d", t.order, 1)
	}
	if s.r/2%2 == 1 {
		t.down, t.across = t.across, t.down
	}
	t.b, t.ldb = filled[F](r, t.cols, t.cols, t.order, 1)
	if s.r/4%2 == 1 {
		t.down, t.across, t.ldb = -t.down, -t.across, -t.ldb
	}
	return t
}

// orderOf returns the order of a triangle for a shape: 8 or more for the 33 samples of TestRaceIsSeen.
func orderOf(s shape, most int) int { return (s.n + most/2) % (most + 1) }

// entry returns entry (i, k) of the triangle, and place that of row i of B.
func (t *triangleOf[F]) entry(i, k int) float64 {
	if t.ldb < 0 {
		i, k = i-t.order+1, k-t.order+1
	}
	return float64(t.a[i*t.down+k*t.across])
}

func (t *triangleOf[F]) place(i int) int {
	if t.ldb < 0 {
		i -= t.order - 1
	}
	return i * t.ldb
}

func (t *triangleOf[F]) factor(i int) float64 {
	if len(t.d) == 0 {
		return 1
	}
	return float64(t.d[i])
}

// multiplyRows holds every entry to its definition.
func multiplyRows[F tile.Float](r *run, s shape) {
	t := newTriangle[F](r, s)
	before := slices.Clone(t.b)
	r.call(func() { tile.MultiplyRows(t.b, t.ldb, t.a, t.down, t.across, t.d, t.order, t.cols) })
	t.entries(r, func(want *sum, i, j int) {
		want.add(float64(before[t.place(i)+j]), t.factor(i))
		for k := range i {
			want.add(t.entry(i, k), float64(before[t.place(k)+j]))
		}
	})
}

// solveRows holds every entry to its equation, with the rounded entries before it.
func solveRows[F tile.Float](r *run, s shape) {
	t := newTriangle[F](r, s)
	before := slices.Clone(t.b)
	r.call(func() { tile.SolveRows(t.b, t.ldb, t.a, t.down, t.across, t.d, t.order, t.cols) })
	t.entries(r, func(want *sum, i, j int) {
		want.add(float64(before[t.place(i)+j]), 1)
		for k := range i {
			want.add(-t.entry(i, k), float64(t.b[t.place(k)+j]))
		}
		want.times(t.factor(i))
	})
}

// entries checks the rows of B.
func (t *triangleOf[F]) entries(r *run, want func(s *sum, i, j int)) {
	if r.disturb != nil || t.order == 0 {
		return
	}
	var s sum
	for i := range t.order {
		for j := range t.cols {
			s = sum{single: unsafe.Sizeof(F(0)) == 4}
			if want(&s, i, j); !r.element(float64(t.b[t.place(i)+j]), &s, i, j) {
				return
			}
		}
	}
	between := max(t.ldb, -t.ldb)
	for i := range t.order - 1 {
		if !areCanaries(halvesOf(t.b[i*between+t.cols : (i+1)*between])) {
			r.Errorf("%s: wrote between rows %d and %d", r.at, i, i+1)
		}
	}
}

// times multiplies a sum by a number, as one more operation does.
func (s *sum) times(by float64) {
	most := math.MaxFloat64
	if s.single {
		most = math.MaxFloat32
	}
	up, down := s.pos, s.neg
	s.terms, s.factor = 5*(s.terms+2), math.Abs(by)
	s.hi, s.lo, s.abs = s.hi*by, s.lo*by, s.abs*math.Abs(by)
	switch {
	case by != by, by == 0 && (up || down):
		s.nan = true
	case by < 0:
		s.pos, s.neg = down, up
	}
	infinite := math.IsInf(by, 0) || !(math.Abs(s.hi) <= most)
	switch {
	case s.nan || s.pos || s.neg || !infinite:
	case s.hi != s.hi:
		s.nan = true
	default:
		s.pos, s.neg = s.hi > 0, s.hi < 0
	}
}
