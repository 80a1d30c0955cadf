package blas

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
)

// A cosineSine is the decomposition of the square parts A and B, of order r, of a gsvd. A may have fewer
// rows. W is the right factor of both.
type cosineSine struct {
	of             *gsvd
	rows, r        int
	exponents      [2]int         // A and B are divided by powers of 2 to be of one size
	orthogonal     blas64.General // Q1 above Q2
	upper          blas64.General // R
	u, v, w        blas64.General
	t              blas64.General // Q2 W
	product        blas64.General
	cosines, sines []float64
	tau            []float64
	rest           []float64
	memory         *[]float64
}

func newCosineSine(d *gsvd) *cosineSine {
	c := &cosineSine{of: d, rows: min(d.r, d.m-d.k), r: d.r}
	long := max(d.m, d.n, d.p, d.r)
	stride := rowStride(d.r)
	c.memory = borrow[float64]((2*d.r+5*d.r+long)*stride + 3*d.r)
	c.rest = *c.memory
	take := func(rows int) blas64.General {
		m := blas64.General{Rows: rows, Cols: d.r, Stride: stride, Data: c.rest[:rows*stride]}
		c.rest = c.rest[rows*stride:]
		return m
	}
	c.orthogonal, c.upper = take(c.rows+d.r), take(d.r)
	c.u, c.v, c.w = take(d.r), take(d.r), take(d.r)
	c.t, c.product = take(d.r), take(long)
	c.cosines, c.sines, c.tau = c.rest[:d.r], c.rest[d.r:2*d.r], c.rest[2*d.r:3*d.r]
	return c
}

func (c *cosineSine) release() { giveBack(c.memory) }

// multiply sets to to op(A) B.
func (c *cosineSine) multiply(tA blas.Transpose, a, b, to blas64.General) {
	m, k := a.Rows, a.Cols
	if tA != blas.NoTrans {
		m, k = k, m
	}
	if m == 0 || b.Cols == 0 {
		return
	}
	if k == 0 {
		own.Dlaset(blas.All, m, b.Cols, 0, 0, to.Data, to.Stride)
		return
	}
	multiply(tA, blas.NoTrans, m, b.Cols, k, 1, a.Data, a.Stride, b.Data, b.Stride, 0, to.Data, to.Stride)
}

// times overwrites A by A B for a square B.
func (c *cosineSine) times(a, b blas64.General) {
	to := first(c.product, a.Rows, b.Cols)
	c.multiply(blas.NoTrans, a, b, to)
	copyTo(a, to, false)
}

// compute computes the factors of the parts: U C R Q' and V S R Q', where R Q' replaces upper.
func (c *cosineSine) compute() bool {
	d, r := c.of, c.r
	for k, part := range []blas64.General{first(from(d.a, d.k, d.n-r), c.rows, r), first(from(d.b, 0, d.n-r), r, r)} {
		rows := first(from(c.orthogonal, k*c.rows, 0), part.Rows, r)
		if part.Rows == 0 {
			continue
		}
		_, c.exponents[k] = math.Frexp(own.Dlange(lapack.MaxAbs, part.Rows, r, part.Data, part.Stride, nil))
		copyTo(rows, part, false)
		rescale(-c.exponents[k], part.Rows, r, rows.Data, rows.Stride)
	}
	own.qr(c.orthogonal, c.tau)
	copyTo(c.upper, first(c.orthogonal, r, r), false)
	upperTriangle(c.upper, r)
	work := borrow[float64](max(workOf(2*r, 2*r), r*r+6*r))
	defer giveBack(work)
	own.Dorgqr(c.rows+r, r, r, c.orthogonal.Data, c.orthogonal.Stride, c.tau, *work, len(*work))

	if c.rows > 0 {
		part := c.product
		copyTo(part, first(c.orthogonal, c.rows, r), false)
		if !c.svd(first(part, c.rows, r), c.cosines[:c.rows], c.u, c.w, *work) {
			return false
		}
		transposeSquare(c.w)
	} else {
		own.Dlaset(blas.All, r, r, 0, 1, c.w.Data, c.w.Stride)
	}
	clear(c.cosines[c.rows:])
	c.multiply(blas.NoTrans, first(from(c.orthogonal, c.rows, 0), r, r), c.w, c.t)
	large := 0 // the number of large cosines
	for large < c.rows && c.cosines[large] > math.Sqrt2/2 {
		large++
	}
	c.largeSines(large)
	if !c.smallSines(large, *work) {
		return false
	}
	c.multiply(blas.Trans, c.w, c.upper, c.t)
	copyTo(c.upper, c.t, false)
	return true
}

