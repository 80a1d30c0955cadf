package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// randomTasks returns tasks of the given numbers of samples, and the same data as
// dense matrices. Entries are float32 numbers, so that both storages hold them
// exactly.
func randomTasks(rng *rand.Rand, d int, samples []int,
	storage kernel.Storage) (*kernel.Tasks, []*mat.Dense, [][]float64) {
	b := kernel.NewBuilder(d, samples, storage)
	x, y := make([]*mat.Dense, len(samples)), make([][]float64, len(samples))
	row := make([]float64, d)
	for t, n := range samples {
		if n > 0 {
			x[t] = mat.NewDense(n, d, nil)
		}
		y[t] = make([]float64, n)
		for i := range n {
			for j := range row {
				row[j] = float64(float32(rng.NormFloat64()))
			}
			y[t][i] = rng.NormFloat64()
			x[t].SetRow(i, row)
			b.SetRow(t, i, row, y[t][i])
		}
	}
	return b.Tasks(), x, y
}

// partOf returns the data of one of several parts of all tasks; those without samples have nil matrices.
func partOf(x []*mat.Dense, y [][]float64, p, parts int) (px []*mat.Dense, py [][]float64) {
	for task, all := range y {
		lo, hi := (p*len(all)+parts-1)/parts, ((p+1)*len(all)+parts-1)/parts
		var m *mat.Dense
		if lo < hi {
			_, d := x[task].Dims()
			m = mat.DenseCopyOf(x[task].Slice(lo, hi, 0, d))
		}
		px, py = append(px, m), append(py, all[lo:hi])
	}
	return px, py
}

// randomBasis returns an orthonormal d x r basis.
func randomBasis(rng *rand.Rand, d, r int) *kernel.Basis {
	u := kernel.NewBasis(d, r)
	for j := range r {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	u.Orthonormalize(nil, nil)
	return u
}

// ragged returns sample counts with zeros, fewer samples than columns, and more.
func ragged(rng *rand.Rand, tasks, most int) []int {
	n := make([]int, tasks)
	for t := range n {
		n[t] = rng.IntN(most + 1)
		if t%5 == 4 {
			n[t] = 0
		}
	}
	return n
}

func wantPanic(t *testing.T, name string, f func()) {
	t.Helper()
	if msg, ok := panicOf(f).(string); !ok || !strings.HasPrefix(msg, "kernel: ") {
		t.Errorf("%s: panic %q, want a message of the package", name, msg)
	}
}

func panicOf(f func()) (msg any) {
	defer func() { msg = recover() }()
	f()
	return nil
}

func sameBits(x, y []float64) bool {
	for i, v := range x {
		if math.Float64bits(v) != math.Float64bits(y[i]) {
			return false
		}
	}
	return len(x) == len(y)
}

// sameMatrix checks that two matrices differ by at most tol times the norm of the
// second.
func sameMatrix(t *testing.T, what string, got, want mat.Matrix, tol float64) {
	t.Helper()
	within(t, what, got, want, tol*mat.Norm(want, 2))
}

// within checks that two matrices differ by at most bound in the norm.
func within(t *testing.T, what string, got, want mat.Matrix, bound float64) {
	t.Helper()
	var diff mat.Dense
	diff.Sub(got, want)
	if d := mat.Norm(&diff, 2); !(d <= bound) {
		t.Errorf("%s is off by %g, want at most %g", what, d, bound)
	}
}

// A reference is a step on T tasks and a d x r basis by dense matrices and the singular value decomposition.
type reference struct {
	B         []float64  // as in a group
	Grad      *mat.Dense // d x r
	Objective float64
	Status    []lsq.Status

	GradScale, ObjectiveScale float64 // sums of the sizes of the terms that cancel in them
}

// stepReference takes the coefficients b_t of every task from the samples fit, with a ridge, and the
// gradient from the samples grad, at the basis u. Tasks without samples have nil matrices. A task with fewer
// samples than columns has the solution of minimum norm.
func stepReference(u mat.Matrix, ridge float64, fitX []*mat.Dense, fitY [][]float64, gradX []*mat.Dense,
	gradY [][]float64) *reference {
	d, r := u.Dims()
	s := &reference{Grad: mat.NewDense(d, r, nil)}
	for t := range fitX {
		b, status := referenceSolve(u, ridge, fitX[t], fitY[t])
		s.Status = append(s.Status, status)
		s.B = append(s.B, b.RawVector().Data...)
		if gradX[t] == nil {
			continue
		}
		var a, outer mat.Dense
		var e, g mat.VecDense
		a.Mul(gradX[t], u)
		e.MulVec(&a, b)
		y := mat.NewVecDense(len(gradY[t]), gradY[t])
		e.SubVec(&e, y)
		g.MulVec(gradX[t].T(), &e)
		outer.Outer(1, &g, b)
		s.Grad.Add(s.Grad, &outer)
		s.Objective += mat.Dot(&e, &e)
		s.GradScale += mat.Norm(gradX[t], 2) * mat.Norm(y, 2) * mat.Norm(b, 2)
		s.ObjectiveScale += mat.Dot(y, y)
	}
	return s
}

// referenceSolve returns the solution b of the least squares y = x u b, and its status.
func referenceSolve(u mat.Matrix, ridge float64, x *mat.Dense, y []float64) (*mat.VecDense, lsq.Status) {
	_, r := u.Dims()
	b := mat.NewVecDense(r, nil)
	status := lsq.OK
	if ridge == 0 && len(y) < r {
		status = lsq.Underdetermined
	}
	if x == nil {
		return b, status
	}
	var a mat.Dense
	a.Mul(x, u)
	var svd mat.SVD
	if !svd.Factorize(&a, mat.SVDThin) {
		panic("no convergence")
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	for k, s := range svd.Values(nil) {
		c := mat.Dot(left.ColView(k), mat.NewVecDense(len(y), y))
		b.AddScaledVec(b, c*s/(s*s+ridge), right.ColView(k))
	}
	return b, status
}

func (ref *reference) check(t *testing.T, g *kernel.Group, r int) {
	t.Helper()
	const tol = 1e-10 // the data are well conditioned; square tasks lose some digits
	if d := floats.Distance(g.B, ref.B, 2); !(d <= tol*floats.Norm(ref.B, 2)) {
		t.Errorf("B is off by %g", d)
	}
	within(t, "gradient", g.Grad, ref.Grad, tol*ref.GradScale)
	if math.Abs(g.Objective-ref.Objective) > tol*ref.ObjectiveScale {
		t.Errorf("objective %g, want %g", g.Objective, ref.Objective)
	}
	for i, s := range ref.Status {
		if g.Status[i] != s {
			t.Errorf("task %d: status %v, want %v", i, g.Status[i], s)
		}
	}
}

// byTiles reports whether the tiles compute steps.
func byTiles() bool {
	return !slices.Contains([]string{"gonum", "openblas"}, kernel.Describe().Kernel)
}
