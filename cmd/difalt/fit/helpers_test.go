package fit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// A drawing is how a table is drawn: y = level_t + x'(mean + slopes_t + U b_t) + noise.
type drawing struct {
	tasks, rows, features int
	mean                  []float64
	levels, slopes        float64 // standard deviations over tasks
	rank                  int
	length                float64 // of the directions
	noise                 float64
	curve                 func(x float64) float64 // of the first feature; nil for none
	uneven                float64                 // factor of the noise of every other task; 0 for none
	loud                  float64                 // factor of the noise of the first task; 0 for none
}

func (d drawing) table(t *testing.T, seed uint64) *dataset.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	names := make([]string, d.features)
	for j := range names {
		names[j] = fmt.Sprintf("x%d", j)
	}
	table, err := dataset.NewTable(names, true)
	if err != nil {
		t.Fatal(err)
	}
	for k := range d.tasks {
		slopes, level := make([]float64, d.features), d.levels*r.NormFloat64()
		scores := make([]float64, d.rank)
		for a := range scores {
			scores[a] = d.length * r.NormFloat64()
		}
		for j := range slopes {
			slopes[j] = d.slopes * r.NormFloat64()
			if d.mean != nil {
				slopes[j] += d.mean[j]
			}
			if d.rank > 0 && j/2 < d.rank { // direction a is that of the features 2a and 2a + 1
				slopes[j] += scores[j/2]
			}
		}
		noise := d.noise
		if d.uneven > 0 && k%2 == 0 {
			noise *= d.uneven
		}
		if d.loud > 0 && k == 0 {
			noise *= d.loud
		}
		for range d.rows {
			x, y := make([]float64, d.features), level+3
			for j := range x {
				x[j] = r.NormFloat64()
				y += x[j] * slopes[j]
			}
			if d.curve != nil {
				y += d.curve(x[0])
			}
			if err := table.Append(fmt.Sprintf("t%02d", k), x, y+noise*r.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return table
}

// holdOut marks every fourth row as held out.
func holdOut(t *dataset.Table) []bool {
	train := make([]bool, t.Rows())
	for i := range train {
		train[i] = i%4 != 3
	}
	return train
}

// statsOf returns the stats of a table under the design with or without curves.
func statsOf(t *testing.T, table *dataset.Table, curves bool, workers int) *stats {
	t.Helper()
	r := newRows(table, &Config{})
	r.target = r.newTarget("", false)
	r.describe()
	d, _ := r.newDesign(curves)
	s, err := newStats(context.Background(), r, &d, workers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
