package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// operand returns an input of count vectors of n values, with gaps in between and behind them.
func operand[F tile.Float](r *run, name string, n, count int) (m []F, ld int) {
	switch p := any(&m).(type) {
	case *[]float64:
		*p, ld = r.dense(name, n, count)
	case *[]float32:
		*p, ld = r.dense32(name, n, n, count, 1)
	}
	return m, ld
}

// result is operand for a result, which holds values already.
func result[F tile.Float](r *run, n, count int) (m []F, ld int) {
	m, ld = operand[F](r, "", n, count)
	r.inputs = r.inputs[:len(r.inputs)-1]
	return m, ld
}

// finishMatrix checks that nothing but vectors of n entries of a result, ld apart, was written.
func finishMatrix[F tile.Float](r *run, operation string, result []F, ld, n int) {
	r.Helper()
	r.finish(operation)
	switch m := any(result).(type) {
	case []float64:
		if len(m) > 0 {
			r.gaps(operation, m, ld, n, (len(m)-n)/ld+1)
		}
	case []float32:
		m = unsafe.Slice(unsafe.SliceData(m), (len(m)+1)&^1) // to the end of the last word
		for i, v := range m {
			if (i%ld >= n || i/ld*ld+n > len(m)) && math.Float32bits(v) != gap32&math.MaxUint32 {
				r.Errorf("%s: %s: wrote between vectors at %d, stride %d", operation, r.at, i, ld)
				return
			}
		}
	}
}

// sumOf returns an empty sum that is computed in a type.
func sumOf[F tile.Float]() sum { return sum{single: unsafe.Sizeof(F(0)) == 4} }

// panel takes the rank for the length of the products and the features for the number of columns, half of the
// time all of them, once to set the sums and once to add to them.
func panel[F tile.Float](name string, op func(c []F, ldc int, w []F, ldw int, z []F, ldz, m, n, columns int, add bool)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		columns := tile.PanelWidth[F]()
		if s.d%2 > 0 {
			columns = s.d % columns
		}
		w, ldw := operand[F](r, "w", s.r, s.n)
		z, ldz := operand[F](r, "z", columns, s.r)
		c, ldc := result[F](r, columns, s.n)
		for _, add := range []bool{false, true} {
			before := slices.Clone(c)
			op(c, ldc, w, ldw, z, ldz, s.n, s.r, columns, add)
			finishMatrix(r, name, c, ldc, columns)
			for i := range s.n {
				for k := range columns {
					want := sumOf[F]()
					if add {
						want.add(float64(before[i*ldc+k]), 1)
					}
					for j := range s.r {
						want.add(float64(w[i*ldw+j]), float64(z[j*ldz+k]))
					}
					if !r.element(name, float64(c[i*ldc+k]), &want, i, k) {
						return
					}
				}
			}
		}
	}
}

func transpose[F tile.Float](name string, op func(dst []F, ldd int, src []F, lds, m, n int)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		src, lds := operand[F](r, "src", s.d, s.n)
		dst, ldd := result[F](r, s.n, s.d)
		op(dst, ldd, src, lds, s.n, s.d)
		finishMatrix(r, name, dst, ldd, s.n)
		for i := range s.n {
			for j := range s.d {
				got, want := float64(dst[j*ldd+i]), float64(src[i*lds+j])
				if math.Float64bits(got) != math.Float64bits(want) {
					r.Errorf("%s: %s: entry (%d, %d) is %v, want %v", name, r.at, j, i, got, want)
					return
				}
			}
		}
	}
}

func rowDots[F tile.Float](name string, op func(sums, a []F, lda int, x []F, m, n int)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		a, lda := operand[F](r, "a", s.d, s.n)
		x, _ := operand[F](r, "x", s.d, 1)
		sums, ld := result[F](r, s.n, 1)
		op(sums, a, lda, x, s.n, s.d)
		finishMatrix(r, name, sums, ld, s.n)
		for i := range s.n {
			want := sumOf[F]()
			for k := range s.d {
				want.add(float64(a[i*lda+k]), float64(x[k]))
			}
			if !r.element(name, float64(sums[i]), &want, i, 0) {
				return
			}
		}
	}
}

func addRows[F tile.Float](name string, op func(y, a []F, lda int, b []F, m, n int)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		a, lda := operand[F](r, "a", s.d, s.n)
		b, _ := operand[F](r, "b", s.n, 1)
		y, ldy := result[F](r, s.d, 1)
		before := slices.Clone(y)
		op(y, a, lda, b, s.n, s.d)
		finishMatrix(r, name, y, ldy, s.d)
		for k := range s.d {
			want := sumOf[F]()
			want.add(float64(before[k]), 1)
			for i := range s.n {
				want.add(float64(b[i]), float64(a[i*lda+k]))
			}
			if !r.element(name, float64(y[k]), &want, k, 0) {
				return
			}
		}
	}
}

func addOuter[F tile.Float](name string, op func(a []F, lda int, b, y []F, m, n int)) func(*run, shape) {
	return func(r *run, s shape) {
		r.start()
		b, _ := operand[F](r, "b", s.n, 1)
		y, _ := operand[F](r, "y", s.d, 1)
		a, lda := result[F](r, s.d, s.n)
		before := slices.Clone(a)
		op(a, lda, b, y, s.n, s.d)
		finishMatrix(r, name, a, lda, s.d)
		for i := range s.n {
			for k := range s.d {
				want := sumOf[F]()
				want.add(float64(before[i*lda+k]), 1)
				want.add(float64(b[i]), float64(y[k]))
				if !r.element(name, float64(a[i*lda+k]), &want, i, k) {
					return
				}
			}
		}
	}
}
