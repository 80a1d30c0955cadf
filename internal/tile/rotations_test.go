package tile_test

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// addOuterPairs checks also that the sums have the bits of AddOuter for one vector after the other.
func addOuterPairs[F tile.Float](r *run, s shape) {
	b, _ := dense[F](r, "b", 2*s.n, 1)
	y, _ := dense[F](r, "y", s.d, 1)
	z, _ := dense[F](r, "z", s.d, 1)
	a, lda := filled[F](r, s.d, s.d, s.n, 1)
	before := slices.Clone(a)
	r.call(func() { tile.AddOuterPairs(a, lda, b, y, z, s.n, s.d) })
	for i := range s.n {
		single := slices.Clone(before[i*lda:][:s.d])
		tile.AddOuter(single, s.d, b[2*i:], y, 1, s.d)
		tile.AddOuter(single, s.d, b[2*i+1:], z, 1, s.d)
		for k, v := range single {
			r.same(float64(a[i*lda+k]), float64(v), i, k)
		}
	}
	entries(r, a, lda, s.d, s.n, func(want *sum, k, i int) {
		want.add(float64(before[i*lda+k]), 1)
		want.add(float64(b[2*i]), float64(y[k]))
		want.add(float64(b[2*i+1]), float64(z[k]))
	})
}

func scale[F tile.Float](r *run, s shape) {
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	before, by := slices.Clone(y), F(r.rng.NormFloat64())
	if s.n%7 == 0 {
		by = 0
	}
	r.call(func() { tile.Scale(y, by) })
	entries(r, y, 0, s.d, 1, func(want *sum, k, _ int) {
		r.same(float64(y[k]), float64(before[k]*by), k, 0)
		want.add(float64(before[k]), float64(by))
	})
}

func addAbs(r *run, s shape) {
	a, _ := dense[float64](r, "a", s.d, 1)
	y, _ := filled[float64](r, s.d, s.d, 1, 1)
	before, total, got := slices.Clone(y), sum{terms: s.d}, 0.0
	r.call(func() { got = tile.AddAbs(y, a, s.d) })
	r.results(got)
	entries(r, y, 0, s.d, 1, func(want *sum, k, _ int) {
		total.add(1, math.Abs(a[k]))
		want.add(1, before[k])
		want.add(1, math.Abs(a[k]))
	})
	r.element(got, &total, 0, 0)
}

// reflect checks a pass over a panel, for a width and a column that depend on the features.
func reflect(r *run, s shape) {
	width := 8 * (1 + s.d%4)
	col, scale := s.d%(width-1), 0.7
	w, _ := filled[float64](r, tile.ReflectWidth, tile.ReflectWidth, 1, 1)
	clear(w[:col+1])
	declare(r, "w", w)
	sums := alloc[float64](r, tile.ReflectWidth)
	a, lda := filled[float64](r, width, width, s.n, 1)
	before := slices.Clone(a)
	r.call(func() {
		tile.Reflect(a, lda, col, (*[tile.ReflectWidth]float64)(w), (*[tile.ReflectWidth]float64)(sums), scale, s.n,
			width-s.d%8)
	})
	for i := range s.n {
		row, was := a[i*lda:], before[i*lda:]
		if math.IsNaN(row[col]) || math.IsInf(row[col], 0) {
			return // then columns up to this one may be NaN
		}
		entries(r, row, 0, width, 1, func(want *sum, k, _ int) {
			want.terms = 3
			if k == col {
				want.add(scale, was[k])
			} else {
				want.add(1, was[k])
				want.add(-row[col], w[k])
			}
		})
	}
	entries(r, a, lda, width, s.n, func(want *sum, k, i int) { want.add(a[i*lda+k], 1) })
	for k := col + 1; k < width; k++ {
		want := sum{terms: s.n}
		if s.n > 0 {
			strided(&want, s.n, a[col+1:], lda, a[k:], lda)
		}
		r.element(sums[k], &want, 0, k)
	}
}

// rotate is checked pair by pair: what a pair leaves is rounded, and the next one starts from it. In the
// other order of rows the bits are the same.
func rotate(r *run, s shape) {
	c, _ := dense[float64](r, "c", s.n, 1)
	sn, _ := dense[float64](r, "s", s.n, 1)
	z, ldz := filled[float64](r, tile.RotateWidth, tile.RotateWidth, s.n+1, 1)
	before := slices.Clone(z)
	r.call(func() { tile.Rotate(z, ldz, c, sn, s.n) })
	down, ldd := columns[float64](r, tile.RotateWidth, s.n+1, 1)
	for i := range s.n + 1 {
		copy(down[(s.n-i)*ldd:], before[i*ldz:][:tile.RotateWidth])
	}
	r.call(func() { tile.Rotate(down, -ldd, c, sn, s.n) })
	entries(r, down, ldd, tile.RotateWidth, s.n+1, func(want *sum, k, i int) {
		want.add(z[(s.n-i)*ldz+k], 1)
		r.same(down[i*ldd+k], z[(s.n-i)*ldz+k], k, i)
	})
	entries(r, z, ldz, tile.RotateWidth, s.n+1, func(want *sum, k, row int) {
		// The error of what a pair hands down, over the numbers that it was made of.
		upper, size, terms := before[s.n*ldz+k], math.Abs(before[s.n*ldz+k]), 1
		for i := s.n - 1; i >= row; i-- {
			v := before[i*ldz+k]
			size = math.Abs(c[i]*v) + math.Abs(sn[i])*size
			upper, terms = c[i]*v-sn[i]*upper, terms+2
		}
		if want.terms = 2 * terms; row == 0 {
			want.add(1, upper)
		} else {
			want.add(sn[row-1], before[(row-1)*ldz+k])
			want.add(c[row-1], upper)
			size *= math.Abs(c[row-1])
		}
		want.abs += size
	})
}

// Sums of differences have the bits of the sum from first to last, on every tier: what one
// end of a link adds the other takes away.
func sumDifferences(r *run, s shape) {
	count, vectors := s.n%20, 1+s.r%12
	x, ldx := padded[float64](r, "x", s.d, vectors)
	w, _ := dense[float64](r, "w", count, 1)
	rows, own := make([]int, count), r.rng.IntN(vectors)
	for k := range rows {
		rows[k] = r.rng.IntN(vectors)
	}
	sum := alloc[float64](r, tile.Pad(s.d))
	r.call(func() { tile.SumDifferences(sum, x, ldx, own, rows, w, s.d) })
	for k, got := range sum {
		want := 0.0
		for i, row := range rows {
			want += float64(w[i] * (x[row*ldx+k] - x[own*ldx+k]))
		}
		if !r.same(got, want, k, 0) {
			return
		}
	}
}
