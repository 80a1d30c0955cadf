package tile_test

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

func addComplex[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", 2*s.d, 1)
	y, _ := filled[F](r, 2*s.d, 2*s.d, 1, 1)
	before, re, im, conjugate := slices.Clone(y), F(r.rng.NormFloat64()), F(r.rng.NormFloat64()), s.n%2 == 0
	r.call(func() { tile.AddComplex(y, x, re, im, conjugate) })
	entries(r, y, 0, 2*s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(before[k]), 1)
		v, w, sign := float64(x[k&^1]), float64(x[k|1]), 1.0
		if conjugate {
			sign = -1
		}
		if k%2 == 0 {
			want.add(v, float64(re))
			want.add(-sign*w, float64(im))
		} else {
			want.add(sign*w, float64(re))
			want.add(v, float64(im))
		}
	})
}

func timesComplex[F tile.Float](r *run, s shape) {
	y, _ := filled[F](r, 2*s.d, 2*s.d, 1, 1)
	before, re, im := slices.Clone(y), F(r.rng.NormFloat64()), F(r.rng.NormFloat64())
	r.call(func() { tile.TimesComplex(y, re, im) })
	entries(r, y, 0, 2*s.d, 1, func(want *sum, k, _ int) {
		v, w := float64(before[k&^1]), float64(before[k|1])
		if k%2 == 0 {
			want.add(v, float64(re))
			want.add(-w, float64(im))
		} else {
			want.add(w, float64(re))
			want.add(v, float64(im))
		}
	})
}

func dotComplex[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", 2*s.d, 1)
	y, _ := dense[F](r, "y", 2*s.d, 1)
	got, conjugate, sign := alloc[F](r, 2), s.n%2 == 0, 1.0
	if conjugate {
		sign = -1
	}
	r.call(func() { got[0], got[1] = tile.DotComplex(x, y, conjugate) })
	entries(r, got, 0, 2, 1, func(want *sum, part, _ int) {
		for k := 0; k < 2*s.d; k += 2 {
			v, w := float64(x[k]), sign*float64(x[k+1])
			if part == 0 {
				want.add(v, float64(y[k]))
				want.add(-w, float64(y[k+1]))
			} else {
				want.add(v, float64(y[k+1]))
				want.add(w, float64(y[k]))
			}
		}
	})
}

func planeRotation[F tile.Float](r *run, s shape) {
	x, _ := filled[F](r, s.d, s.d, 1, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	c, sn := F(r.rng.NormFloat64()), F(r.rng.NormFloat64())
	before, other := slices.Clone(x), slices.Clone(y)
	r.call(func() { tile.PlaneRotation(x, y, c, sn) })
	entries(r, x, 0, s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(before[k]), float64(c))
		want.add(float64(other[k]), float64(sn))
	})
	entries(r, y, 0, s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(other[k]), float64(c))
		want.add(-float64(before[k]), float64(sn))
	})
}

