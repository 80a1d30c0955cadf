package kernel_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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
	defer func() {
		t.Helper()
		if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "kernel: ") {
			t.Errorf("%s: panic %q, want a message of the package", name, msg)
		}
	}()
	f()
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
