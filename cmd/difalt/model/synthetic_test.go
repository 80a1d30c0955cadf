package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"gonum.org/v1/gonum/mat"
)

// memory is a Table of slices.
type memory struct {
	features, tasks []string
	task            []int
	x               [][]float64
	y               []float64
}

func (m *memory) Features() []string                 { return m.features }
func (m *memory) Tasks() []string                    { return m.tasks }
func (m *memory) Rows() int                          { return len(m.y) }
func (m *memory) Task(row int) int                   { return m.task[row] }
func (m *memory) X(dst []float64, row int) []float64 { copy(dst, m.x[row]); return dst }
func (m *memory) Y(row int) float64                  { return m.y[row] }
func (m *memory) HasTarget() bool                    { return true }

// add appends n rows of a task, with y = x' theta + constant, and noise.
func (m *memory) add(r *rand.Rand, task string, n int, theta []float64, constant, noise float64) {
	m.tasks = append(m.tasks, task)
	for range n {
		x := make([]float64, len(m.features))
		y := constant + noise*r.NormFloat64()
		for j := range x {
			x[j] = float64(j) + 2*r.NormFloat64()
			y += x[j] * theta[j]
		}
		m.task, m.x, m.y = append(m.task, len(m.tasks)-1), append(m.x, x), append(m.y, y)
	}
}

// testParameters are those of 3 nodes with 15 tasks of 4 features and rank 2.
func testParameters(t testing.TB) Parameters {
	t.Helper()
	const d, rank, nodes, tasks = 5, 2, 3, 15
	r := rand.New(rand.NewPCG(5, 6))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	covariance := func(n int) *mat.SymDense {
		var c mat.SymDense
		c.SymOuterK(0.01, mat.NewDense(n, n, normal(n*n)))
		return &c
	}
	p := Parameters{
		Method: "dif", Schema: schema.Schema{Columns: []string{"f0", "f1", "f2", "f3"}}, TaskColumn: "site", TargetColumn: "score",
		Scaling: Scaling{Fill: normal(4), Center: normal(4), Scale: []float64{1, 2, .5, 3}, Target: 7, TargetScale: 4, Constant: true},
		Mean:    normal(d),
		Prior: Prior{
			Rank: rank, Loadings: normal(d * rank), Intercept: 0.7, Spread: 0.2, Slopes: []float64{1, 2, 0.5, 3}, SlopesFreedom: []float64{3, 8, 20, 5}, MeanVariance: 2,
			MeanCovariance: mat.DenseCopyOf(covariance(d)).RawMatrix().Data, Noise: 0.3, Uncertainty: mat.NewSymDense(d*rank+2, nil),
		},
	}
	doubt := covariance(d*rank + 2)
	for i := range d*rank + 2 {
		for j := i; j < d*rank+2; j++ {
			p.Prior.Uncertainty.SetSym(i, j, doubt.At(i, j))
		}
	}
	for g := range nodes {
		p.Nodes = append(p.Nodes, fmt.Sprint("n", g))
	}
	for k := range tasks {
		p.Tasks = append(p.Tasks, fmt.Sprint(k))
		p.NodeOf = append(p.NodeOf, k*nodes/tasks)
		p.Samples = append(p.Samples, 10+k)
		p.Theta = append(p.Theta, normal(d)...)
		c := covariance(d)
		for i := range d {
			for j := i; j < d; j++ {
				p.Covariance = append(p.Covariance, c.At(i, j))
			}
		}
	}
	return p
}

func testModel(t testing.TB) *Model {
	t.Helper()
	m, err := New(testParameters(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newRows(m *Model) *memory { return &memory{features: m.Features()} }

func check(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
			t.Errorf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
