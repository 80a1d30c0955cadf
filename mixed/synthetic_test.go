package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/mat"
)

// synthetic returns parameters with drawn numbers: two numeric features, the first of them with a
// curve, a category of three levels, a feature that was constant, rank 2 and four tasks.
func synthetic() Parameters {
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int, scale float64) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = scale * rng.NormFloat64()
		}
		return list
	}
	const f, w, t = 6, 9, 4
	p := Parameters{
		Estimator: "evidence",
		Schema: Schema{
			Columns:    []string{"age", "dose", "site", "same"},
			Categories: []Category{{Column: "site", Levels: []string{"a", "b", "c"}}},
		},
		Design: Design{
			Fill:   []float64{40, 2, 0, 0, 0, 7},
			Center: []float64{41, 2.5, .5, .3, .2, 7},
			Scale:  []float64{9, .5, .5, .45, .4, 0},
			Curves: []Curve{newCurve(0, []float64{20, 35, 50, 80}, []float64{1, -2, .5, 3, 0, 1, 0, -1})},
		},
		Target: Target{Column: "score", Center: 10, Scale: 3},
		Mean:   normal(w, 1), MeanCovariance: packedPositive(rng, w, .1),
		Prior: Prior{Deviations: make([]float64, w), Rank: 2, Loadings: normal(2*w, .5), Noise: Noise{Variance: .3}},
		Tasks: Tasks{Column: "clinic", Names: []string{"n", "s", "e", "w"}, Samples: []int{5, 6, 7, 8},
			Theta: normal(t*w, 1)},
	}
	for j := range p.Prior.Deviations {
		p.Prior.Deviations[j] = .2 * float64(j%3)
	}
	for range t {
		p.Tasks.Covariances = append(p.Tasks.Covariances, Covariance{Packed: packedPositive(rng, w, .2)})
	}
	return p
}

// byTask gives the tasks of synthetic parameters noise of their own.
func byTask(p *Parameters) {
	p.Prior.Noise.TaskFreedom = 5
	p.Tasks.Noise, p.Tasks.Freedom = []float64{.1, .2, .3, .4}, []float64{10, 10, 10, 10}
}

// packedPositive returns a drawn positive definite matrix of order n.
func packedPositive(rng *rand.Rand, n int, scale float64) []float64 {
	a := mat.NewDense(n, n+2, nil)
	a.Apply(func(int, int, float64) float64 { return scale * rng.NormFloat64() }, a)
	var c mat.Dense
	c.Mul(a, a.T())
	return pack(&c)
}

func pack(c *mat.Dense) []float64 { return dense.Pack(nil, c.RawMatrix().Rows, c.RawMatrix().Data) }

func unpack(packed []float64, n int) *mat.SymDense {
	c := mat.NewSymDense(n, nil)
	dense.Unpack(c.RawSymmetric().Data, n, packed)
	return c
}

// spread returns diag(Deviations)^2 + Loadings Loadings' as a matrix.
func spread(p *Prior) *mat.Dense {
	w := len(p.Deviations)
	c := mat.NewDense(w, w, nil)
	if p.Rank > 0 {
		l := mat.NewDense(p.Rank, w, slices.Clone(p.Loadings))
		c.Mul(l.T(), l)
	}
	for i, d := range p.Deviations {
		c.Set(i, i, c.At(i, i)+d*d)
	}
	return c
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	check.FailIf(t, !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))), "%s is %v, want %v", name, got, want)
}

// A list is a Table of its rows.
type list struct {
	features, tasks []string
	task            []int
	x               [][]float64
	y, weights      []float64
}

func (l *list) Features() []string                 { return l.features }
func (l *list) Tasks() []string                    { return l.tasks }
func (l *list) Rows() int                          { return len(l.task) }
func (l *list) Task(row int) int                   { return l.task[row] }
func (l *list) X(dst []float64, row int) []float64 { copy(dst, l.x[row]); return dst }
func (l *list) HasTarget() bool                    { return l.y != nil }
func (l *list) Y(row int) float64                  { return l.y[row] }
func (l *list) Weights() []float64                 { return l.weights }
func (l *list) Schema() *Schema                    { return &Schema{Columns: l.features} }

// drawRows draws a table of n rows for every task.
func drawRows(m *Model, n int, tasks ...string) *list {
	rng := rand.New(rand.NewPCG(3, 4))
	l := &list{features: m.Features(), tasks: tasks}
	for i := range n * len(tasks) {
		x := []float64{20 + 60*rng.Float64(), 1 + 3*rng.Float64(), 0, 0, 0, 7}
		x[2+i%3] = 1
		l.task, l.x, l.y = append(l.task, i%len(tasks)), append(l.x, x), append(l.y, 10+3*rng.NormFloat64())
	}
	return l
}
