package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// dense32 returns count vectors of n float32, with gaps in between and behind them.
func (r *run) dense32(name string, n, count int) (m []float32, ld int) {
	return narrow(r, name, n, n, count, 1, gap32, r.single)
}

// result32 is dense32 for a result.
func (r *run) result32(n, count int) (m []float32, ld int) {
	m, ld = r.dense32("", n, count)
	r.inputs = r.inputs[:len(r.inputs)-1]
	return m, ld
}

// gaps32 checks that the memory between the vectors of a result, and to the end of its last word, was not
// written.
func (r *run) gaps32(operation string, m []float32, ld, n int) {
	r.Helper()
	m = unsafe.Slice(unsafe.SliceData(m), (len(m)+1)&^1)
	for i, v := range m {
		if (i%ld >= n || i/ld*ld+n > len(m)) && math.Float32bits(v) != gap32&math.MaxUint32 {
			r.Errorf("%s: %s: wrote between vectors at %d, stride %d", operation, r.at, i, ld)
			return
		}
	}
}

// panel32 takes the rank for the length of the products and the features for the number of columns, once to
// set the sums and once to add to them.
func (o Ops) panel32(r *run, s shape) {
	r.start()
	columns := s.d % (tile.PackWidth32 + 1)
	w, ldw := r.dense32("w", s.r, s.n)
	z, ldz := r.dense32("z", columns, s.r)
	c, ldc := r.result32(columns, s.n)
	for _, add := range []bool{false, true} {
		before := slices.Clone(c)
		o.Panel32(c, ldc, w, ldw, z, ldz, s.n, s.r, columns, add)
		r.finish("Panel32")
		r.gaps32("Panel32", c, ldc, columns)
		for i := range s.n {
			for k := range columns {
				want := sum{single: true}
				if add {
					want.add(float64(before[i*ldc+k]), 1)
				}
				for j := range s.r {
					want.add(float64(w[i*ldw+j]), float64(z[j*ldz+k]))
				}
				if !r.element("Panel32", float64(c[i*ldc+k]), &want, i, k) {
					return
				}
			}
		}
	}
}

func (o Ops) transpose32(r *run, s shape) {
	r.start()
	src, lds := r.dense32("src", s.d, s.n)
	dst, ldd := r.result32(s.n, s.d)
	o.Transpose32(dst, ldd, src, lds, s.n, s.d)
	r.finish("Transpose32")
	r.gaps32("Transpose32", dst, ldd, s.n)
	for i := range s.n {
		for j := range s.d {
			if math.Float32bits(dst[j*ldd+i]) != math.Float32bits(src[i*lds+j]) {
				r.Errorf("Transpose32: %s: entry (%d, %d) is %v, want %v", r.at, j, i, dst[j*ldd+i], src[i*lds+j])
				return
			}
		}
	}
}

func (o Ops) rowDots32(r *run, s shape) {
	r.start()
	a, lda := r.dense32("a", s.d, s.n)
	x, _ := r.dense32("x", s.d, 1)
	sums, _ := r.result32(s.n, 1)
	o.RowDots32(sums, a, lda, x, s.n, s.d)
	r.finish("RowDots32")
	for i := range s.n {
		want := sum{single: true}
		for k := range s.d {
			want.add(float64(a[i*lda+k]), float64(x[k]))
		}
		if !r.element("RowDots32", float64(sums[i]), &want, i, 0) {
			return
		}
	}
}

func (o Ops) addRows32(r *run, s shape) {
	r.start()
	a, lda := r.dense32("a", s.d, s.n)
	v, _ := r.dense32("v", s.n, 1)
	y, ldy := r.result32(s.d, 1)
	for i := range y {
		y[i] = r.single()
	}
	before := slices.Clone(y)
	o.AddRows32(y, a, lda, v, s.n, s.d)
	r.finish("AddRows32")
	r.gaps32("AddRows32", y, ldy, s.d)
	for k := range s.d {
		want := sum{single: true}
		want.add(float64(before[k]), 1)
		for i := range s.n {
			want.add(float64(v[i]), float64(a[i*lda+k]))
		}
		if !r.element("AddRows32", float64(y[k]), &want, k, 0) {
			return
		}
	}
}

func (o Ops) addOuter32(r *run, s shape) {
	r.start()
	v, _ := r.dense32("v", s.n, 1)
	y, _ := r.dense32("y", s.d, 1)
	a, lda := r.result32(s.d, s.n)
	for i := range s.n {
		for k := range s.d {
			a[i*lda+k] = r.single()
		}
	}
	before := slices.Clone(a)
	o.AddOuter32(a, lda, v, y, s.n, s.d)
	r.finish("AddOuter32")
	r.gaps32("AddOuter32", a, lda, s.d)
	for i := range s.n {
		for k := range s.d {
			want := sum{single: true}
			want.add(float64(before[i*lda+k]), 1)
			want.add(float64(v[i]), float64(y[k]))
			if !r.element("AddOuter32", float64(a[i*lda+k]), &want, i, k) {
				return
			}
		}
	}
}
