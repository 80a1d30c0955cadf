package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// products returns [X y]'[X y] of a task, and the number of its rows.
func products(k *kernel.Tasks, task int) (*mat.SymDense, int) {
	d := k.Features()
	p, row := mat.NewSymDense(d+1, nil), make([]float64, d+1)
	for i, y := range k.Y(task) {
		k.Row(row[:d], task, i)
		row[d] = y
		p.SymRankOne(p, 1, mat.NewVecDense(d+1, row))
	}
	return p, k.Samples(task)
}

// TestFreedom: a task without its mean has one row less, and the products of its centred rows, with weights
// too, whatever its offset. Their rank is at most the number of rows that are left, not a matter of rounding.
func TestFreedom(t *testing.T) {
	const d = 3
	for _, offset := range []float64{0, 1, 1e2, 1e6} {
		rng := rand.New(rand.NewPCG(21, 22))
		samples := []int{0, 1, 2, 3, 4, 20}
		b, rows := kernel.NewBuilder(d, samples, kernel.Float64), make([][][]float64, len(samples))
		want := make([]*mat.SymDense, len(samples))
		for task, n := range samples {
			mean, total := make([]float64, d+1), 0.0
			var weights []float64
			for i := range n {
				row, weight := make([]float64, d+1), math.Exp(rng.NormFloat64())
				for j := range row {
					row[j] = math.Round(1024*rng.NormFloat64()) / 1024 // exact with the offset
					mean[j] += weight * row[j]
				}
				total += weight
				weights, rows[task] = append(weights, weight), append(rows[task], row)
				x := []float64{row[0] + offset, row[1] - offset, row[2] + offset}
				b.SetWeightedRow(task, i, x, row[d]+offset, weight)
			}
			want[task] = mat.NewSymDense(d+1, nil)
			for i, row := range rows[task] {
				for j := range row {
					row[j] -= mean[j] / total
				}
				want[task].SymRankOne(want[task], weights[i], mat.NewVecDense(d+1, row))
			}
		}
		k := b.Tasks()
		centred, _, _ := Center(k)
		for task, n := range samples {
			got, left := products(centred, task)
			if left != max(n-1, 0) {
				t.Errorf("%d rows become %d", n, left)
			}
			var difference mat.Dense
			difference.Sub(got, want[task])
			if e := mat.Norm(&difference, 2); !(e <= 1e-14*(1+offset)*(1+mat.Norm(want[task], 2))) {
				t.Errorf("offset %g, %d rows: products are off by %g", offset, n, e)
			}
		}
		one, _, err := StandardizeOne(k)
		if err != nil || one.TotalSamples() != 25 {
			t.Errorf("StandardizeOne: %v", err)
		}
		all, _, err := Standardize(t.Context(), together(1), []*kernel.Tasks{k})
		if err != nil || all[0].TotalSamples() != 25 {
			t.Errorf("Standardize: %v", err)
		}
	}
	if _, _, err := StandardizeOne(kernel.NewBuilder(d, []int{1, 1}, kernel.Float64).Tasks()); err == nil {
		t.Error("tasks of one sample have a standard form")
	}
}
