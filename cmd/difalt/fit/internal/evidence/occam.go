package evidence

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// observed returns half of the second derivatives of tasks that are alike by the loadings of a prior, by columns: entry i, j. With A = B^-1, the sum G of g g' over the
// noise, g = Z'V^-1 (y - Z mean), f = L'g / noise^(1/2) and C = I - L'A L, mean and covariance of the factors of a task's
// deviation, they are for columns p and q
//
//	A (f f' + C)_pq - g g' C_pq / noise + (A L)_q (L'g)_p g' / noise + g (L'g)_q (A L)_p' / noise - (A L)_q (A L)_p'
//
// as information about loadings by known factors, less what is missing about these (Louis 1982).
func observed(prior *mixedmodel.Prior, a, gg []float64, tasks, noise float64) func(i, j int) float64 {
	w, r := prior.W, prior.Rank
	al, gl := mixedmodel.Matrix(make([]float64, r*w), r, w), mixedmodel.Matrix(make([]float64, r*w), r, w) // (A L)' and (G L)'
	c, f := mixedmodel.Square(make([]float64, r*r), r), mixedmodel.Square(make([]float64, r*r), r)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, prior.Transposed(), mixedmodel.Square(a, w), 0, al)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1/noise, prior.Transposed(), mixedmodel.Square(gg, w), 0, gl)
	blas64.Gemm(blas.NoTrans, blas.Trans, -1, al, prior.Transposed(), 0, c)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, gl, prior.Transposed(), 0, f)
	for p := range r {
		c.Data[p*r+p]++
	}
	return func(i, j int) float64 {
		i, j = min(i, j), max(i, j)
		p, q, at := i/w, j/w, i%w*w+j%w
		v := (tasks*c.Data[p*r+q] + f.Data[p*r+q]) * a[at]
		v += -c.Data[p*r+q] / noise * gg[at]
		v += al.Data[q*w+i%w] * gl.Data[p*w+j%w]
		return v + (gl.Data[q*w+i%w]-tasks*al.Data[q*w+i%w])*al.Data[p*w+j%w]
	}
}

// Occam returns what the evidence loses since the loadings are not known but estimated, by
// Laplace's approximation under their own prior (MacKay 1992): log det(I + information) in
// units of that prior; and how many entries of every column the data determine. A direction in which there is less
// information than none, as between two maxima, counts as one of which the data say nothing. The variance of a column is estimated too: about its
// logarithm, with a prior as those of slopes have, n determined entries say n / 2.
func Occam(info func(i, j int) float64, variances []float64, w int) (penalty float64, determined []float64) {
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
				h.Data[i*n+j] = info(first*w+i, first*w+j) * math.Sqrt(variances[first+i/w]*variances[first+j/w])
			}
		}
		values, work := make([]float64, n), make([]float64, max(64*n, 1))
		job := lapack.EVCompute
		if columns == 1 { // whose entries all count as that column's, along whatever axes
			job = lapack.EVNone
		}
		if !lapack64.Syev(job, h, values, work, len(work)) {
			return math.Inf(1), make([]float64, r)
		}
		for k, v := range values {
			v = max(v, 0)
			penalty += math.Log1p(v)
			if columns == 1 {
				determined[first] += v / (1 + v)
				continue
			}
			for i := range n {
				part := h.Data[i*n+k]
				determined[first+i/w] += part * part * v / (1 + v)
			}
		}
	}
	for _, n := range determined {
		penalty += math.Log1p(slopesDeviation * slopesDeviation * n / 2)
	}
	return penalty, determined
}

// Turns returns what the evidence gains since loadings explain the same with columns turned into one another or reflected: Laplace's approximation
// sees one of these maxima, or the width of the prior where they are a ridge. Along the angle t between columns a and b the likelihood stays, and the
// density of the prior is exp(-k sin^2 t / 2) of what it was. So column by column directions about those before are of a normal distribution about
// two opposite ones, or anywhere on a sphere if that is less, with columns of the smallest k. Of the opposite ones each has the half of space that is nearer: a
// column that is not apart from zero by its width, by the information, is its own reflection.
func Turns(p *mixedmodel.Prior, variances []float64, info func(i, j int) float64) (gain float64) {
	for a := range p.Rank {
		var narrow []float64 // log k
		far := 0.0
		la := floats.Dot(p.Column(a), p.Column(a))
		for b := range a {
			lb := floats.Dot(p.Column(b), p.Column(b))
			turned := la/variances[b] + lb/variances[a]
			narrow = append(narrow, math.Log(max(turned-la/variances[a]-lb/variances[b], 1e-300)))
			far += math.Log(turned)
		}
		slices.Sort(narrow)
		least, halves := math.Inf(1), math.Log(1+math.Erf(apart(p, a, variances, info)/math.Sqrt2))
		for m := range len(narrow) + 1 {
			half := float64(m+1) / 2
			gamma, _ := math.Lgamma(half)
			least = min(least, 2*(halves+half*math.Log(math.Pi)-gamma)-float64(m)*math.Log(2*math.Pi)-floats.Sum(narrow[m:]))
		}
		gain += max(far+least, 0)
	}
	return gain
}

// apart returns how far a column of the loadings is from zero, in standard deviations of its length.
func apart(p *mixedmodel.Prior, a int, variances []float64, info func(i, j int) float64) float64 {
	l, w := p.Column(a), p.W
	square, told := floats.Dot(l, l), 0.0
	for i, x := range l {
		for j, y := range l {
			told += x * y * info(a*w+i, a*w+j)
		}
	}
	return math.Sqrt(square/variances[a] + max(told, 0))
}
