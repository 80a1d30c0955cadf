package evidence

import (
	"context"
	"math"

	"github.com/difalt/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Observed returns half of the second derivatives of the value by the loadings, by columns, of order w rank. What is
// expected of them, as Information has it, is right where the loadings are as long as the data have them. Their prior shortens them,
// and where coefficients outnumber tasks by much: there the value is steeper around
// loadings that follow noise than expected, and the expected volume would pass noise for a rank.
func (r *Rows) Observed(ctx context.Context, pt *Point) (*mat.SymDense, error) {
	w, l := r.Width, newInformationSums(r.Width, pt.Rank)
	n := len(l.loadings.Of(make([]float64, l.Len)))
	sum, err := r.sum(ctx, n, func(g, i int, out []float64) {
		if k := &pt.whitened[g][i]; len(k.Y) > 0 {
			pt.addObserved(pt.curvature(k.Gram(w)), k.Gradient(pt.Mean), out)
		}
	})
	if err != nil {
		return nil, err
	}
	info := mat.NewSymDense(w*pt.Rank, nil)
	setLoadings(info, w, pt.Rank, sum)
	return info, nil
}

// addObserved adds the second derivatives of one task, by its A and g = Z'V^-1 (y - Z mean). With f = L'g / noise^(1/2) and
// C = I - L'A L, mean and covariance of the factors of its deviation, they are for columns p and q
//
//	A (f f' + C)_pq - g g' C_pq / noise + (A L)_q (L'g)_p g' / noise + g (L'g)_q (A L)_p' / noise - (A L)_q (A L)_p'
//
// as information about loadings by known factors, less what is missing about these (Louis 1982).
func (pt *Point) addObserved(a, g, out []float64) {
	w, r := pt.W, pt.Rank
	al := mixedmodel.Matrix(make([]float64, r*w), r, w) // (A L)'
	c := mixedmodel.Square(make([]float64, r*r), r)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, pt.Transposed(), mixedmodel.Square(a, w), 0, al)
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, al, pt.Transposed(), 0, c)
	lg := make([]float64, r)
	for p := range r {
		c.Data[p*r+p]++
		lg[p] = floats.Dot(pt.Column(p), g)
	}
	eachRow(w, r, out, func(p, q, i, from int, row []float64) {
		lp, lqi, cov := al.Data[p*w:][:w], al.Data[q*w+i], c.Data[p*r+q]
		floats.AddScaled(row, cov+lg[p]*lg[q]/pt.Noise, a[i*w+from:][:w-from])
		floats.AddScaled(row, (lqi*lg[p]-g[i]*cov)/pt.Noise, g[from:])
		floats.AddScaled(row, g[i]*lg[q]/pt.Noise-lqi, lp[from:])
	})
}

// Occam returns what the evidence loses since the loadings are not known but estimated, by
// Laplace's approximation under their own prior (MacKay 1992): log det(I + information) in
// units of that prior; and how many entries of every column the data determine. A direction in which there is less
// information than none, as between two maxima, counts as one of which the data say nothing.
func Occam(info *mat.SymDense, variances []float64, w int) (penalty float64, determined []float64) {
	r := len(variances)
	determined = make([]float64, r)
	columns := 1 // at a time
	if jointly(w, r) {
		columns = r
	}
	for first := 0; first < r; first += columns {
		n := columns * w
		h := blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}
		for i := range n {
			for j := i; j < n; j++ {
				h.Data[i*n+j] = info.At(first*w+i, first*w+j) * math.Sqrt(variances[first+i/w]*variances[first+j/w])
			}
		}
		values, work := make([]float64, n), make([]float64, max(64*n, 1))
		if !lapack64.Syev(lapack.EVCompute, h, values, work, len(work)) {
			return math.Inf(1), make([]float64, r)
		}
		for k, v := range values {
			v = max(v, 0)
			penalty += math.Log1p(v)
			for i := range n {
				part := h.Data[i*n+k]
				determined[first+i/w] += part * part * v / (1 + v)
			}
		}
	}
	return penalty, determined
}