func turn[F tile.Float](r *run, s shape) {
	x, _ := filled[F](r, s.d, s.d, 1, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	var by [4]F
	for k := range by {
		by[k] = F(r.rng.NormFloat64())
	}
	before, other := slices.Clone(x), slices.Clone(y)
	r.call(func() { tile.Turn(x, y, &by) })
	for i, to := range [][]F{x, y} {
		entries(r, to, 0, s.d, 1, func(want *sum, k, _ int) {
			want.add(float64(before[k]), float64(by[2*i]))
			want.add(float64(other[k]), float64(by[2*i+1]))
		})
	}
}

func swap[F tile.Float](r *run, s shape) {
	x, _ := filled[F](r, s.d, s.d, 1, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	before, other := slices.Clone(x), slices.Clone(y)
	r.call(func() { tile.Swap(x, y) })
	entries(r, x, 0, s.d, 1, func(want *sum, k, _ int) { want.add(float64(other[k]), 1) })
	entries(r, y, 0, s.d, 1, func(want *sum, k, _ int) { want.add(float64(before[k]), 1) })
}

func largestIndex[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", s.d, 1)
	if x[0] != x[0] {
		x[0] = 0
	}
	if s.n%2 == 0 { // several are the largest
		most := F(0)
		for _, v := range x {
			if size := F(math.Abs(float64(v))); size > most {
				most = size
			}
		}
		x[r.rng.IntN(s.d)], x[r.rng.IntN(s.d)] = most, -most
	}
	r.inputs = r.inputs[:len(r.inputs)-1]
	declare(r, "x", x)
	got, want := 0, 0
	r.call(func() { got = tile.LargestIndex(x) })
	for i, v := range x {
		if math.Abs(float64(v)) > math.Abs(float64(x[want])) {
			want = i
		}
	}
	r.results(float64(got))
	r.same(float64(got), float64(want), 0, 0)
}

// largestPair checks pairs of which several may be the largest, with the parts of each other or not.
func largestPair[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", 2*s.d, 1)
	size := func(i int) F { return F(math.Abs(float64(x[2*i]))) + F(math.Abs(float64(x[2*i+1]))) }
	for k, v := range x[:2] {
		if v != v {
			x[k] = 0
		}
	}
	largest := func() (at int) {
		for i := range s.d {
			if size(i) > size(at) {
				at = i
			}
		}
		return at
	}
	if s.n%2 == 0 {
		most, i := 2*largest(), 2*r.rng.IntN(s.d)
		x[i], x[i+1] = -x[most+1], x[most]
	}
	r.inputs = r.inputs[:len(r.inputs)-1]
	declare(r, "x", x)
	got := 0
	r.call(func() { got = tile.LargestPair(x) })
	r.results(float64(got))
	r.same(float64(got), float64(largest()), 0, 0)
}

func gatherPairs[F tile.Float](r *run, s shape) {
	inc := 1 + s.n%5
	src, _ := dense[F](r, "src", 2*inc*(s.d-1)+2, 1)
	dst := alloc[F](r, 2*s.d)
	r.call(func() { tile.GatherPairs(dst, src, inc, s.d) })
	for k, v := range dst {
		r.same(float64(v), float64(src[k/2*2*inc+k%2]), k, 0)
	}
}

func scalePairs[F tile.Float](r *run, s shape) {
	inc := 1 + s.n%5
	length := 2*inc*(s.d-1) + 2
	x, _ := filled[F](r, length, length, 1, 1)
	before, by := slices.Clone(x), F(r.rng.NormFloat64())
	r.call(func() { tile.ScalePairs(x, inc, s.d, by) })
	entries(r, x, 0, length, 1, func(want *sum, k, _ int) {
		v := before[k]
		if k/2%inc == 0 {
			v *= by
		}
		r.same(float64(x[k]), float64(v), k, 0)
		want.add(1, float64(v))
	})
}

func packComplex[F tile.Float](r *run, s shape) {
	n, rows := 2*(1+s.d%19), s.n%9
	src, lds := dense[F](r, "src", n, rows)
	signs, _ := dense[F](r, "signs", 4, 1)
	for k := range signs {
		signs[k] = F(math.Copysign(0, float64(s.d>>k%2)-.5))
	}
	r.inputs = r.inputs[:len(r.inputs)-1]
	declare(r, "signs", signs)
	dst, ldd := columns[F](r, n, 2*rows, 1)
	r.call(func() { tile.PackComplex(dst, ldd, src, lds, rows, n, (*tile.PairSigns[F])(signs)) })
	for i := range 2 * rows {
		for k, got := range dst[i*ldd:][:n] {
			row := src[i/2*lds:]
			want, sign := row[k], signs[k%2]
			if i%2 == 1 {
				want, sign = row[k^1], signs[2+k%2]
			}
			if math.Signbit(float64(sign)) {
				want = -want
			}
			if !r.same(float64(got), float64(want), k, i) {
				return
			}
		}
	}
}

func transposeComplex[F tile.Float](r *run, s shape) {
	m, n := s.n%23, s.d%20
	src, lds := dense[F](r, "src", 2*n, m)
	dst, ldd := columns[F](r, 2*m, n, 1)
	r.call(func() { tile.TransposeComplex(dst, ldd, src, lds, m, n) })
	for j := range n {
		for i := range 2 * m {
			if !r.same(float64(dst[j*ldd+i]), float64(src[i/2*lds+2*j+i%2]), i, j) {
				return
			}
		}
	}
}
