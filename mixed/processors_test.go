package mixed_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/mixed"
)

// TestSameBitsOnProcessors: models of fixed tables, intervals of predictions, spans of noise and outliers
// have the hashes of testdata/bits.txt on every processor with FMA, but for the instruction sets that a line
// names.
func TestSameBitsOnProcessors(t *testing.T) {
	tiertest.Hashes(t, "testdata/bits.txt", func() map[string]string {
		all := map[string]string{}
		for name, of := range map[string][3]int{
			"few columns":  {12, 20, 3},
			"many columns": {20, 30, 12},
			"small tasks":  {60, 4, 5},
		} {
			model, _ := fitDrawn(t, of, mixed.Options{})
			var file bytes.Buffer
			if err := model.Save(&file); err != nil {
				t.Fatal(err)
			}
			h := fnv.New64a()
			h.Write(file.Bytes())
			all[name] = fmt.Sprintf("%016x", h.Sum64())
		}
		model, report := fitDrawn(t, [3]int{30, 25, 2}, mixed.Options{LogTarget: true})
		noise := model.Parameters().Prior.Noise
		if noise.TaskFreedom == 0 || len(report.Outliers) == 0 {
			t.Fatalf("the noise is %+v, and there are %d outliers", noise, len(report.Outliers))
		}
		low, high := noise.Span()
		numbers := []float64{low, high}
		for _, o := range report.Outliers {
			numbers = append(numbers, float64(o.Row), o.Deviations)
		}
		for k := range 50 {
			p, err := model.PredictError(fmt.Sprint("task ", k), []float64{float64(k) / 30, -.4})
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, p.Value, p.StandardError, p.SampleError, p.Low, p.High)
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%x", numbers)
		all["intervals of logarithms, outliers"] = fmt.Sprintf("%016x", h.Sum64())
		return all
	})
}

// fitDrawn fits a drawn table of as many tasks, rows a task, and columns. With a logarithm of the target the
// noise differs between tasks, and two targets are wrong.
func fitDrawn(t *testing.T, of [3]int, o mixed.Options) (*mixed.Model, *mixed.Report) {
	rng := rand.New(rand.NewPCG(81, 82))
	number := func() float64 { return 2*rng.Float64() - 1 }
	table := &mixed.Data{}
	for j := range of[2] {
		table.Names = append(table.Names, fmt.Sprint("column ", j))
	}
	for task := range of[0] {
		level, slope, noise := number(), 1+number(), .3
		if o.LogTarget {
			noise = float64(noise * rounded.Exp(number()))
		}
		for i := range of[1] {
			row := make([]float64, of[2])
			for j := range row {
				row[j] = number()
			}
			target := level + float64(slope*row[0]) + float64(noise*number())
			if o.LogTarget {
				if i == 3 && task < 2 {
					target += 7
				}
				target = rounded.Exp(target)
			}
			if err := table.Append(fmt.Sprint("task ", task), target, row...); err != nil {
				t.Fatal(err)
			}
		}
	}
	model, report, err := mixed.Fit(t.Context(), mixed.Input{Table: table}, o)
	if err != nil {
		t.Fatal(err)
	}
	return model, report
}
