package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

const (
	// mostTrailing is the largest order of a trailing block.
	mostTrailing = 64
	// mostRounds is the largest number of rounds without an eigenvalue. After these come single steps.
	mostRounds = 5
)

// A trailing is the square block at the end of an active block of a schur, for aggressive early deflation
// (Braman, Byers and Mathias 2002, part II): its own Schur form T = V'HV turns the entry on the left of it to
// a spike. Eigenvalues at the end of T where the spike is negligible are found. Those before them are not
// moved behind others, to be tested too: that took more time than it saved.
type trailing struct {
	of        *schur
	lo, order int
	spike     float64 // the entry on the left
	t, v      []float64
	ldt, ldv  int
	left      int // the eigenvalues that are not found, at the beginning of T
	work      []float64
	memory    [mostTrailing / 2]doubleShift
}

// deflationOrder returns the order of the trailing block of an active block of an order.
func deflationOrder(order int) int { return min(max(order/6, 8), mostTrailing) &^ 1 }

// round finds eigenvalues at the end of the block from l to i, and takes steps with the other
// eigenvalues of its trailing block as shifts. It returns false if neither is possible.
func (f *schur) round(l, i int) (found int, ok bool) {
	order := deflationOrder(i - l + 1)
	w := trailing{of: f, lo: i + 1 - order, order: order}
	w.spike = f.at(w.lo, w.lo-1)
	g := newSchur(order)
	defer g.release()
	g.z = newTurned(order)
	defer g.z.release()
	memory := borrow[float64]((6+order)*rowStride(order) + 32*order + 5000)
	defer giveBack(memory)
	g.whole, g.re, g.im = true, (*memory)[:order], (*memory)[order:2*order]
	for k := range order {
		from := max(k-1, 0)
		copy(g.h[k*g.stride+from:][:order-from], f.h[(w.lo+k)*f.stride+w.lo+from:])
	}
	if g.compute(0, order-1) > 0 {
		return 0, false
	}
	w.t, w.ldt, w.ldv = g.h, g.stride, rowStride(order)
	w.v, w.work = (*memory)[2*order:], (*memory)[2*order+order*w.ldv:]
	tile.Transpose(w.v, w.ldv, g.z.rows, g.z.stride, order, order)
	w.detect()
	shifts := w.shifts()
	if w.left < order {
		w.restore()
		w.apply(l, i)
	}
	found = order - w.left
	w.store()
	if 7*found > order { // another round is likely to find more
		return found, true
	}
	hi := i - found
	for _, s := range shifts {
		lo := f.split(l, hi)
		if lo >= hi-1 {
			break
		}
		f.step(lo, hi, s)
	}
	return found, len(shifts) > 0
}

// detect counts the eigenvalues that are not found.
func (w *trailing) detect() {
	small := safeMin * float64(w.of.n) / unitRoundoff
	for w.left = w.order; w.left > 0; {
		last := w.left - 1
		d := w.t[last*(w.ldt+1)]
		size, spike, rows := math.Abs(d), math.Abs(w.spike*w.v[last]), 1
		if last > 0 && w.t[last*w.ldt+last-1] != 0 {
			rows = 2
			size += float64(math.Sqrt(math.Abs(w.t[last*w.ldt+last-1])) * math.Sqrt(math.Abs(w.t[(last-1)*w.ldt+last])))
			spike = max(spike, math.Abs(w.spike*w.v[last-1]))
		}
		if size == 0 {
			size = math.Abs(w.spike)
		}
		if spike > max(small, unitRoundoff*size) {
			return
		}
		w.left -= rows
	}
}

// shifts returns the eigenvalues that are not found, in pairs.
func (w *trailing) shifts() []doubleShift {
	all, last, odd := w.memory[:0], 0.0, false // the last real one, if it has no partner
	for k := 0; k < w.left; k++ {
		d := w.t[k*(w.ldt+1)]
		if k+1 == w.order || w.t[(k+1)*w.ldt+k] == 0 {
			if odd {
				all = append(all, doubleShift{last, 0, d, 0})
			}
			last, odd = d, !odd
			continue
		}
		im := math.Sqrt(math.Abs(w.t[(k+1)*w.ldt+k])) * math.Sqrt(math.Abs(w.t[k*w.ldt+k+1]))
		all = append(all, doubleShift{d, im, d, -im})
		k++
	}
	return all
}

