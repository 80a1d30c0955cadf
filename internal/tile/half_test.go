package tile_test

import (
	"math"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// ofHalf is the value of 16 bits by the definition of binary16.
func ofHalf(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&0x3ff)
	if h&0x8000 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// halfValues are ofHalf of all.
var halfValues = sync.OnceValue(func() *[1 << 16]float64 {
	var v [1 << 16]float64
	for h := range v {
		v[h] = ofHalf(uint16(h))
	}
	return &v
})

// nearestHalf rounds a number to the nearest binary16, of two to the even one.
func nearestHalf(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Ldexp(1, max(math.Ilogb(v), -14)-10)
	if v = math.RoundToEven(v/unit) * unit; math.Abs(v) > tile.HalfMax {
		return math.Copysign(math.Inf(1), v)
	}
	return v
}

// finiteHalf is any number of 16 bits, denormal ones included.
func (r *run) finiteHalf() uint16 {
	for {
		if h := uint16(r.rng.Uint32()); h>>10&31 != 31 {
			return h
		}
	}
}

// halves returns the samples of a shape in 16 bits.
func (r *run) halves(s shape) (x []uint16, ldx int) {
	return narrow(r, "x", s.d, tile.PadHalf(s.d), s.n, tile.HalfWidth, 0x7e017e01_7e017e01, r.finiteHalf)
}

const gap32 = 0x7fc00001_7fc00001

func (o Ops) mulBasisHalf(r *run, s shape) {
	r.start()
	x, ldx := r.halves(s)
	u, ldu := narrow(r, "u", s.d, tile.PadHalf(s.d), s.r, tile.HalfWidth, gap32, r.single)
	a0, lda0 := r.dense("a0", s.n, s.r)
	a, lda := r.columns(s.n, s.r, 1)
	o.MulBasisHalf(a, lda, a0, lda0, x, ldx, u, ldu, s.n, s.d, s.r, r.scheduled(a, 1))
	r.finish("MulBasisHalf")
	r.gaps("MulBasisHalf", a, lda, s.n, s.r)
	for i := range s.n {
		for j := range s.r {
			want := sum{single: true}
			want.add(a0[j*lda0+i], 1)
			for k := range tile.PadHalf(s.d) {
				want.add(halfValues()[x[i*ldx+k]], float64(u[j*ldu+k]))
			}
			if !r.element("MulBasisHalf", a[j*lda+i], &want, i, j) {
				return
			}
		}
	}
}

func (o Ops) mulTransposedHalf(r *run, s shape) {
	r.start()
	x, ldx := r.halves(s)
	e, _ := narrow(r, "e", s.n, s.n, 1, 1, gap32, r.single)
	g, _ := narrow(r, "g", 0, tile.PadHalf(s.d), 1, 1, gap32, r.single)
	r.inputs = r.inputs[:len(r.inputs)-1] // it is the result
	o.MulTransposedHalf(g, x, ldx, e, s.n, s.d, r.scheduled(r.buffers[0].words, 1))
	r.finish("MulTransposedHalf")
	for k := range g {
		want := sum{single: true}
		for i := range s.n {
			want.add(halfValues()[x[i*ldx+k]], float64(e[i]))
		}
		if !r.element("MulTransposedHalf", float64(g[k]), &want, k, 0) {
			return
		}
	}
}

func (o Ops) addScaled(r *run, s shape) {
	r.start()
	w, _ := r.padded("w", s.d, 1)
	f, _ := r.padded("s", s.d, 1)
	g, _ := narrow(r, "g", s.d, tile.Pad(s.d), 1, 1, gap32, r.single)
	v := r.alloc(tile.Pad(s.d))
	o.AddScaled(v, w, f, g, s.d)
	r.finish("AddScaled")
	for k := range v {
		var want sum
		want.add(w[k], 1)
		want.add(f[k], float64(g[k]))
		if !r.element("AddScaled", v[k], &want, k, 0) {
			return
		}
	}
}

// halve wants the nearest number of 16 bits to what float32 has made of the entry.
func halve[F tile.Float](name string, op func(dst []uint16, x []F, c, s []float64, n int) float64) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		x, _ := samples[F](r, shape{1, s.d, 0})
		c, _ := r.padded("c", s.d, 1)
		f, _ := r.padded("s", s.d, 1)
		dst, _ := narrow(r, "dst", 0, tile.Pad(s.d), 1, 1, gap32, r.finiteHalf)
		r.inputs = r.inputs[:len(r.inputs)-1]
		squares := op(dst, x, c, f, s.d)
		r.finish(name)
		var want sum
		for k, h := range dst {
			v := (float64(x[k]) - c[k]) * f[k]
			want.add(v, v)
			got, nearest := ofHalf(h), nearestHalf(float64(float32(v)))
			if got != nearest && !(math.IsNaN(got) && math.IsNaN(nearest)) {
				r.Errorf("%s: %s: entry %d is %v, want %v", name, r.at, k, got, nearest)
				return
			}
		}
		r.element(name, squares, &want, 0, 0)
	}
}

// TestHalf reads and writes every number of 16 bits, and what lies halfway to the next.
func TestHalf(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		one, none := make([]float64, 8), make([]float64, 8)
		for i := range one {
			one[i] = 1
		}
		write := func(v float64) float64 {
			dst := make([]uint16, 8)
			x := append([]float64{v}, none[1:]...)
			tile.Halve(dst, x, none, one, 8)
			return ofHalf(dst[0])
		}
		u := append([]float32{1}, make([]float32, tile.HalfWidth-1)...)
		for h := range 1 << 16 {
			v := ofHalf(uint16(h))
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			a, a0 := make([]float64, 1), make([]float64, 1)
			x := append([]uint16{uint16(h)}, make([]uint16, tile.HalfWidth-1)...)
			tile.MulBasisHalf(a, 1, a0, 1, x, tile.HalfWidth, u, tile.HalfWidth, 1, 1, 1, tile.Hint{})
			if a[0] != v {
				t.Fatalf("%#04x is read as %v, want %v", h, a[0], v)
			}
			next := ofHalf(uint16(h + 1))
			if h&0x7fff == 0x7bff {
				next = math.Copysign(65536, v)
			}
			for _, w := range []float64{v, (v + next) / 2, v + (next-v)*0.499, v + (next-v)*0.501} {
				if got, want := write(w), nearestHalf(w); got != want {
					t.Fatalf("%v is written as %v, want %v", w, got, want)
				}
			}
		}
		for _, w := range []float64{math.Inf(1), math.Inf(-1), 1e300, -65520, 0x1p-25, 0x1p-26} {
			if got, want := write(w), nearestHalf(w); got != want {
				t.Errorf("%v is written as %v, want %v", w, got, want)
			}
		}
		if got := write(math.NaN()); !math.IsNaN(got) {
			t.Errorf("NaN is written as %v", got)
		}
	})
}
