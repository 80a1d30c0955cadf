package fit

import (
	"context"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mostJoint is the number of entries of the loadings up to which their uncertainty is that
// of all entries together; beyond, columns count as independent of one another.
const mostJoint = 400

// information returns the Fisher information of the evidence (half the expected second
// derivatives of the value) about the loadings, by columns, and the logarithms of
// intercept and spread, of order w rank + 2. With A = Z'(V^-1 - V^-1 Z C Z'V^-1)Z of a task, that
// of two directions D and E of the covariance of deviations is tr(A D A E) / 2.
func (e *evidence) information(ctx context.Context, pt *point) (*mat.SymDense, error) {
	w, r := e.w, pt.Rank
	sum, err := e.sum(ctx, e.overTasks(ctx, informationLen(w, r), func(g, i int, out []float64) {
		if k := &pt.white[g][i]; len(k.Y) > 0 {
			inform(curvature(k.Gram(w), pt, w), pt, w, out)
		}
	}, nil))
	if err != nil {
		return nil, err
	}
	return assemble(sum, w, r, w*r+2), nil
}

// jointly reports whether columns of the loadings depend on one another.
func jointly(w, r int) bool { return w*r <= mostJoint }

// assemble returns the information of sums of inform, in a matrix of at least its order.
func assemble(sum []float64, w, r, order int) *mat.SymDense {
	info := mat.NewSymDense(order, nil)
	at := assembleLoadings(sum, w, r, info)
	for k := range w * r {
		info.SetSym(k, w*r, sum[at+k])
		info.SetSym(k, w*r+1, sum[at+w*r+k])
	}
	at += 2 * w * r
	info.SetSym(w*r, w*r, sum[at])
	info.SetSym(w*r, w*r+1, sum[at+1])
	info.SetSym(w*r+1, w*r+1, sum[at+2])
	return info
}

// assembleLoadings sets what a matrix says about the loadings by sums over the blocks of columns, and returns how many
// numbers these have.
func assembleLoadings(sum []float64, w, r int, info *mat.SymDense) (at int) {
	for a := range r {
		for b := a; b < r; b++ {
			if a != b && !jointly(w, r) {
				continue
			}
			for i := range w {
				for j := firstOf(a == b, i); j < w; j++ {
					info.SetSym(a*w+i, b*w+j, sum[at])
					at++
				}
			}
		}
	}
	return at
}

// loadingsLen is the number of entries that sums over the blocks of columns have.
func loadingsLen(w, r int) int {
	n := r * w * (w + 1) / 2
	if jointly(w, r) {
		n += r * (r - 1) / 2 * w * w
	}
	return n
}

// informationLen is the number of entries that sums of the information have.
func informationLen(w, r int) int { return loadingsLen(w, r) + 2*w*r + 3 }

// firstOf is the first entry of row i that is sent: of a symmetric block, on the diagonal, only
// its upper triangle.
func firstOf(diagonal bool, i int) int {
	if diagonal {
		return i
	}
	return 0
}

// inform adds the information of one task, by its A.
func inform(a []float64, pt *point, w int, out []float64) {
	r := pt.Rank
	al := blas64.General{Rows: r, Cols: w, Stride: w, Data: make([]float64, r*w)} // (A L)'
	adal := make([]float64, r*w)                                                  // (A D A L)', D = I without the constant
	b := mixedmodel.Square(make([]float64, r*r), r)                               // L'A L
	if r > 0 {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, pt.Matrix(), mixedmodel.Square(a, w), 0, al)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, al, pt.Matrix(), 0, b)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, blas64.General{Rows: r, Cols: w - 1, Stride: w, Data: al.Data},
			blas64.General{Rows: w - 1, Cols: w, Stride: w, Data: a}, 0, blas64.General{Rows: r, Cols: w, Stride: w, Data: adal})
	}
	at := 0
	for p := range r {
		for q := p; q < r; q++ {
			if p != q && !jointly(w, r) {
				continue
			}
			lp, lq := al.Data[p*w:][:w], al.Data[q*w:][:w]
			for i := range w {
				from := firstOf(p == q, i)
				row := out[at:][:w-from]
				floats.AddScaled(row, b.Data[p*r+q], a[i*w+from:][:w-from])
				floats.AddScaled(row, lq[i], lp[from:])
				at += w - from
			}
		}
	}
	c := w - 1
	for p := range r {
		floats.AddScaled(out[at:][:w], pt.Intercept*al.Data[p*w+c], a[c*w:][:w])
		at += w
	}
	for p := range r {
		floats.AddScaled(out[at:][:w], pt.Spread, adal[p*w:][:w])
		at += w
	}
	squares, constant := 0.0, floats.Dot(a[c*w:][:c], a[c*w:][:c])
	for i := range c {
		squares += floats.Dot(a[i*w:][:c], a[i*w:][:c])
	}
	out[at] += pt.Intercept * pt.Intercept * a[c*w+c] * a[c*w+c] / 2
	out[at+1] += pt.Intercept * pt.Spread * constant / 2
	out[at+2] += pt.Spread * pt.Spread * squares / 2
}

// curvature returns A = g - g C g for g = Z'V^-1 Z of a task, w x w.
func curvature(g []float64, pt *point, w int) []float64 {
	gc, a := make([]float64, w*w), append([]float64(nil), g...)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, mixedmodel.Square(g, w), mixedmodel.Square(pt.cover, w), 0, mixedmodel.Square(gc, w))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, mixedmodel.Square(gc, w), mixedmodel.Square(g, w), 1, mixedmodel.Square(a, w))
	return a
}

// uncertainty returns the covariance of the loadings, by columns, and of the logarithms of
// intercept and spread: the inverse of the information, with the prior of the loadings and
// a weak one, of standard deviation 2, of the logarithms.
func uncertainty(info *mat.SymDense, scale []float64, w int) *mat.SymDense {
	n, _ := info.Dims()
	h := mat.NewSymDense(n, nil)
	h.CopySym(info)
	for i := range n {
		v := 0.25
		if i < n-2 {
			v = 1 / scale[i/w]
		}
		h.SetSym(i, i, h.At(i, i)+v)
	}
	var c mat.Cholesky
	if !c.Factorize(h) {
		return nil
	}
	out := mat.NewSymDense(n, nil)
	if err := c.InverseTo(out); err != nil {
		return nil
	}
	return out
}
