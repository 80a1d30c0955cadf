package fit

import (
	"context"
	"hash/fnv"
	"math/rand/v2"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// maxFeatures is the number of features up to which a fit works on them as they are, if there are
// rows enough, and maxDirections how many take their place beyond: its cost grows with the
// square.
const maxFeatures, maxDirections = 1000, 100

// maxSums is how many numbers the sums of reduce may have at all nodes together.
const maxSums = 1 << 25

// reduce replaces the features by fewer directions where there are more features than rows, or
// more than maxDirections and half of the rows: by an orthonormal basis of the rows of
// all nodes, or of the leading part of it. A ridge does not see the difference, since coefficients
// across the rows are zero. No matrix of features by features is made: random
// combinations of the rows span their space, those of few rows exactly, and of many
// after two power iterations (Halko, Martinsson and Tropp 2011). The sums are of
// features by directions.
func (d *design) reduce(ctx context.Context, seed uint64) error {
	k := len(d.Center)
	if k <= d.total && k <= maxFeatures {
		return nil
	}
	p := min(d.total, k, maxDirections, max(maxSums/(k*d.Group.Len()), 16))
	var r *rand.Rand
	task := -1
	q, err := d.sumRows(ctx, k, p, func(i int, _, c []float64) {
		if task != d.t.Task(i) { // the same combinations of a task's rows, wherever it lives
			task = d.t.Task(i)
			hash := fnv.New64a()
			hash.Write([]byte(d.t.Tasks()[task]))
			r = rand.New(rand.NewPCG(seed, hash.Sum64()))
		}
		for j := range c {
			c[j] = r.NormFloat64()
		}
	})
	if err != nil {
		return err
	}
	powers := 0
	if p < d.total {
		powers = 2
	}
	for range powers {
		basis := orthonormal(q, p)
		if p = len(basis) / k; p == 0 {
			return nil
		}
		q, err = d.sumRows(ctx, k, p, func(_ int, z, c []float64) {
			blas64.Gemv(blas.NoTrans, 1, mixedmodel.Matrix(basis, len(c), k), mixedmodel.Vector(z), 0, mixedmodel.Vector(c))
		})
		if err != nil {
			return err
		}
	}
	if basis := orthonormal(q, p); len(basis) > 0 { // else features are the same in all rows
		d.directions = basis
	}
	return nil
}

// sumRows returns the p x k sum over all training rows z of c z', with the c of a row
// as combine sets it.
func (d *design) sumRows(ctx context.Context, k, p int, combine func(i int, z, c []float64)) ([]float64, error) {
	row, c := make([]float64, k+1), make([]float64, p)
	return d.sumTraining(ctx, p*k, func(i int, out []float64) {
		d.fullRow(row, i)
		combine(i, row[:k], c)
		blas64.Ger(1, mixedmodel.Vector(c), mixedmodel.Vector(row[:k]), mixedmodel.Matrix(out, p, k))
	})
}

// orthonormal returns an orthonormal basis of the p rows of q, the largest principal directions first, without those that rounding may have made.
func orthonormal(q []float64, p int) (basis []float64) {
	var svd mat.SVD
	if p == 0 || !svd.Factorize(mat.NewDense(p, len(q)/p, q), mat.SVDThinV) {
		return nil
	}
	var v mat.Dense
	svd.VTo(&v)
	values := svd.Values(nil)
	for a, s := range values {
		if s > 1e-7*values[0] {
			basis = append(basis, mat.Col(nil, a, &v)...)
		}
	}
	return basis
}

// fullRow sets z to the scaled features of a row and returns its scaled target.
func (d *design) fullRow(z []float64, i int) float64 {
	d.t.X(z[:len(d.Fill)], i)
	d.Apply(z)
	return d.scaledTarget(i)
}

// row sets z, of width entries, to the scaled features of a row, by directions if the design is
// reduced, and the constant, and returns its scaled target.
func (d *design) row(z []float64, i int) float64 {
	if d.directions == nil {
		return d.fullRow(z, i)
	}
	k, p := len(d.Center), d.width()-1
	full := make([]float64, k+1)
	y := d.fullRow(full, i)
	blas64.Gemv(blas.NoTrans, 1, mixedmodel.Matrix(d.directions, p, k), mixedmodel.Vector(full[:k]), 0, mixedmodel.Vector(z[:p]))
	z[p] = full[k]
	return y
}

// expand returns coefficients of all features from those of row.
func (d *design) expand(theta []float64) []float64 {
	if d.directions == nil {
		return theta
	}
	k, p := len(d.Center), d.width()-1
	out := make([]float64, k+1)
	for j, v := range theta[:p] {
		floats.AddScaled(out[:k], v, d.directions[j*k:][:k])
	}
	out[k] = theta[p]
	return out
}
