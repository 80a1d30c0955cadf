package fit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNoiseByTask(t *testing.T) {
	even := drawing{tasks: 30, rows: 20, features: 3, levels: 1, noise: 1}
	uneven := even
	uneven.uneven = 4
	for name, c := range map[string]struct {
		d            drawing
		common, want bool
	}{"even": {even, false, false}, "uneven": {uneven, false, true}, "uneven, common noise": {uneven, true, false}} {
		t.Run(name, func(t *testing.T) {
			m, _ := fitted(t, c.d.table(t, 7), Config{CommonNoise: c.common})
			p := m.Parameters()
			if got := p.Tasks.Noise != nil; got != c.want {
				t.Fatalf("noise by task: %v, want %v", got, c.want)
			}
			for k, v := range p.Tasks.Noise {
				want := []float64{4, 1}[k%2]
				if sd := math.Sqrt(v) * p.Target.Scale; sd < want/1.8 || sd > want*1.8 {
					t.Errorf("task %d: noise %v, want about %v", k, sd, want)
				}
			}
		})
	}
}

// A direction that stands for the noise of one task goes where noise by task explains it better.
func TestLoudTaskIsNoDirection(t *testing.T) {
	table := drawing{tasks: 60, rows: 24, features: 12, rank: 2, length: 1, noise: 1, loud: 5}.table(t, 1)
	_, r := fitted(t, table, Config{Train: holdOut(table)})
	more := false // evidence of rank 3 with equal noise
	for _, c := range r.Candidates {
		more = more || c.Rank == 3 && c.Penalised > chosenOf(r).Penalised
	}
	notes := strings.Join(r.Notes, "\n")
	if chosen := chosenOf(r); chosen.Rank != 2 || !more || !strings.Contains(notes, "With equal noise rank 3 would have more evidence") {
		t.Errorf("chosen %+v of %+v with the notes %s", chosen, r.Candidates, notes)
	}
}

// The degrees of freedom and the scale of drawn variances come back.
func TestFitNoiseRecoversTheDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	chi := func(df int) (sum float64) {
		for range df {
			x := r.NormFloat64()
			sum += x * x
		}
		return sum
	}
	differ, alike := make([]scatter, 4000), make([]scatter, 4000)
	for k := range differ {
		differ[k], alike[k] = scatter{8 * 2.5 / chi(8) * chi(12), 12}, scatter{2.5 * chi(12), 12}
	}
	usual, freedom, gain := fitNoise(differ)
	if math.Abs(usual/2.5-1) > 0.05 || freedom < 6.5 || freedom > 10 || gain < 100 {
		t.Errorf("scale %v, %v degrees of freedom, gain %v: want 2.5, 8 and much", usual, freedom, gain)
	}
	if _, freedom, gain := fitNoise(alike); freedom < 300 || gain > 3 {
		t.Errorf("equal variances have %v degrees of freedom with gain %v", freedom, gain)
	}
}