// svd computes the singular values of a matrix, all left vectors and all right ones by rows. gonum, which
// computes small ones, clears all of work for every reflector: it gets no more than it needs.
func (c *cosineSine) svd(a blas64.General, s []float64, u, vt blas64.General, work []float64) bool {
	const all = lapack.SVDAll
	m, n := a.Rows, a.Cols
	work = work[:m*m+5*m+n] // m <= n
	return own.Dgesvd(all, all, m, n, a.Data, a.Stride, s, u.Data, u.Stride, vt.Data, vt.Stride, work, len(work))
}

// transposeSquare transposes a square matrix where it is.
func transposeSquare(a blas64.General) {
	for i := range a.Rows {
		for j := range i {
			x, y := &a.Data[i*a.Stride+j], &a.Data[j*a.Stride+i]
			*x, *y = *y, *x
		}
	}
}

// largeSines computes the sines of the columns behind the large cosines, and V: the columns of Q2 W are
// orthogonal, so that their factor R is diagonal. The other columns of Q2 W are reflected too.
func (c *cosineSine) largeSines(large int) {
	r := c.r
	columns, tau := from(c.t, 0, large), c.tau[:r-large]
	own.qr(columns, tau)
	own.apply(blas.Left, blas.Trans, columns, tau, first(c.t, r, large))
	own.Dlaset(blas.All, r, r, 0, 0, c.v.Data, c.v.Stride)
	for j := large; j < r; j++ { // column j is the reflected unit vector j-large
		sine := columns.Data[(j-large)*(columns.Stride+1)]
		c.sines[j], c.v.Data[(j-large)*c.v.Stride+j] = math.Abs(sine), math.Copysign(1, sine)
		if c.cosines[j] == 0 {
			c.sines[j] = 1
		}
	}
}

// smallSines computes the sines of the first columns as singular values of these columns of Q2 W, and turns
// their columns of W and U with it.
func (c *cosineSine) smallSines(large int, work []float64) bool {
	r := c.r
	if large > 0 {
		part := first(from(c.t, r-large, 0), large, large)
		to, right := from(first(c.v, r, large), r-large, 0), first(c.product, large, large)
		right.Stride = c.t.Stride
		if !c.svd(part, c.sines[:large], to, right, work) {
			return false
		}
		transposeSquare(right)
		z := first(c.t, large, large)
		copyTo(z, right, false)
		c.times(first(c.w, r, large), z)
		for i := range large {
			row := z.Data[i*z.Stride:][:large]
			for j := range row {
				row[j] *= c.cosines[i]
			}
		}
		tau := make([]float64, large)
		own.qr(z, tau)
		own.apply(blas.Right, blas.NoTrans, z, tau, first(c.u, c.rows, large))
		for j := range large {
			cosine := z.Data[j*(z.Stride+1)]
			c.cosines[j] = math.Abs(cosine)
			if cosine > 0 {
				continue
			}
			for i := range c.rows {
				c.u.Data[i*c.u.Stride+j] *= -1
			}
		}
	}
	own.apply(blas.Left, blas.NoTrans, from(c.t, 0, large), c.tau[:r-large], c.v)
	return true
}

// store replaces the parts of A and B by R, and multiplies U, V and Q by the factors.
func (c *cosineSine) store() {
	d, r := c.of, c.r
	var others []blas64.General
	for _, m := range []blas64.General{from(d.q, 0, d.n-r), first(from(d.a, 0, d.n-r), d.k, r)} {
		if m.Rows > 0 {
			others = append(others, m)
		}
	}
	own.rq(c.upper, others...)
	if d.u.Rows > 0 && c.rows > 0 {
		c.times(first(from(d.u, 0, d.k), d.m, c.rows), first(c.u, c.rows, c.rows))
	}
	if d.v.Rows > 0 {
		c.times(first(d.v, d.p, r), c.v)
	}
	for i := range r {
		cosine, sine, size, exponent := c.scaled(i)
		row := c.upper.Data[i*c.upper.Stride:][:r]
		for j, x := range row {
			row[j] = math.Ldexp(x*size, exponent)
		}
		d.alpha[d.k+i], d.beta[d.k+i] = cosine, sine
		b := d.b.Data[i*d.b.Stride+d.n-r:][:r]
		for j, x := range row {
			b[j] = sine * x
		}
		if i < c.rows {
			copy(d.a.Data[(d.k+i)*d.a.Stride+d.n-r:][:r], row)
		}
	}
}

// scaled returns cosine and sine i for A and B before their division by powers of 2. It also returns the
// factor size 2^exponent of row i of R.
func (c *cosineSine) scaled(i int) (cosine, sine, size float64, exponent int) {
	cosine, sine, exponent = c.cosines[i], c.sines[i], c.exponents[0]
	apart := c.exponents[1] - c.exponents[0]
	if apart <= 0 && cosine > 0 {
		sine = math.Ldexp(sine, apart)
	} else {
		cosine, exponent = math.Ldexp(cosine, -apart), c.exponents[1]
	}
	size = rounded.Hypot(cosine, sine)
	return cosine / size, sine / size, size, exponent
}
