package features

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// together adds rows of the nodes of one process.
type together int

func (n together) Hosted() (list []int) {
	for i := range int(n) {
		list = append(list, i)
	}
	return list
}

func (together) Sum(_ context.Context, rows [][]float64) error {
	for _, row := range rows[1:] {
		floats.Add(rows[0], row)
	}
	for _, row := range rows[1:] {
		copy(row, rows[0])
	}
	return nil
}

// Deviations are the pooled standard deviations within tasks: the root of the sum of (n_t - 1) times the
// variance of task t over the sum of n_t - 1. Tasks of one sample, or of none, tell nothing. In standard form
// every feature has the deviation 1.
func TestStandardize(t *testing.T) {
	const d = 3
	rng := rand.New(rand.NewPCG(3, 4))
	var nodes []*kernel.Tasks
	var squares [d]float64
	freedom := 0.0
	for _, rows := range [][]int{{2, 7, 1, 0}, {40}, {3, 3, 0, 5, 1}} {
		b := kernel.NewBuilder(d, rows, kernel.Float64)
		for task, n := range rows {
			columns := make([][]float64, d)
			for i := range n {
				x := make([]float64, d)
				for j := range x {
					x[j] = math.Pow(1000, float64(j-1)) * (5*float64(task) + rng.NormFloat64())
					columns[j] = append(columns[j], x[j])
				}
				b.SetRow(task, i, x, rng.NormFloat64())
			}
			if n > 1 {
				freedom += float64(n - 1)
				for j, v := range columns {
					squares[j] += float64(n-1) * stat.Variance(v, nil)
				}
			}
		}
		nodes = append(nodes, b.Tasks())
	}
	standard, s, err := Standardize(t.Context(), together(len(nodes)), nodes)
	if err != nil {
		t.Fatal(err)
	}
	for j, got := range s.Deviations {
		if want := math.Sqrt(squares[j] / freedom); math.Abs(got-want) > 1e-12*want {
			t.Errorf("feature %d: deviation %v, want %v", j, got, want)
		}
	}
	var again [d]float64
	row := make([]float64, d)
	for _, k := range standard {
		for task := range k.Len() {
			for i := range k.Samples(task) {
				for j, v := range k.Row(row, task, i) {
					again[j] += v * v
				}
			}
		}
	}
	for j, v := range again {
		if math.Abs(v/freedom-1) > 1e-12 {
			t.Errorf("feature %d has the variance %v in standard form", j, v/freedom)
		}
	}
}
