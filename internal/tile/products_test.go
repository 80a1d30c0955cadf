package tile_test

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// element checks one entry of a result.
func (r *run) element(operation string, got float64, want *sum, i, j int) bool {
	if want.matches(got) {
		return true
	}
	r.Helper()
	r.Errorf("%s: %s: entry (%d, %d) is %v, want %v within %g (NaN %t, +Inf %t, -Inf %t)",
		operation, r.at, i, j, got, want.hi+want.lo, want.bound(), want.nan, want.pos, want.neg)
	return false
}

// The products with samples are checked alike for both storages.

func mulBasis[F tile.Float](name string, op func(a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h tile.Hint)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		x, ldx := samples[F](r, s)
		u, ldu := r.padded("u", s.d, s.r)
		a, lda := r.columns(s.n, s.r, 1)
		op(a, lda, x, ldx, u, ldu, s.n, s.d, s.r, r.ahead(a))
		checkMulBasis(r, name, a, lda, x, ldx, u, ldu, s)
	}
}

func (o Ops) mulPacked(r *run, s shape) {
	r.start()
	x, ldx := samples[float64](r, s)
	u, ldu := r.padded("u", s.d, s.r)
	p := r.alloc(tile.PackedLen(s.d, s.r))
	o.PackBasis(p, u, ldu, s.d, s.r)
	r.input("p", p)
	a, lda := r.columns(s.n, s.r, 1)
	o.MulPacked(a, lda, x, ldx, p, s.n, s.d, s.r, r.ahead(a))
	checkMulBasis(r, "MulPacked", a, lda, x, ldx, u, ldu, s)
}

// packBasis holds every entry of the panels, and zeros where a panel has no column.
func (o Ops) packBasis(r *run, s shape) {
	r.start()
	u, ldu := r.padded("u", s.d, s.r)
	columns := (s.r + tile.PackWidth - 1) / tile.PackWidth * tile.PackWidth
	d := tile.Pad(s.d)
	p := r.alloc(tile.PackedLen(s.d, s.r))
	o.PackBasis(p, u, ldu, s.d, s.r)
	r.finish("PackBasis")
	for j := range columns {
		for k := range d {
			want := 0.0
			if j < s.r {
				want = u[j*ldu+k]
			}
			at := (j/tile.PackWidth*d+k)*tile.PackWidth + j%tile.PackWidth
			if math.Float64bits(p[at]) != math.Float64bits(want) {
				r.Errorf("PackBasis: %s: entry (%d, %d) is %v, want %v", r.at, k, j, p[at], want)
				return
			}
		}
	}
	if !all(p[columns*d:], isCanary) {
		r.Errorf("PackBasis: %s: wrote behind the panels", r.at)
	}
}

func checkMulBasis[F tile.Float](r *run, operation string, a []float64, lda int, x []F, ldx int, u []float64, ldu int, s shape) {
	r.Helper()
	r.finish(operation)
	r.gaps(operation, a, lda, s.n, s.r)
	for i := range s.n {
		for j := range s.r {
			var want sum
			for k := range tile.Pad(s.d) {
				want.add(float64(x[i*ldx+k]), u[j*ldu+k])
			}
			if !r.element(operation, a[j*lda+i], &want, i, j) {
				return
			}
		}
	}
}

func mulTransposed[F tile.Float](name string, op func(g []float64, x []F, ldx int, e []float64, n, d int, h tile.Hint)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		x, ldx := samples[F](r, s)
		e, _ := r.dense("e", s.n, 1)
		g := r.alloc(tile.Pad(s.d))
		op(g, x, ldx, e, s.n, s.d, r.ahead(e))
		r.finish(name)
		for k := range g {
			var want sum
			for i := range s.n {
				want.add(float64(x[i*ldx+k]), e[i])
			}
			if !r.element(name, g[k], &want, k, 0) {
				return
			}
		}
	}
}

func (o Ops) rankUpdate(r *run, s shape) {
	r.start()
	m := s.n % 19
	v, ldv := r.padded("v", s.d, m)
	b, ldb := r.dense("b", s.r, m)
	g, ldg := r.columns(tile.Pad(s.d), s.r, tile.Width)
	r.fill(g, ldg, s.d, tile.Pad(s.d), s.r)
	before := append([]float64(nil), g...)
	o.RankUpdate(g, ldg, v, ldv, b, ldb, m, s.d, s.r)
	r.finish("RankUpdate")
	r.gaps("RankUpdate", g, ldg, tile.Pad(s.d), s.r)
	for j := range s.r {
		for k := range tile.Pad(s.d) {
			var want sum
			want.add(before[j*ldg+k], 1)
			for t := range m {
				want.add(b[t*ldb+j], v[t*ldv+k])
			}
			if !r.element("RankUpdate", g[j*ldg+k], &want, k, j) {
				return
			}
		}
	}
}

func (o Ops) combine(r *run, s shape) {
	r.start()
	w, ldw := r.dense("w", s.r, s.n)
	z, ldz := r.dense("z", s.d, s.r)
	c, ldc := r.columns(s.d, s.n, 1)
	o.Combine(c, ldc, w, ldw, z, ldz, s.n, s.r, s.d)
	r.finish("Combine")
	r.gaps("Combine", c, ldc, s.d, s.n)
	for i := range s.n {
		for k := range s.d {
			var want sum
			for j := range s.r {
				want.add(w[i*ldw+j], z[j*ldz+k])
			}
			if !r.element("Combine", c[i*ldc+k], &want, i, k) {
				return
			}
		}
	}
}

// rotate is checked pair by pair: what a pair leaves is rounded, and the next one starts from it.
func (o Ops) rotate(r *run, s shape) {
	r.start()
	c, _ := r.dense("c", s.n, 1)
	sn, _ := r.dense("s", s.n, 1)
	z, ldz := r.columns(tile.RotateWidth, s.n+1, 1)
	r.fill(z, ldz, tile.RotateWidth, tile.RotateWidth, s.n+1)
	before := slices.Clone(z)
	o.Rotate(z, ldz, c, sn, s.n)
	r.finish("Rotate")
	r.gaps("Rotate", z, ldz, tile.RotateWidth, s.n+1)
	for k := range tile.RotateWidth {
		// The error of what a pair hands down, over the numbers that it was made of.
		upper, size, terms := before[s.n*ldz+k], math.Abs(before[s.n*ldz+k]), 1
		for i := s.n - 1; i >= 0; i-- {
			v := before[i*ldz+k]
			want := sum{terms: 2 * terms}
			want.add(sn[i], v)
			want.add(c[i], upper)
			want.abs += math.Abs(c[i]) * size
			if !r.element("Rotate", z[(i+1)*ldz+k], &want, i+1, k) {
				return
			}
			size = math.Abs(c[i]*v) + math.Abs(sn[i])*size
			upper, terms = c[i]*v-sn[i]*upper, terms+2
		}
		want := sum{terms: 2 * terms}
		want.add(1, upper)
		want.abs += size
		if !r.element("Rotate", z[k], &want, 0, k) {
			return
		}
	}
}