// store stores the eigenvalues that are found.
func (w *trailing) store() {
	f := w.of
	for k := w.left; k < w.order; k++ {
		at := w.lo + k
		f.re[at], f.im[at] = w.t[k*(w.ldt+1)], 0
		if k+1 < w.order && w.t[(k+1)*w.ldt+k] != 0 {
			im := math.Sqrt(math.Abs(w.t[(k+1)*w.ldt+k])) * math.Sqrt(math.Abs(w.t[k*w.ldt+k+1]))
			f.re[at+1] = f.re[at]
			f.im[at], f.im[at+1] = im, -im
			k++
		}
	}
}

// restore brings the part of T with the eigenvalues that are not found back to Hessenberg form, with one
// entry on the left.
func (w *trailing) restore() {
	n := w.left
	for i := 2; i < w.order; i++ {
		clear(w.t[i*w.ldt:][:i-1])
	}
	if n > 1 && w.spike != 0 {
		x, work := w.work[:n], w.work[n:]
		copy(x, w.v[:n])
		_, tau := own.Dlarfg(n, x[0], x[1:], 1)
		x[0] = 1
		own.Dlarf(blas.Left, n, w.order, x, 1, tau, w.t, w.ldt, work)
		own.Dlarf(blas.Right, n, n, x, 1, tau, w.t, w.ldt, work)
		own.Dlarf(blas.Right, w.order, n, x, 1, tau, w.v, w.ldv, work)
		taus, rest := w.work[:w.order-1], w.work[w.order:]
		own.Dgehrd(w.order, 0, n-1, w.t, w.ldt, taus, rest, len(rest))
		own.Dormhr(blas.Right, blas.NoTrans, w.order, n, 0, n-1, w.t, w.ldt, taus[:n-1], w.v, w.ldv, rest, len(rest))
	}
	if n == 0 {
		w.spike = 0
	}
}

// apply replaces the trailing block by T, and multiplies H and Z by V.
func (w *trailing) apply(l, i int) {
	f, n := w.of, w.order
	if w.lo > l {
		f.set(w.lo, w.lo-1, w.spike*w.v[0])
	}
	for k := range n {
		from := max(k-1, 0)
		copy(f.h[(w.lo+k)*f.stride+w.lo+from:][:n-from], w.t[k*w.ldt+from:])
	}
	top, last := f.extent(l, i)
	memory := borrow[float64]((n + tile.Width) * (f.n + tile.Width))
	defer giveBack(memory)
	product := *memory
	if rows := w.lo - top; rows > 0 {
		from := f.h[top*f.stride+w.lo:]
		multiply(blas.NoTrans, blas.NoTrans, rows, n, n, 1, from, f.stride, w.v, w.ldv, 0, product, w.ldv)
		for k := range rows {
			copy(from[k*f.stride:][:n], product[k*w.ldv:])
		}
	}
	w.multiply(f.h[w.lo*f.stride+i+1:], f.stride, last-i, product)
	if f.z.n > 0 {
		f.z.apply()
		w.multiply(f.z.rows[w.lo*f.z.stride:], f.z.stride, f.z.n, product)
	}
}

// multiply overwrites a matrix C of some columns by V'C.
func (w *trailing) multiply(c []float64, ldc, columns int, product []float64) {
	if columns <= 0 {
		return
	}
	stride := rowStride(columns)
	multiply(blas.Trans, blas.NoTrans, w.order, columns, w.order, 1, w.v, w.ldv, c, ldc, 0, product, stride)
	for k := range w.order {
		copy(c[k*ldc:][:columns], product[k*stride:])
	}
}
