package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// No density of rows is higher than that of rows without residuals at the least noise. Sums of squares that
// rounding leaves negative would exceed it, and then rounding would choose the form.
func TestEvidenceOfExactTarget(t *testing.T) {
	most := -math.Log(2*math.Pi*leastNoise) / 2 // of a row
	for _, near := range []float64{0, 1e-6, 1e-3} {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 8))
			table := newTable(t, "price", "discount", "sale", "other", "share")
			for i := range 96 {
				price, discount, other := 2+r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
				sale := price - discount + near*r.NormFloat64()
				share := discount - price/2 + near*r.NormFloat64()
				add(t, table, fmt.Sprint(i%6), sale-other, price, discount, sale, other, share)
			}
			_, report, err := Fit(t.Context(), Input{Table: table, HeldOut: holdOut(table)}, Options{})
			check.Done(err)
			for _, c := range report.Candidates {
				if v := c.Evidence / 72; v > most {
					t.Errorf("columns apart by %v, seed %d, rank %d, curves %v: %v nats a row, at most %v are possible",
						near, seed, c.Rank, c.Curves, v, most)
				}
			}
		}
	}
}
