package fit

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

// observed returns half of the second derivatives of the value by the loadings, by columns, of order w rank. What is
// expected of them, as information has it, is right where the loadings are as long as the data have them. Their prior shortens them,
// and where coefficients outnumber tasks by much: there the value is steeper around
// loadings that follow noise than expected, and the expected volume would pass noise for a rank.
func (e *evidence) observed(ctx context.Context, pt *point) (*mat.SymDense, error) {
	w, r := e.w, pt.Rank
	sum, err := e.sum(ctx, e.overTasks(ctx, loadingsLen(w, r), func(g, i int, out []float64) {
		if k := &pt.white[g][i]; len(k.Y) > 0 {
			observe(curvature(k.Gram(w), pt, w), k.Gradient(pt.shift), pt, w, out)
		}
	}, nil))
	if err != nil {
		return nil, err
	}
	info := mat.NewSymDense(w*r, nil)
	assembleLoadings(sum, w, r, info)
	return info, nil
}

// observe adds the second derivatives of one task, by its A and g = Z'V^-1 (y - Z mean). With f = L'g / noise^(1/2) and
// C = I - L'A L, mean and covariance of the factors of its deviation, they are for columns p and q
//
//	A (f f' + C)_pq - g g' C_pq / noise + (A L)_q (L'g)_p g' / noise + g (L'g)_q (A L)_p' / noise - (A L)_q (A L)_p'
//
// as information about loadings by known factors, less what is missing about these (Louis 1982).
func observe(a, g []float64, pt *point, w int, out []float64) {
	r := pt.Rank
	al := blas64.General{Rows: r, Cols: w, Stride: w, Data: make([]float64, r*w)} // (A L)'
	c := mixedmodel.Square(make([]float64, r*r), r)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, pt.Matrix(), mixedmodel.Square(a, w), 0, al)
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, al, pt.Matrix(), 0, c)
	lg := make([]float64, r)
	for p := range r {
		c.Data[p*r+p]++
		lg[p] = floats.Dot(pt.Column(p), g)
	}
	at := 0
	for p := range r {
		for q := p; q < r; q++ {
			if p != q && !jointly(w, r) {
				continue
			}
			lp, lq, cov := al.Data[p*w:][:w], al.Data[q*w:][:w], c.Data[p*r+q]
			for i := range w {
				from := firstOf(p == q, i)
				row := out[at:][:w-from]
				floats.AddScaled(row, cov+lg[p]*lg[q]/pt.noise, a[i*w+from:][:w-from])
				floats.AddScaled(row, (lq[i]*lg[p]-g[i]*cov)/pt.noise, g[from:])
				floats.AddScaled(row, g[i]*lg[q]/pt.noise-lq[i], lp[from:])
				at += w - from
			}
		}
	}
}

// occam returns what the evidence loses since the loadings are not known but estimated, by
// Laplace's approximation under their own prior (MacKay 1992): log det(I + information) in
// units of that prior; and how many entries of every column the data determine. A direction in which there is less
// information than none, as between two maxima, counts as one of which the data say nothing.
func occam(info *mat.SymDense, scale []float64, w int) (penalty float64, determined []float64) {
	r := len(scale)
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
				h.Data[i*n+j] = info.At(first*w+i, first*w+j) * math.Sqrt(scale[first+i/w]*scale[first+j/w])
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

// spent returns how many times the residuals the noise is, since loadings were fitted to them: every entry that
// the data determine takes a degree of freedom, as a coefficient of a regression does. At most 2.
func (f *fitter) spent(info *mat.SymDense, pt *point) float64 {
	_, determined := occam(info, pt.scale, pt.W)
	all := max(float64(f.total-1), 1)
	return all / max(all-floats.Sum(determined), all/2)
}
