package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// innerProduct checks also that the sum has the bits of RowDots for one row.
func innerProduct[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", s.d, 1)
	y, _ := dense[F](r, "y", s.d, 1)
	got := alloc[F](r, 1)
	r.call(func() { got[0] = tile.InnerProduct(x, y) })
	entries(r, got, 0, 1, 1, func(want *sum, _, _ int) { strided(want, s.d, x, 1, y, 1) })
	if tile.Active() != tile.Generic {
		single := make([]F, 1)
		tile.RowDots(single, x, s.d, y, 1, s.d)
		r.same(float64(got[0]), float64(single[0]), 0, 0)
	}
}

// addScaled checks also that the sums have the bits of AddOuter for one row.
func addScaled[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", s.d, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	before, by, of := slices.Clone(y), F(1.5), make([]F, 1)
	of[0] = by
	r.call(func() { tile.AddScaled(y, x, by) })
	single := slices.Clone(before)
	tile.AddOuter(single, s.d, of, x, 1, s.d)
	for k, v := range single {
		r.same(float64(y[k]), float64(v), 0, k)
	}
	entries(r, y, s.d, s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(before[k]), 1)
		want.add(float64(by), float64(x[k]))
	})
}

// growingRowDots checks also that the sums have the bits of RowDots for several rows.
func growingRowDots[F tile.Float](r *run, s shape) {
	rows, growth := s.n&^3, s.d%4-1
	lda := s.d + 20 + s.n
	x, _ := dense[F](r, "x", s.d, 1)
	at := func(i int) int { return i*lda + i*(i-1)/2*growth }
	a, _ := dense[F](r, "a", at(max(0, rows-1))+s.d, 1)
	sums := alloc[F](r, rows)
	r.call(func() { tile.GrowingRowDots(sums, a, lda, growth, x, rows, s.d) })
	entries(r, sums, 0, rows, 1, func(want *sum, i, _ int) { strided(want, s.d, a[at(i):], 1, x, 1) })
	if tile.Active() == tile.Generic {
		return
	}
	for i := range rows {
		several := make([]F, 4)
		tile.RowDots(several, a[at(i):], 0, x, 4, s.d)
		r.same(float64(sums[i]), float64(several[0]), i, 0)
	}
}

// narrowColumns checks also that the rows may be taken backwards.
func narrowColumns[F tile.Float](r *run, s shape) {
	n, inc := 1+s.n%(tile.NarrowBytes/int(unsafe.Sizeof(F(0)))), 1+s.d%3
	a, lda := dense[F](r, "a", n, s.d)
	x, _ := dense[F](r, "x", inc*s.d, 1)
	sums, last := workspace[F](r, n), inc*(s.d-1)
	r.call(func() { tile.NarrowColumns(sums, a, lda, x, 0, inc, s.d, n) })
	for _, v := range sums {
		r.results(float64(v))
	}
	entries(r, sums, 0, n, 1, func(want *sum, k, _ int) { strided(want, s.d, a[k:], lda, x, inc) })
	turned := slices.Clone(x)
	for i := range s.d {
		turned[last-i*inc] = x[i*inc]
	}
	backwards := make([]F, n)
	tile.NarrowColumns(backwards, a, lda, turned, last, -inc, s.d, n)
	for k, v := range sums {
		r.same(float64(v), float64(backwards[k]), k, 0)
	}
}

// sumColumns checks also that each sum consists of four, of every fourth row each, with the bits of AddRows.
func sumColumns[F tile.Float](r *run, s shape) {
	n, m := 1+(7*s.n+s.d)%(tile.SumBytes/int(unsafe.Sizeof(F(0)))), min(s.d, 400)
	a, lda := dense[F](r, "a", n, m)
	x, _ := dense[F](r, "x", m, 1)
	sums, parts := alloc[F](r, n), [4][]F{}
	r.call(func() { tile.SumColumns(sums, a, lda, x, m, n) })
	entries(r, sums, 0, n, 1, func(want *sum, k, _ int) { strided(want, m, a[min(k, len(a)):], lda, x, 1) })
	for k := range parts {
		parts[k] = make([]F, n)
	}
	for i := range m {
		k := i % 4
		if i >= m&^3 {
			k = 0
		}
		tile.AddRows(parts[k], a[i*lda:], lda, x[i:], 1, n)
	}
	for k, v := range sums {
		r.same(float64(v), float64((parts[0][k]+parts[2][k])+(parts[1][k]+parts[3][k])), k, 0)
	}
}

