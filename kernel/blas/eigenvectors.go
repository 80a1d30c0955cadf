package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// backSubstitution is the number of rows of T whose components of eigenvectors are computed one after the
// other; products with all components behind them come first.
const backSubstitution = 16

// eigenvectors are the right eigenvectors of an upper quasi-triangular matrix T in standard Schur form, as
// rows: a real vector in the row of its eigenvalue; of a pair, in its two rows, the real and the imaginary
// part of the vector whose eigenvalue has a positive imaginary part.
type eigenvectors struct {
	n, stride int
	left      bool // left eigenvectors: t is T' with rows and columns in reverse order
	t, x      []float64
	least     float64 // differences of eigenvalues below it are taken for it
}

// mostComponent bounds the components that back substitution may have: products with entries of a moderate
// matrix do not overflow.
const mostComponent = 0x1p400

// compute computes all eigenvectors. It returns false if their components differ too much in size.
func (v *eigenvectors) compute() bool {
	size := 0.0
	for i := range v.n {
		size = max(size, tile.MaxAbs(v.t[i*v.stride+max(i-1, 0):i*v.stride+v.n]))
	}
	if size != 0 && !moderate(size) {
		return false
	}
	for end := v.n; end > 0; {
		first := max(end-backSubstitution, 0)
		if first > 0 && v.t[first*v.stride+first-1] != 0 {
			first--
		}
		if rows := v.n - end; rows > 0 {
			multiply(
				blas.NoTrans, blas.Trans, rows, end-first, rows, 1, v.x[end*v.stride+end:], v.stride,
				v.t[first*v.stride+end:], v.stride, 0, v.x[end*v.stride+first:], v.stride,
			)
		}
		for k := first; k < v.n; k++ {
			if k+1 < v.n && v.t[(k+1)*v.stride+k] != 0 {
				if !v.pair(k, first, end) {
					return false
				}
				k++
				continue
			}
			if !v.single(k, first, end) {
				return false
			}
		}
		end = first
	}
	for k := range v.n {
		if !(tile.MaxAbs(v.x[k*v.stride:k*v.stride+v.n]) <= mostComponent) {
			return false
		}
	}
	return true
}

// single computes components first to end of the eigenvector of the real eigenvalue k. Behind k they are
// zero; before, they hold products with the components behind end.
func (v *eigenvectors) single(k, first, end int) bool {
	x, eigenvalue := v.x[k*v.stride:], v.t[k*(v.stride+1)]
	if k < end {
		clear(x[first:end])
		x[k], end = 1, k+1
	}
	least := max(unitRoundoff*math.Abs(eigenvalue), v.least)
	j := end - 1
	if j == k {
		j--
	}
	for ; j >= first; j-- {
		row := v.t[j*v.stride:]
		sum := x[j]
		if j == 0 || row[j-1] == 0 {
			for i, t := range row[j+1 : end] {
				sum += float64(t * x[j+1+i])
			}
			d := row[j] - eigenvalue
			if math.Abs(d) < least {
				d = least
			}
			x[j] = -sum / d
			continue
		}
		above := v.t[(j-1)*v.stride:]
		sumAbove := x[j-1]
		for i, t := range row[j+1 : end] {
			sum += float64(t * x[j+1+i])
			sumAbove += float64(above[j+1+i] * x[j+1+i])
		}
		right, solved := [2]float64{-sumAbove, -sum}, [4]float64{}
		scale, _, _ := own.Dlaln2(
			false, 2, 1, least, 1, above[j-1:], v.stride, 1, 1, right[:], 1, eigenvalue, 0, solved[:], 2,
		)
		if scale != 1 {
			return false
		}
		x[j-1], x[j] = solved[0], solved[2]
		j--
	}
	return true
}

// pair is single for the pair of eigenvalues k and k+1.
func (v *eigenvectors) pair(k, first, end int) bool {
	re, im := v.x[k*v.stride:], v.x[(k+1)*v.stride:]
	upper, lower := v.t[k*(v.stride+1)+1], v.t[(k+1)*v.stride+k]
	wr, wi := v.t[k*(v.stride+1)], float64(math.Sqrt(math.Abs(upper))*math.Sqrt(math.Abs(lower)))
	if k < end {
		clear(re[first:end])
		clear(im[first:end])
		if math.Abs(upper) >= math.Abs(lower) {
			re[k], im[k+1] = 1, wi/upper
		} else {
			re[k], im[k+1] = -wi/lower, 1
		}
		end = k + 2
	}
	least := max(unitRoundoff*(math.Abs(wr)+wi), v.least)
	j := end - 1
	if j == k+1 {
		j -= 2
	}
	for ; j >= first; j-- {
		row := v.t[j*v.stride:]
		sumRe, sumIm := x2(row[j+1:end], re[j+1:end], im[j+1:end])
		sumRe, sumIm = sumRe+re[j], sumIm+im[j]
		if j == 0 || row[j-1] == 0 {
			d, e := row[j]-wr, -wi
			if math.Abs(d)+math.Abs(e) < least {
				d, e = least, 0
			}
			re[j], im[j] = divide(-sumRe, -sumIm, d, e)
			continue
		}
		above := v.t[(j-1)*v.stride:]
		aboveRe, aboveIm := x2(above[j+1:end], re[j+1:end], im[j+1:end])
		aboveRe, aboveIm = aboveRe+re[j-1], aboveIm+im[j-1]
		right, solved := [4]float64{-aboveRe, -aboveIm, -sumRe, -sumIm}, [4]float64{}
		scale, _, _ := own.Dlaln2(false, 2, 2, least, 1, above[j-1:], v.stride, 1, 1, right[:], 2, wr, wi, solved[:], 2)
		if scale != 1 {
			return false
		}
		re[j-1], im[j-1], re[j], im[j] = solved[0], solved[1], solved[2], solved[3]
		j--
	}
	return true
}

