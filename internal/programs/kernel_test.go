package programs_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	gb "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	gonum "gonum.org/v1/gonum/blas/gonum"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

func gaussian(rng *rand.Rand, m, n int) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	a.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, a)
	return a
}

// near fails the test if got differs from want by more than a part of the size of want.
func near(t *testing.T, what string, got, want mat.Matrix, part float64) {
	t.Helper()
	var d mat.Dense
	d.Sub(got, want)
	if e := mat.Norm(&d, 2); !(e <= part*mat.Norm(want, 2)) {
		t.Errorf("%s differs by %g of %g", what, e, mat.Norm(want, 2))
	}
}

// withBoth calls f with gonum's own BLAS and with the tiles, and compares the results.
func withBoth(t *testing.T, what string, f func() mat.Matrix) {
	t.Helper()
	restore := func() {
		blas64.Use(gonum.Implementation{})
		blas32.Use(gonum.Implementation{})
		lapack64.Use(lapackgonum.Implementation{})
	}
	restore()
	want := mat.DenseCopyOf(f())
	blas.Use()
	defer restore()
	near(t, what, f(), want, 1e-10)
}

// Users send rows from day to day; of each only R of [X y] is kept.
func TestStream(t *testing.T) {
	const d, users, days = 6, 20, 8
	rng := rand.New(rand.NewPCG(1, 2))
	ws, solver := qr.NewWorkspace(d+1), lsq.NewWorkspace(d+1, d)
	for range users {
		r := blas64.GeneralCols{Rows: d + 1, Cols: d + 1, Stride: d + 1, Data: make([]float64, (d+1)*(d+1))}
		var all mat.Dense
		for day := range days {
			rows := gaussian(rng, 1+day%4, d+1)
			if all.IsEmpty() {
				all.CloneFrom(rows)
			} else {
				var stacked mat.Dense
				stacked.Stack(&all, rows)
				all = stacked
			}
			qr.Update(r, rows.RawMatrix(), ws)
		}
		x, b := r, make([]float64, d)
		x.Cols = d
		lsq.Solve(b, x, r.Data[d*r.Stride:], lsq.Options{Ridge: 0.5}, solver)
		n, _ := all.Dims()
		var gram, rhs, want mat.Dense
		gram.Mul(all.Slice(0, n, 0, d).T(), all.Slice(0, n, 0, d))
		for j := range d {
			gram.Set(j, j, gram.At(j, j)+0.5)
		}
		rhs.Mul(all.Slice(0, n, 0, d).T(), all.Slice(0, n, d, d+1))
		if err := want.Solve(&gram, &rhs); err != nil {
			t.Fatal(err)
		}
		near(t, "the coefficients of a user", mat.NewDense(d, 1, b), &want, 1e-10)
	}
}

// A Kalman filter of four states by package mat is the same on both BLAS.
func TestKalman(t *testing.T) {
	withBoth(t, "the state", func() mat.Matrix {
		rng := rand.New(rand.NewPCG(3, 4))
		const n = 4
		f, h := mat.NewDense(n, n, nil), mat.NewDense(1, n, []float64{1, 0, 0, 0})
		for i := range n {
			f.Set(i, i, 0.95)
			if i+1 < n {
				f.Set(i, i+1, 0.1)
			}
		}
		state, p := mat.NewVecDense(n, nil), mat.NewDense(n, n, nil)
		for i := range n {
			p.Set(i, i, 1)
		}
		for range 200 {
			var next, fp, ph, gain, update mat.Dense
			var predicted mat.VecDense
			predicted.MulVec(f, state)
			fp.Mul(f, p)
			next.Mul(&fp, f.T())
			for i := range n {
				next.Set(i, i, next.At(i, i)+0.01)
			}
			ph.Mul(&next, h.T())
			gain.Scale(1/(ph.At(0, 0)+0.1), &ph)
			state.AddScaledVec(&predicted, rng.NormFloat64()-predicted.AtVec(0), gain.ColView(0))
			update.Mul(&gain, ph.T())
			p.Sub(&next, &update)
		}
		return state
	})
}

// Alternating least squares with weights and a ridge that grows with the number of ratings: the loss falls in
// every half step, and the last one solves its normal equations.
func TestAlternatingLeastSquares(t *testing.T) {
	const users, items, k, lambda = 40, 25, 3, 0.1
	rng := rand.New(rand.NewPCG(5, 6))
	factors := [2]*mat.Dense{gaussian(rng, users, k), gaussian(rng, items, k)}
	ratings, weights := gaussian(rng, users, items), mat.NewDense(users, items, nil)
	weights.Apply(func(int, int, float64) float64 { return float64(rng.IntN(3)) }, weights) // 0: not rated
	batches := [2]lsq.Batch{half(ratings, weights, k, lambda), half(ratings.T(), weights.T(), k, lambda)}
	loss := func() (sum float64) {
		for u := range users {
			for i := range items {
				e := ratings.At(u, i) - mat.Dot(factors[0].RowView(u), factors[1].RowView(i))
				sum += weights.At(u, i) * e * e
			}
		}
		for side, batch := range batches {
			for j, p := range batch {
				sum += p.Ridge * mat.Dot(factors[side].RowView(j), factors[side].RowView(j))
			}
		}
		return sum
	}
	before := loss()
	for step := range 12 {
		side := step % 2
		w := mat.Matrix(weights)
		if side == 1 {
			w = weights.T()
		}
		for j, p := range batches[side] {
			fill(p, w, j, factors[1-side])
		}
		batches[side].Solve(lsq.Options{}, nil)
		for j, p := range batches[side] {
			factors[side].SetRow(j, p.B)
		}
		after := loss()
		if !(after <= before*(1+1e-12)) {
			t.Errorf("step %d: the loss rises from %g to %g", step, before, after)
		}
		before = after
	}
	// The last half step has zero gradient.
	for i := range items {
		for j := range k {
			gradient := batches[1][i].Ridge * factors[1].At(i, j)
			for u := range users {
				e := mat.Dot(factors[0].RowView(u), factors[1].RowView(i)) - ratings.At(u, i)
				gradient += weights.At(u, i) * e * factors[0].At(u, j)
			}
			if math.Abs(gradient) > 1e-10 {
				t.Errorf("item %d: the gradient is %g", i, gradient)
			}
		}
	}
}