// narrowRows checks also that a sum does not depend on how many rows there are.
func narrowRows[F tile.Float](r *run, s shape) {
	n := 1 + s.n%(tile.NarrowBytes/int(unsafe.Sizeof(F(0))))
	a, lda := dense[F](r, "a", n, s.d)
	x, _ := dense[F](r, "x", n, 1)
	sums, single := workspace[F](r, s.d), make([]F, 1)
	r.call(func() { tile.NarrowRows(sums, a, lda, x, s.d, n) })
	for _, v := range sums {
		r.results(float64(v))
	}
	entries(r, sums, 0, s.d, 1, func(want *sum, i, _ int) { strided(want, n, a[i*lda:], 1, x, 1) })
	for i, v := range sums {
		tile.NarrowRows(single, a[i*lda:], lda, x, 1, n)
		r.same(float64(v), float64(single[0]), i, 0)
	}
}

// narrowPairs checks also that a sum is that of the lanes of a vector, in their order, on all tiers with FMA.
func narrowPairs[F tile.Float](r *run, s shape) {
	lanes := tile.NarrowBytes / int(unsafe.Sizeof(F(0)))
	n := max(s.d, lanes)
	a, lda := dense[F](r, "a", n, s.n)
	x, _ := dense[F](r, "x", n, 1)
	z, _ := dense[F](r, "z", n, 1)
	sums := alloc[F](r, 2*s.n)
	r.call(func() { tile.NarrowPairs(sums, a, lda, x, z, s.n, n) })
	for i, v := range sums {
		if tile.Active() != tile.Generic {
			want := sumOfLanes(a[i/2*lda:][:n], [][]F{x, z}[i%2], lanes)
			r.same(float64(v), float64(want), i, 0)
		}
	}
	entries(r, sums, 0, 2*s.n, 1, func(want *sum, i, _ int) {
		strided(want, n, a[i/2*lda:], 1, [][]F{x, z}[i%2], 1)
	})
}

// sumOfLanes returns the product of two vectors: entries of whole vectors of some lanes, and then of the last
// lanes of another, are added to the sums of the lanes, and then neighbours to each other.
func sumOfLanes[F tile.Float](x, y []F, lanes int) F {
	sums, last := make([]F, lanes), len(x)%lanes
	for k := range x {
		lane := k % lanes
		if k >= len(x)-last {
			lane += lanes - last
		}
		sums[lane] = F(math.FMA(float64(x[k]), float64(y[k]), float64(sums[lane])))
	}
	for len(sums) > 1 {
		var pairs []F
		for k := 0; k < len(sums); k += 2 {
			pairs = append(pairs, sums[k]+sums[k+1])
		}
		sums = pairs
	}
	return sums[0]
}

// rowDotPairs checks also that the sums have the bits of RowDots.
func rowDotPairs[F tile.Float](r *run, s shape) {
	a, lda := dense[F](r, "a", s.d, s.n)
	x, _ := dense[F](r, "x", s.d, 1)
	z, _ := dense[F](r, "z", s.d, 1)
	sums, single := alloc[F](r, 2*s.n), make([]F, s.n)
	r.call(func() { tile.RowDotPairs(sums, a, lda, 0, x, z, s.n, s.d) })
	for growth := -1; growth <= 1; growth += 2 {
		apart, step, got := atGrowingDistances(a, lda, growth, s), s.d+s.n+1, alloc[F](r, 2*s.n)
		r.call(func() { tile.RowDotPairs(got, apart, step, growth, x, z, s.n, s.d) })
		for i, v := range sums {
			r.same(float64(got[i]), float64(v), i, growth)
		}
	}
	for k, with := range [][]F{x, z} {
		tile.RowDots(single, a, lda, with, s.n, s.d)
		for i, v := range single {
			r.same(float64(sums[2*i+k]), float64(v), i, k)
		}
	}
	entries(r, sums, 0, 2*s.n, 1, func(want *sum, i, _ int) {
		strided(want, s.d, a[i/2*lda:], 1, [][]F{x, z}[i%2], 1)
	})
}
