package kernel_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/steptest"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// randomTasks returns tasks of the given numbers of samples, and the same data as
// dense matrices. Entries are float32 numbers, so that both storages hold them
// exactly.
func randomTasks(rng *rand.Rand, d int, samples []int, storage kernel.Storage) (*kernel.Tasks, []*mat.Dense, [][]float64) {
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
	u.Orthonormalize(make([]float64, r*r), make([]float64, r))
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

// A reference is a step by dense matrices.
type reference struct{ *steptest.Step }

// stepReference takes b_t from the samples fit, and the gradient from grad. Tasks without samples have nil
// matrices.
func stepReference(u mat.Matrix, ridge float64, fitX []*mat.Dense, fitY [][]float64, gradX []*mat.Dense, gradY [][]float64) reference {
	return reference{steptest.New(u, ridge, fitX, fitY, gradX, gradY)}
}

func (ref reference) check(t *testing.T, g *kernel.Group, r int) {
	t.Helper()
	const tol = 1e-10 // the data are well conditioned; square tasks lose some digits
	sameMatrix(t, "B", mat.NewDense(len(ref.Status), r, g.B).T(), ref.B, tol)
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
