package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
)

// Where coefficients outnumber tasks by far, and tasks differ by nothing but their level, no rank is found in their noise: neither with numbers
// nor with the levels of a category as features.
func TestNoRankInNoise(t *testing.T) {
	inFull(t)
	seeds := uint64(1)
	if longtest.Enabled() {
		seeds = 10
	}
	for _, levels := range []bool{false, true} {
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed+1, 31))
			const features = 100
			tab := emptyTable(t, features)
			for task := range 8 {
				level := rng.NormFloat64()
				for range 120 {
					x := make([]float64, features)
					if levels {
						x[rng.IntN(features)] = 1
					} else {
						for j := range x {
							x[j] = rng.NormFloat64()
						}
					}
					if err := tab.Append(fmt.Sprint(task), "", x, level+rng.NormFloat64()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tab.AssignBlocks(1); err != nil {
				t.Fatal(err)
			}
			c := testConfig(t, 1, 0)
			c.Starts = 1
			if _, r := fit(t, tab, c); r.Chosen.Rank > 0 {
				t.Errorf("levels %v, seed %d: rank %d of evidence %v", levels, seed, r.Chosen.Rank, r.Chosen.Evidence)
			}
		}
	}
}

// Neither heavy tails of noise and features nor noise of the tasks' own make a direction where tasks differ by their level alone, by the threshold of a
// single owner.
func TestNoRankInTails(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 37))
		student := func() float64 { // of 3 degrees of freedom
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			return rng.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
		}
		const features = 5
		tab := emptyTable(t, features)
		for task := range 30 {
			level, noise := 1.5*rng.NormFloat64(), 1.0
			if seed%2 == 0 {
				noise = math.Exp(0.6 * rng.NormFloat64())
			}
			for range 10 {
				x, y := make([]float64, features), level+noise*student()
				for j := range x {
					x[j] = student()
					y += 0.4 * x[j]
				}
				if err := tab.Append(fmt.Sprint(task), "", x, y); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := testConfig(t, 2, 0)
		c.Owners = false
		if _, r := fit(t, assigned(t, tab, 2), c); r.Chosen.Rank > 0 {
			t.Errorf("seed %d: rank %d of evidence %v", seed, r.Chosen.Rank, r.Chosen.Evidence)
		}
	}
}

// Tasks of one row have a representation, by the evidence, of which no run of the algorithm says anything: it is not run, unless all of its
// iterations are asked for, and with three rows it is.
func TestNoRunWithoutResiduals(t *testing.T) {
	for _, c := range []struct {
		rows  int
		every bool
	}{{1, false}, {1, true}, {3, false}} {
		k := newTruth(2, 4, 0.3)
		o := testConfig(t, 2, 1)
		o.Owners, o.Options.EveryIteration, o.Options.Iterations = false, c.every, 3
		_, r := fit(t, k.table(t, 600, c.rows, c.rows, 2), o)
		note := strings.Contains(strings.Join(r.Notes, "\n"), "the algorithm was not run")
		if want := c.rows > 1 || c.every; r.Chosen.Rank != 1 || (r.Result != nil) != want || note == want {
			t.Errorf("%+v: rank %d, result %v, notes %q", c, r.Chosen.Rank, r.Result != nil, r.Notes)
		}
	}
}

// Of ranks below the chosen one, none is said to be better: where that was expected before larger ranks were evaluated, it is expected anew.
func TestRanksAreExpectedAnew(t *testing.T) {
	const tasks, features = 2000, 8 // of one row
	for _, seed := range []uint64{0, 2} {
		rng, tab, axes := rand.New(rand.NewPCG(seed, 3)), emptyTable(t, features), [2][features]float64{}
		for a := range axes {
			for j := range axes[a] {
				axes[a][j] = 0.5 * rng.NormFloat64()
			}
		}
		for i := range tasks {
			level, c := rng.NormFloat64(), [2]float64{rng.NormFloat64(), rng.NormFloat64()}
			x, y := make([]float64, features), level+0.7*rng.NormFloat64()
			for j := range x {
				x[j] = rng.NormFloat64()
				y += x[j] * (c[0]*axes[0][j] + c[1]*axes[1][j])
			}
			if err := tab.Append(fmt.Sprint(i), "", x, y); err != nil {
				t.Fatal(err)
			}
		}
		_, r := fit(t, assigned(t, tab, 2), testConfig(t, 2, 0))
		for i, k := range r.Tried {
			if k.Rank < r.Chosen.Rank && k.Evidence > r.Chosen.Evidence || i > 0 && k.Rank < r.Tried[i-1].Rank {
				t.Errorf("seed %d: rank %d has %v, expected %v; chosen is %d of %v", seed, k.Rank, k.Evidence, k.Expected, r.Chosen.Rank, r.Chosen.Evidence)
			}
		}
	}
}
