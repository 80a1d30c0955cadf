package minimum

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/internal/work"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

// An axisSums holds the sums over nodes about an axis q of U.
type axisSums struct {
	energy         float64 // E(U q): the increase of the objective without U q, in the unit of energies
	second, fourth float64 // sums of h_t = w_t (q'b_t)^2 over the eigenvalue of P, and of h_t^2
}

// Fields implements sums.Record.
func (s *axisSums) Fields(row *sums.Row) {
	row.Number(&s.energy, 1)
	row.Number(&s.second, 1)
	row.Number(&s.fourth, 1)
}

// negligible is the part of the largest eigenvalue of P below which another one is mostly rounding.
const negligible = 1e-12

// axesSums are the sums of all axes.
type axesSums []axisSums

// Fields implements sums.Record.
func (list axesSums) Fields(row *sums.Row) {
	for a := range list {
		list[a].Fields(row)
	}
}

// explained returns the residuals X_t'e_t of the tasks of every hosted node as samples. Of all axes q it
// finds the axis that explains least, with its energy,
//
//	E(U q) = sum_t (q'b_t)^2 / (q'(U'X_t'X_t U)^-1 q),
//
// and it sets the largest ParametersPerSample.
func (k *problem) explained(ctx context.Context, out *Outcome) (
	left []*kernel.Tasks, least float64, q []float64, err error) {
	rows := make([][]float64, len(k.tasks))
	for i, t := range k.tasks {
		residuals, parts := make([][]float64, t.Len()), make([]axesSums, t.Len())
		work.For(k.o.Pool, t.Len(), func(task int) {
			residuals[task], parts[task] = k.explain(i, task)
		})
		own := make(axesSums, len(k.axes))
		b := kernel.NewBuilder(t.Features(), []int{t.Len()}, kernel.Float64)
		for task, row := range residuals {
			b.SetRow(0, task, row, 0)
			for a, part := range parts[task] {
				own[a].energy += part.energy
				own[a].second += part.second
				own[a].fourth += part.fourth
			}
		}
		rows[i] = sums.Write(nil, own)
		left = append(left, b.Tasks())
	}
	if err := k.net.Sum(ctx, rows); err != nil {
		return nil, 0, nil, err
	}
	all := make(axesSums, len(k.axes))
	sums.Read(rows[0], all)
	least, q = math.Inf(1), k.axes[0]
	for a, axis := range k.axes {
		if energy := all[a].energy * k.totals.energy; energy < least {
			least, q = energy, axis
		}
		concentration := all[a].fourth / (all[a].second * all[a].second)
		out.ParametersPerSample = max(out.ParametersPerSample, k.parametersPerSample(concentration))
	}
	return left, least, q, nil
}

// explain returns X_t'e_t of one task, and its part of the sums of every axis.
func (k *problem) explain(i, task int) (row []float64, parts axesSums) {
	t, u := k.tasks[i], k.u[i]
	d, r := u.Dims()
	n, b := t.Samples(task), k.groups[i].B[task*r:][:r]
	row, parts = make([]float64, tile.Pad(d)), make(axesSums, r)
	if n == 0 {
		return row[:d], parts
	}
	a, e, x := make([]float64, n*r), make([]float64, n), make([]float64, d)
	for l, y := range t.Y(task) {
		t.Row(x, task, l)
		products := a[l*r:][:r]
		for j := range r {
			products[j] = rounded.Dot(x, u.Col(j))
		}
		e[l] = y - rounded.Dot(products, b)
	}
	t.MulTransposed(row, task, e)
	gram := make([]float64, r*r)
	dense.Syrk(blas.Trans, 1, dense.General(n, r, a), 0, dense.Symmetric(r, gram))
	for j := range r {
		gram[j*(r+1)] += k.o.Ridge
	}
	factor, solvable := dense.Factor(r, gram)
	largest := k.p.Values[r-1]
	for j, q := range k.axes {
		along := rounded.Dot(q, b)
		relative := along / k.data.Coefficient()
		if largest > 0 {
			parts[j].second = k.weights[i][task] * relative * relative / max(k.p.Values[j], negligible*largest)
			parts[j].fourth = parts[j].second * parts[j].second
		}
		if solvable {
			z := slices.Clone(q)
			dense.Solve(factor, z)
			if variance := rounded.Dot(q, z) - float64(k.o.Ridge*rounded.Dot(z, z)); variance > 0 {
				parts[j].energy = along / variance * along / k.totals.energy
			}
		}
	}
	return row[:d], parts
}

