package mixed_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/mixed"
)

// TestSameBitsOnProcessors: models of fixed tables have the hashes of testdata/bits.txt on every processor
// with FMA, but for the instruction sets that a line names.
func TestSameBitsOnProcessors(t *testing.T) {
	tiertest.Hashes(t, "testdata/bits.txt", func() map[string]string {
		all := map[string]string{}
		for name, of := range map[string][3]int{"few columns": {12, 20, 3}, "many columns": {20, 30, 12}, "small tasks": {60, 4, 5}} {
			rng := rand.New(rand.NewPCG(81, 82))
			number := func() float64 { return 2*rng.Float64() - 1 }
			table := &mixed.Data{}
			for j := range of[2] {
				table.Names = append(table.Names, fmt.Sprint("column ", j))
			}
			for task := range of[0] {
				level, slope := number(), 1+number()
				for range of[1] {
					row := make([]float64, of[2])
					for j := range row {
						row[j] = number()
					}
					target := level + float64(slope*row[0]) + float64(.3*number())
					if err := table.Append(fmt.Sprint("task ", task), target, row...); err != nil {
						t.Fatal(err)
					}
				}
			}
			model, _, err := mixed.Fit(t.Context(), mixed.Input{Table: table}, mixed.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := model.Save(&file); err != nil {
				t.Fatal(err)
			}
			h := fnv.New64a()
			h.Write(file.Bytes())
			all[name] = fmt.Sprintf("%016x", h.Sum64())
		}
		return all
	})
}
