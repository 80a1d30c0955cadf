package minimum

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// explained returns the residuals X_t'e_t of the tasks of every hosted node as samples. Of all axes q it
// finds the one that explains least, with its energy,
//
//	E(U q) = sum_t (q'b_t)^2 / (q'(U'X_t'X_t U)^-1 q),
//
// the increase of the objective without U q; and it sets the largest Share.
func (k *problem) explained(ctx context.Context, s *Standing) (left []*kernel.Tasks, least float64, q []float64, err error) {
	const kinds = 3 // E(U q), and the sums of (q'b_t)^2 and (q'b_t)^4
	r := int(k.rank)
	sums := make([][]float64, len(k.tasks))
	for i, t := range k.tasks {
		rows, own := make([][]float64, t.Len()), make([][]float64, t.Len())
		k.o.Pool.Run(func(w int) {
			for task := w; task < t.Len(); task += k.o.Pool.Workers() {
				rows[task], own[task] = k.explain(i, task)
			}
		})
		sums[i] = make([]float64, kinds*r)
		b := kernel.NewBuilder(t.Features(), []int{t.Len()}, kernel.Float64)
		for task, row := range rows {
			b.SetRow(0, task, row, 0)
			floats.Add(sums[i], own[task])
		}
		keepFinite(sums[i], 0)
		left = append(left, b.Tasks())
	}
	if err := k.net.Sum(ctx, sums); err != nil {
		return nil, 0, nil, err
	}
	least, q = math.Inf(1), k.axes[0]
	for a, axis := range k.axes {
		energy := sums[0][kinds*a:][:kinds]
		if energy[0] < least {
			least, q = energy[0], axis
		}
		s.Share = max(s.Share, k.share(energy[2]/(energy[1]*energy[1])))
	}
	return left, least, q, nil
}

// explain returns X_t'e_t of one task, and the three numbers of every axis.
func (k *problem) explain(i, task int) (row, sums []float64) {
	t, u := k.tasks[i], k.u[i]
	d, r := u.Dims()
	n, b := t.Samples(task), k.groups[i].B[task*r:][:r]
	row, sums = make([]float64, tile.Pad(d)), make([]float64, 3*r)
	if n == 0 {
		return row[:d], sums
	}
	a, e, x := mat.NewDense(n, r, nil), make([]float64, n), make([]float64, d)
	for l, y := range t.Y(task) {
		t.Row(x, task, l)
		for j := range r {
			a.Set(l, j, floats.Dot(x, u.Col(j)))
		}
		e[l] = y - floats.Dot(a.RawRowView(l), b)
	}
	t.MulTransposed(row, task, e)
	gram := mat.NewSymDense(r, nil)
	gram.SymOuterK(1, a.T())
	for j := range r {
		gram.SetSym(j, j, gram.At(j, j)+k.o.Ridge)
	}
	var c mat.Cholesky
	solvable := c.Factorize(gram)
	for j, q := range k.axes {
		along := floats.Dot(q, b)
		sums[3*j+1], sums[3*j+2] = along*along, along*along*along*along
		var v mat.VecDense
		if solvable && c.SolveVecTo(&v, mat.NewVecDense(r, q)) == nil {
			z := v.RawVector().Data
			sums[3*j] = along * along / (floats.Dot(q, z) - k.o.Ridge*floats.Dot(z, z))
		}
	}
	return row[:d], sums
}

// strongest returns the direction v with the largest sum_t (v'X_t'e_t)^2, and that sum, by power iterations.
func (k *problem) strongest(ctx context.Context, left []*kernel.Tasks) (v []float64, value float64, err error) {
	const directions, iterations = 3, 4
	d := int(k.features)
	n := min(directions, d)
	u, rng := kernel.NewBasis(d, n), rand.New(rand.NewPCG(k.o.Seed, 0x5add1e))
	for j := range n {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	scale := sumScale / max(k.xx, math.SmallestNonzeroFloat64)
	z, sums := make([]*kernel.Basis, len(left)), make([][]float64, len(left))
	small := mat.NewSymDense(n, nil)
	for range iterations {
		u.Orthonormalize(nil, nil)
		for i := range left {
			z[i] = kernel.NewBasis(d, n)
			left[i].GramProduct(z[i], u, nil)
			floats.Scale(scale, z[i].Data())
			sums[i] = keepFinite(z[i].Data(), 0)
		}
		if err := k.net.Sum(ctx, sums); err != nil {
			return nil, 0, err
		}
		for a := range n {
			for b := range a + 1 {
				small.SetSym(a, b, floats.Dot(u.Col(a), z[0].Col(b)))
			}
		}
		v = make([]float64, d)
		var e mat.EigenSym
		if !e.Factorize(small, true) {
			return v, 0, nil
		}
		var w mat.Dense
		e.VectorsTo(&w)
		for j := range n {
			floats.AddScaled(v, w.At(j, n-1), u.Col(j))
		}
		value = e.Values(nil)[n-1] / scale
		u.CopyFrom(z[0])
	}
	return v, value, nil
}

// arc lists angles: U q is turned by each of them towards v.
var arc = [...]float64{-1.2, -0.8, -0.4, -0.15, 0.15, 0.4, 0.8, 1.2, math.Pi / 2}

// alongArc evaluates the objective where U q is turned towards v. It returns the U_g of the lowest, or nil if
// none is below the objective at U.
func (k *problem) alongArc(ctx context.Context, q, v []float64) ([]*kernel.Basis, error) {
	sums := make([][]float64, len(k.tasks))
	for i := range sums {
		sums[i] = make([]float64, len(arc))
	}
	for a, angle := range arc {
		k.run.Minimize(k.turned(q, v, angle), k.o.Ridge)
		for i, g := range k.groups {
			sums[i][a] = (g.Objective + k.o.Ridge*floats.Dot(g.B, g.B)) * sumScale
		}
	}
	for i := range sums {
		keepFinite(sums[i], min(k.squares*sumScale, 0x1p36))
	}
	if err := k.net.Sum(ctx, sums); err != nil {
		return nil, err
	}
	best := floats.MinIdx(sums[0])
	if !(sums[0][best]/sumScale < k.objective*(1-lower)) {
		return nil, nil
	}
	return k.turned(q, v, arc[best]), nil
}

// turned returns U + (cos a U q + sin a v - U q) q', orthonormalised, with v made orthogonal to U.
func (k *problem) turned(q, v []float64, angle float64) (list []*kernel.Basis) {
	for _, u := range k.u {
		weak, other := make([]float64, len(v)), append([]float64(nil), v...)
		for j, c := range q {
			floats.AddScaled(weak, c, u.Col(j))
			floats.AddScaled(other, -floats.Dot(u.Col(j), v), u.Col(j))
		}
		sin, cos := math.Sincos(angle)
		if length := floats.Norm(other, 2); length > 0 {
			floats.Scale(sin/length, other)
		}
		floats.AddScaled(other, cos-1, weak)
		z := u.Clone()
		for j, c := range q {
			floats.AddScaled(z.Col(j), c, other)
		}
		z.Orthonormalize(nil, nil)
		list = append(list, z)
	}
	return list
}
