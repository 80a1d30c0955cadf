package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// A pairTriangle is a complex triangle, and rows of complex numbers to which it is applied: in memory in any
// direction. Its distances are in reals.
type pairTriangle[F tile.Float] struct {
	order, cols       int
	a, b, d           []F
	down, across, ldb int
	conjugate         bool
}

// newPairTriangle takes the samples for the order, the features for the number of entries in a row, and the
// rank for the direction and for whether the conjugate triangle is applied.
func newPairTriangle[F tile.Float](r *run, s shape) *pairTriangle[F] {
	t := &pairTriangle[F]{order: orderOf(s, tile.TriangleOrder), cols: min(s.d, 2500), conjugate: s.r/8%2 == 1}
	t.a, t.down = columns[F](r, 2*t.order, t.order, 2)
	t.across = 2
	for i := range t.order {
		for k := range 2 * t.order {
			t.a[i*t.down+k] = F(r.value(r.rng))
		}
	}
	declare(r, "a", t.a)
	if s.r%2 == 0 {
		t.d, _ = columns[F](r, 2*t.order, 1, 1)
		for i := range t.d {
			t.d[i] = F(r.rng.NormFloat64())
		}
		declare(r, "d", t.d)
	}
	if s.r/2%2 == 1 {
		t.down, t.across = t.across, t.down
	}
	t.b, t.ldb = filled[F](r, 2*t.cols, 2*t.cols, t.order, 1)
	if s.r/4%2 == 1 {
		t.down, t.across, t.ldb = -t.down, -t.across, -t.ldb
	}
	return t
}

// entry returns entry (i, k) of the triangle, factor entry i of d, and place the place of row i of B.
func (t *pairTriangle[F]) entry(i, k int) (re, im float64) {
	if t.ldb < 0 {
		i, k = i-t.order+1, k-t.order+1
	}
	return t.pair(t.a[i*t.down+k*t.across:])
}

func (t *pairTriangle[F]) factor(i int) (re, im float64) {
	if len(t.d) == 0 {
		return 1, 0
	}
	return t.pair(t.d[2*i:])
}

// pair returns a complex number, or its conjugate.
func (t *pairTriangle[F]) pair(x []F) (re, im float64) {
	if t.conjugate {
		return float64(x[0]), -float64(x[1])
	}
	return float64(x[0]), float64(x[1])
}

func (t *pairTriangle[F]) place(i int) int {
	if t.ldb < 0 {
		i -= t.order - 1
	}
	return i * t.ldb
}

// addPart adds a part, 0 or 1, of a product of complex numbers, times a factor.
func addPart(want *sum, part int, re, im, x, y, factor float64) {
	if part == 0 {
		addTimes(want, re, x, factor)
		addTimes(want, -im, y, factor)
	} else {
		addTimes(want, re, y, factor)
		addTimes(want, im, x, factor)
	}
}

// addTimes adds x y factor. A small x is scaled, since x factor would lose its last digits.
func addTimes(want *sum, x, y, factor float64) {
	if math.Abs(x) < 0x1p-900 {
		x, y = x*0x1p600, y*0x1p-600
	}
	want.add(x*factor, y)
}

// multiplyComplexRows holds every entry to its definition.
func multiplyComplexRows[F tile.Float](r *run, s shape) {
	t := newPairTriangle[F](r, s)
	before := slices.Clone(t.b)
	r.call(func() {
		tile.MultiplyComplexRows(t.b, t.ldb, t.a, t.down, t.across, t.d, t.conjugate, t.order, t.cols)
	})
	t.entries(r, func(want *sum, i, j, part int) {
		own := before[t.place(i)+2*j:]
		if len(t.d) == 0 {
			want.add(float64(own[part]), 1)
		} else {
			re, im := t.factor(i)
			addPart(want, part, re, im, float64(own[0]), float64(own[1]), 1)
		}
		for k := range i {
			re, im := t.entry(i, k)
			from := before[t.place(k)+2*j:]
			addPart(want, part, re, im, float64(from[0]), float64(from[1]), 1)
		}
	})
}

// solveComplexRows holds every entry to its equation, with the rounded entries before it.
func solveComplexRows[F tile.Float](r *run, s shape) {
	t := newPairTriangle[F](r, s)
	before := slices.Clone(t.b)
	r.call(func() {
		tile.SolveComplexRows(t.b, t.ldb, t.a, t.down, t.across, t.d, t.conjugate, t.order, t.cols)
	})
	t.entries(r, func(want *sum, i, j, part int) {
		parts := []float64{1, 0} // of the factor, for the real and the imaginary part of the sum
		re, im := t.factor(i)
		switch {
		case len(t.d) == 0 && part == 1:
			parts = []float64{0, 1}
		case len(t.d) > 0 && part == 0:
			parts = []float64{re, -im}
		case len(t.d) > 0:
			parts = []float64{im, re}
		}
		want.factor = math.Abs(re) + math.Abs(im)
		for of, factor := range parts {
			if len(t.d) == 0 && of != part {
				continue
			}
			want.add(float64(before[t.place(i)+2*j+of]), factor)
			for k := range i {
				re, im := t.entry(i, k)
				from := t.b[t.place(k)+2*j:]
				addPart(want, of, re, im, float64(from[0]), float64(from[1]), -factor)
			}
		}
	})
}

// entries checks the rows of B.
func (t *pairTriangle[F]) entries(r *run, want func(s *sum, i, j, part int)) {
	if r.disturb != nil || t.order == 0 {
		return
	}
	var s sum
	for i := range t.order {
		for j := range t.cols {
			for part := range 2 {
				s = sum{single: unsafe.Sizeof(F(0)) == 4}
				if want(&s, i, j, part); !r.element(float64(t.b[t.place(i)+2*j+part]), &s, i, 2*j+part) {
					return
				}
			}
		}
	}
	between := max(t.ldb, -t.ldb)
	for i := range t.order - 1 {
		if !areCanaries(halvesOf(t.b[i*between+2*t.cols : (i+1)*between])) {
			r.Errorf("%s: wrote between rows %d and %d", r.at, i, i+1)
		}
	}
}