// half returns a problem for every row of the ratings, with the weights' roots in its responses.
func half(ratings, weights mat.Matrix, k int, lambda float64) (batch lsq.Batch) {
	rows, columns := ratings.Dims()
	for i := range rows {
		p := lsq.Problem{B: make([]float64, k)}
		for j := range columns {
			if w := weights.At(i, j); w > 0 {
				p.Y = append(p.Y, math.Sqrt(w)*ratings.At(i, j))
			}
		}
		n := len(p.Y)
		p.A = blas64.GeneralCols{Rows: n, Cols: k, Stride: max(n, 1), Data: make([]float64, max(n, 1)*k)}
		p.Ridge = lambda * float64(n)
		batch = append(batch, p)
	}
	return batch
}

// fill sets the matrix of problem i to the factors of the rated columns, times the roots of the weights.
func fill(p lsq.Problem, weights mat.Matrix, i int, factors *mat.Dense) {
	row := 0
	columns, k := factors.Dims()
	for j := range columns {
		w := weights.At(i, j)
		if w == 0 {
			continue
		}
		for f := range k {
			p.A.Data[f*p.A.Stride+row] = math.Sqrt(w) * factors.At(j, f)
		}
		row++
	}
}

// Principal components, correlations and covariances of package stat are the same on both BLAS.
func TestStatistics(t *testing.T) {
	data := gaussian(rand.New(rand.NewPCG(7, 8)), 500, 30)
	weights := make([]float64, 500)
	for i := range weights {
		weights[i] = float64(i%5) + 0.5
	}
	withBoth(t, "the variances of principal components", func() mat.Matrix {
		var pc stat.PC
		if !pc.PrincipalComponents(data, weights) {
			t.Fatal("no principal components")
		}
		return mat.NewDense(30, 1, pc.VarsTo(nil))
	})
	withBoth(t, "the correlations", func() mat.Matrix {
		var c mat.SymDense
		stat.CorrelationMatrix(&c, data, weights)
		return &c
	})
}

// A dense layer with ReLU in float32, forward and backward, is that of float64 to rounding.
func TestDenseLayer(t *testing.T) {
	const batch, in, out = 32, 64, 10
	rng := rand.New(rand.NewPCG(9, 10))
	x, w, dy := gaussian(rng, batch, in), gaussian(rng, in, out), gaussian(rng, batch, out)
	single := func(m *mat.Dense) blas32.General {
		r, c := m.Dims()
		g := blas32.General{Rows: r, Cols: c, Stride: c, Data: make([]float32, r*c)}
		for i, v := range m.RawMatrix().Data {
			g.Data[i] = float32(v)
		}
		return g
	}
	zeros := func(r, c int) blas32.General {
		return blas32.General{Rows: r, Cols: c, Stride: c, Data: make([]float32, r*c)}
	}
	double := func(g blas32.General) *mat.Dense {
		m := mat.NewDense(g.Rows, g.Cols, nil)
		m.Apply(func(i, j int, _ float64) float64 { return float64(g.Data[i*g.Stride+j]) }, m)
		return m
	}
	impl := blas.Implementation{}
	gemm := func(ta, tb bool, a, b, c blas32.General) {
		k := a.Cols
		if ta {
			k = a.Rows
		}
		impl.Sgemm(transpose(ta), transpose(tb), c.Rows, c.Cols, k, 1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data,
			c.Stride)
	}
	y, gradient, dw, dx := zeros(batch, out), single(dy), zeros(in, out), zeros(batch, in)
	gemm(false, false, single(x), single(w), y)
	for i, v := range y.Data {
		if v < 0 {
			y.Data[i], gradient.Data[i] = 0, 0
		}
	}
	gemm(true, false, single(x), gradient, dw)
	gemm(false, true, gradient, single(w), dx)
	var wantY, wantW, wantX mat.Dense
	wantY.Mul(x, w)
	wantY.Apply(func(i, j int, v float64) float64 {
		if v < 0 {
			dy.Set(i, j, 0)
			return 0
		}
		return v
	}, &wantY)
	wantW.Mul(x.T(), dy)
	wantX.Mul(dy, w.T())
	near(t, "the layer", double(y), &wantY, 1e-5)
	near(t, "the gradient of the weights", double(dw), &wantW, 1e-5)
	near(t, "the gradient of the input", double(dx), &wantX, 1e-5)
}

func transpose(t bool) gb.Transpose {
	if t {
		return gb.Trans
	}
	return gb.NoTrans
}