// x2 returns the products of a row with two vectors.
func x2(row, x, y []float64) (sumX, sumY float64) {
	x, y = x[:len(row)], y[:len(row)]
	for i, t := range row {
		sumX += float64(t * x[i])
		sumY += float64(t * y[i])
	}
	return sumX, sumY
}

// divide returns the quotient of two complex numbers, by Smith's method.
func divide(a, b, c, d float64) (re, im float64) {
	if math.Abs(c) >= math.Abs(d) {
		e := d / c
		f := c + float64(d*e)
		return (a + float64(b*e)) / f, (b - float64(a*e)) / f
	}
	e := c / d
	f := d + float64(c*e)
	return (b + float64(a*e)) / f, (-a + float64(b*e)) / f
}

// Dtrevc3 computes the right or left eigenvectors of an upper quasi-triangular matrix T in standard Schur
// form.
//
// On entry t holds T and, with lapack.EVAllMulQ, vl and vr hold Q. On return they hold Q Y and Q X for the
// left eigenvectors Y and the right ones X, in columns, a complex one in two. The largest component has size
// 1, and work[0] is the best length of work. gonum computes eigenvectors of T itself, and of some of its
// eigenvalues.
func (*solvers) Dtrevc3(
	side lapack.EVSide, howmny lapack.EVHowMany, selected []bool, n int, t []float64, ldt int, vl []float64,
	ldvl int, vr []float64, ldvr int, mm int, work []float64, lwork int,
) (m int) {
	right, left := side == lapack.EVRight || side == lapack.EVBoth, side == lapack.EVLeft || side == lapack.EVBoth
	if howmny != lapack.EVAllMulQ || n <= 0 || !right && !left || lwork < 3*n || len(work) < lwork || mm < n ||
		!inside(t, n, n, ldt) ||
		ldvl < 1 || ldvr < 1 || left && !inside(vl, n, mm, ldvl) || right && !inside(vr, n, mm, ldvr) {
		return own.Implementation.Dtrevc3(side, howmny, selected, n, t, ldt, vl, ldvl, vr, ldvr, mm, work, lwork)
	}
	if right && !own.eigenvectorsOf(false, n, t, ldt, vr, ldvr) {
		own.Implementation.Dtrevc3(lapack.EVRight, howmny, nil, n, t, ldt, nil, 1, vr, ldvr, mm, work, lwork)
	}
	if left && !own.eigenvectorsOf(true, n, t, ldt, vl, ldvl) {
		own.Implementation.Dtrevc3(lapack.EVLeft, howmny, nil, n, t, ldt, vl, ldvl, nil, 1, mm, work, lwork)
	}
	work[0] = float64(n + 2*n*64)
	return n
}

// eigenvectorsOf overwrites Q in q by its product with the right or left eigenvectors of T.
func (*solvers) eigenvectorsOf(left bool, n int, t []float64, ldt int, q []float64, ldq int) bool {
	stride := rowStride(n)
	memory := borrow[float64](3 * n * stride)
	defer giveBack(memory)
	v := eigenvectors{n: n, stride: stride, left: left}
	v.t, v.x = (*memory)[:n*stride], (*memory)[n*stride:2*n*stride]
	v.load(t, ldt)
	if !v.compute() {
		return false
	}
	product := (*memory)[2*n*stride:]
	if left {
		v.reverse()
	}
	multiply(blas.NoTrans, blas.Trans, n, n, n, 1, v.x, stride, q, ldq, 0, product, stride)
	v.normalise(product)
	tile.Transpose(q, ldq, product, stride, n, n)
	return true
}

// load copies T or, for its left eigenvectors, its transpose with rows and columns in reverse order.
func (v *eigenvectors) load(t []float64, ldt int) {
	n := v.n
	for i := range n {
		from := max(i-1, 0)
		row := v.t[i*v.stride:][:n]
		if !v.left {
			copy(row[from:], t[i*ldt+from:])
			continue
		}
		for j := from; j < n; j++ {
			row[j] = t[(n-1-j)*ldt+n-1-i]
		}
	}
	clear(v.x)
	v.least = safeMin * float64(n) / unitRoundoff
}

// isPair reports whether eigenvalues k and k+1 of T are a pair.
func (v *eigenvectors) isPair(k int) bool {
	if k+1 >= v.n {
		return false
	}
	if v.left {
		k = v.n - 2 - k
	}
	return v.t[(k+1)*v.stride+k] != 0
}

// reverse makes the left eigenvectors of T of the right ones of its transpose in reverse order. The two rows
// of a pair change places, which conjugates the eigenvector and multiplies it by i.
func (v *eigenvectors) reverse() {
	n := v.n
	for i := range n {
		row := v.x[i*v.stride:][:n]
		for j := range n / 2 {
			row[j], row[n-1-j] = row[n-1-j], row[j]
		}
	}
	for i := range n / 2 {
		row, other := v.x[i*v.stride:][:n], v.x[(n-1-i)*v.stride:][:n]
		for j, x := range row {
			row[j], other[j] = other[j], x
		}
	}
}

// normalise scales eigenvectors, as rows of x, to a largest component of size 1: the sum of the sizes of both
// parts of a complex one.
func (v *eigenvectors) normalise(x []float64) {
	for k := 0; k < v.n; k++ {
		re, size := x[k*v.stride:][:v.n], 0.0
		if !v.isPair(k) {
			divideRow(re, tile.MaxAbs(re))
			continue
		}
		k++
		im := x[k*v.stride:][:v.n]
		for j, a := range re {
			size = max(size, math.Abs(a)+math.Abs(im[j]))
		}
		divideRow(re, size)
		divideRow(im, size)
	}
}
