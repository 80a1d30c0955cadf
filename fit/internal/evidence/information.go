package evidence

import (
	"slices"

	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// maxJoint is the number of entries of the loadings up to which their uncertainty is that
// of all entries together; beyond, columns count as independent of one another.
const maxJoint = 400

// jointly reports whether columns of the loadings depend on one another.
func jointly(w, rank int) bool { return w*rank <= maxJoint }

// informationSums are the sums over tasks of information: about the loadings, by rows of the blocks of two columns; about these
// and the logarithm of the intercept, or of the spread; and about these two logarithms.
type informationSums struct {
	nodes.Layout
	loadings, loadingsIntercept, loadingsSpread nodes.Span
	intercept, interceptSpread, spread          nodes.Span
}

func newInformationSums(w, rank int) (l informationSums) {
	n := rank * w * (w + 1) / 2
	if jointly(w, rank) {
		n += rank * (rank - 1) / 2 * w * w
	}
	l.loadings, l.loadingsIntercept, l.loadingsSpread = l.Span(n), l.Span(w*rank), l.Span(w*rank)
	l.intercept, l.interceptSpread, l.spread = l.Span(1), l.Span(1), l.Span(1)
	return l
}

// eachRow calls visit for the rows of the blocks of two columns p and q of the loadings, as they stand in sums: of row i its
// entries from the given one on, since of a symmetric block only the upper triangle is summed.
func eachRow(w, rank int, sums []float64, visit func(p, q, i, from int, row []float64)) {
	for p := range rank {
		for q := p; q < rank; q++ {
			if p != q && !jointly(w, rank) {
				continue
			}
			for i := range w {
				from := 0
				if p == q {
					from = i
				}
				visit(p, q, i, from, sums[:w-from])
				sums = sums[w-from:]
			}
		}
	}
}

// columnBlocks is a matrix about loadings whose columns do not depend on one another, by the sums of eachRow: all
// between two columns is zero.
type columnBlocks struct {
	w, rank int
	sums    []float64
}

// Dims returns the order twice.
func (m *columnBlocks) Dims() (r, c int) { return m.w * m.rank, m.w * m.rank }

// SymmetricDim returns the order.
func (m *columnBlocks) SymmetricDim() int { return m.w * m.rank }

// T returns the matrix itself.
func (m *columnBlocks) T() mat.Matrix { return m }

// At returns an entry.
func (m *columnBlocks) At(i, j int) float64 {
	block := i / m.w
	if block != j/m.w {
		return 0
	}
	i, j = min(i%m.w, j%m.w), max(i%m.w, j%m.w)
	return m.sums[block*m.w*(m.w+1)/2+i*m.w-i*(i-1)/2+j-i]
}

// setLoadings sets what a matrix says about the loadings, the first w rank of its order, by sums.
func setLoadings(m *mat.SymDense, w, rank int, sums []float64) {
	eachRow(w, rank, sums, func(p, q, i, from int, row []float64) {
		for j, v := range row {
			m.SetSym(p*w+i, q*w+from+j, v)
		}
	})
}

// matrix returns the information of sums, in a matrix of at least its order.
func (l *informationSums) matrix(sum []float64, w, rank, order int) *mat.SymDense {
	info, n := mat.NewSymDense(order, nil), w*rank
	setLoadings(info, w, rank, l.loadings.Of(sum))
	for k := range n {
		info.SetSym(k, n, l.loadingsIntercept.Of(sum)[k])
		info.SetSym(k, n+1, l.loadingsSpread.Of(sum)[k])
	}
	info.SetSym(n, n, l.intercept.First(sum))
	info.SetSym(n, n+1, l.interceptSpread.First(sum))
	info.SetSym(n+1, n+1, l.spread.First(sum))
	return info
}

// addInformation adds the information of one task about a prior, by its A.
func addInformation(pt *mixedmodel.Prior, a, out []float64, l *informationSums) {
	w, r := pt.W, pt.Rank
	al := mixedmodel.Matrix(make([]float64, r*w), r, w)   // (A L)'
	adal := mixedmodel.Matrix(make([]float64, r*w), r, w) // (A D A L)', D the variances of slopes
	b := mixedmodel.Square(make([]float64, r*r), r)       // L'A L
	if r > 0 {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, pt.Transposed(), mixedmodel.Square(a, w), 0, al)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, al, pt.Transposed(), 0, b)
		features := mixedmodel.Matrix(slices.Clone(al.Data), r, w)
		for p := range r {
			for j := range w - 1 {
				features.Data[p*w+j] *= pt.Slope(j)
			}
		}
		features.Cols = w - 1
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, features, mixedmodel.Matrix(a, w-1, w), 0, adal)
	}
	eachRow(w, r, l.loadings.Of(out), func(p, q, i, from int, row []float64) {
		floats.AddScaled(row, b.Data[p*r+q], a[i*w+from:][:w-from])
		floats.AddScaled(row, al.Data[q*w+i], al.Data[p*w:][from:w])
	})
	c := w - 1
	intercept, spread := l.loadingsIntercept.Of(out), l.loadingsSpread.Of(out)
	for p := range r {
		floats.AddScaled(intercept[p*w:][:w], pt.Intercept*al.Data[p*w+c], a[c*w:][:w])
		floats.AddScaled(spread[p*w:][:w], 1, adal.Data[p*w:][:w])
	}
	squares, constant := 0.0, 0.0
	for i := range c {
		constant += pt.Slope(i) * a[c*w+i] * a[c*w+i]
		for j := range c {
			squares += pt.Slope(i) * pt.Slope(j) * a[i*w+j] * a[i*w+j]
		}
	}
	l.intercept.Add(out, pt.Intercept*pt.Intercept*a[c*w+c]*a[c*w+c]/2)
	l.interceptSpread.Add(out, pt.Intercept*constant/2)
	l.spread.Add(out, squares/2)
}

// curvature returns A = G - G C G for G = Z'V^-1 Z of a task, w x w.
func (pt *Point) curvature(gram []float64) []float64 {
	w := pt.W
	gc, a := mixedmodel.Square(make([]float64, w*w), w), append([]float64(nil), gram...)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, mixedmodel.Square(gram, w), mixedmodel.Square(pt.MeanCovariance, w), 0, gc)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, gc, mixedmodel.Square(gram, w), 1, mixedmodel.Square(a, w))
	return a
}

// Uncertainty returns the covariance of the loadings, by columns, and of the logarithms of
// intercept and spread: the inverse of the information, with the prior of the loadings and
// a weak one, of standard deviation 2, of the logarithms. nil if rounding leaves none. It takes the place of the information, which may be
// as large as the table.
func Uncertainty(info *mat.SymDense, variances []float64, w int) *mat.SymDense {
	h := info.RawSymmetric()
	n := h.N
	for i := range n {
		v := 0.25
		if i < n-2 {
			v = 1 / variances[i/w]
		}
		h.Data[i*h.Stride+i] += v
	}
	norm := lapack64.Lansy(lapack.MaxColumnSum, h, make([]float64, n))
	r, ok := lapack64.Potrf(h)
	if !ok || lapack64.Pocon(h, norm, make([]float64, 3*n), make([]int, n)) < 1/mat.ConditionTolerance {
		return nil
	}
	lapack64.Potri(r)
	return info
}