// strongest returns the direction v with the largest sum_t (v'X_t'e_t)^2, and that sum, by power iterations.
func (k *problem) strongest(ctx context.Context, left []*kernel.Tasks) (v []float64, value float64, err error) {
	const directions, iterations = 3, 4
	d := k.tasks[0].Features()
	n := min(directions, d)
	u, rng := kernel.NewBasis(d, n), rand.New(rand.NewPCG(k.o.Seed, 0x5add1e))
	for j := range n {
		for i := range u.Col(j) {
			u.Col(j)[i] = rounded.Normal(rng)
		}
	}
	unit := k.data.MeanFeature() * k.totals.energy
	z, rows := make([]*kernel.Basis, len(left)), make([][]float64, len(left))
	for i := range left {
		z[i] = kernel.NewBasis(d, n)
	}
	for range iterations {
		u.Orthonormalize(nil, nil)
		for i := range left {
			clear(z[i].Data())
			left[i].GramProduct(z[i], u, nil)
			floats.Scale(1/unit, z[i].Data())
			rows[i] = z[i].Data()
		}
		if err := k.net.Sum(ctx, rows); err != nil {
			return nil, 0, err
		}
		var known bool
		if v, value, known = largest(u, z[0]); !known {
			return v, 0, nil
		}
		u.CopyFrom(z[0])
	}
	return v, value * unit, nil
}

// largest returns the combination of the columns of u that the product z = A u stretches most, for a
// symmetric A, and the factor of stretching.
func largest(u, z *kernel.Basis) (v []float64, value float64, known bool) {
	d, n := u.Dims()
	small := make([]float64, n*n)
	for a := range n {
		for b := range a + 1 {
			small[b*n+a] = rounded.Dot(u.Col(a), z.Col(b))
		}
	}
	v = make([]float64, d)
	values, known := dense.Eigen(n, small)
	if !known {
		return v, 0, false
	}
	for j := range n {
		rounded.AddScaled(v, small[j*n+n-1], u.Col(j))
	}
	return v, values[n-1], true
}

// A turn is an angle by its sine and cosine.
type turn struct{ sin, cos float64 }

// arc lists turns of U q towards v: by .15, .4, .8 and 1.2 on either side, and by a right angle.
var arc = [...]turn{
	{-0.9320390859672263, 0.3623577544766736}, {-0.7173560908995228, 0.6967067093471654},
	{-0.3894183423086505, 0.9210609940028851}, {-0.14943813247359922, 0.9887710779360422},
	{0.14943813247359922, 0.9887710779360422}, {0.3894183423086505, 0.9210609940028851},
	{0.7173560908995228, 0.6967067093471654}, {0.9320390859672263, 0.3623577544766736},
	{1, 0},
}

// alongArc evaluates the objective where U q is turned towards v. It returns the U_g of the lowest, or nil if
// none is below the objective at U.
func (k *problem) alongArc(ctx context.Context, q, v []float64) ([]*kernel.Basis, error) {
	rows := make([][]float64, len(k.tasks))
	for i := range rows {
		rows[i] = make([]float64, len(arc))
	}
	for a, by := range arc {
		k.run.Minimize(k.turned(q, v, by), k.o.Ridge)
		for i, g := range k.groups {
			rows[i][a] = (g.Objective + float64(k.o.Ridge*rounded.Dot(g.B, g.B))) / k.totals.energy
		}
	}
	if err := k.net.Sum(ctx, rows); err != nil {
		return nil, err
	}
	best := floats.MinIdx(rows[0])
	if !(rows[0][best]*k.totals.energy < k.totals.objective()*(1-lower)) {
		return nil, nil
	}
	return k.turned(q, v, arc[best]), nil
}

// turned returns U + (cos a U q + sin a v - U q) q', orthonormalised, with v made orthogonal to U.
func (k *problem) turned(q, v []float64, by turn) (list []*kernel.Basis) {
	for _, u := range k.u {
		weak, other := make([]float64, len(v)), append([]float64(nil), v...)
		for j, c := range q {
			rounded.AddScaled(weak, c, u.Col(j))
			rounded.AddScaled(other, -rounded.Dot(u.Col(j), v), u.Col(j))
		}
		if length := rounded.Norm(other); length > 0 {
			floats.Scale(by.sin/length, other)
		}
		rounded.AddScaled(other, by.cos-1, weak)
		z := u.Clone()
		for j, c := range q {
			rounded.AddScaled(z.Col(j), c, other)
		}
		z.Orthonormalize(nil, nil)
		list = append(list, z)
	}
	return list
}
