package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// pupils draws tasks whose rows are of kinds: columns that do not change within a task, and groups of columns of which one is 1 in every row.
func pupils(t *testing.T, seed uint64, tasks int) *dataset.Table {
	t.Helper()
	const features, kinds, origins = 24, 3, 11
	rng, tab := rand.New(rand.NewPCG(seed, 31)), emptyTable(t, features)
	for task := range tasks {
		kind, level, share := rng.IntN(kinds), rng.NormFloat64(), rng.Float64()
		for range 20 + rng.IntN(60) {
			x := make([]float64, features)
			x[kind] = 1
			x[kinds] = share
			origin := int(origins * math.Pow(rng.Float64(), 4)) // the last are rare
			x[kinds+1+origin] = 1
			x[kinds+1+origins+rng.IntN(3)] = 1
			y := level + share + float64(kind) + rng.NormFloat64()
			for j := kinds + 1 + origins + 3; j < features; j++ {
				x[j] = rng.NormFloat64()
				y += 0.2 * x[j]
			}
			if err := tab.Append(fmt.Sprint(task), "", x, y); err != nil {
				t.Fatal(err)
			}
		}
	}
	return assigned(t, tab, 3)
}

// Columns that do not change within a task, and those that add up to one, leave directions of which rows say nothing: there the
// dither is all that owners hear, and no variance may follow it.
func TestOwnersWithColumnsOfATask(t *testing.T) {
	for seed := range uint64(2) {
		tab, c := pupils(t, seed, 90), testConfig(t, 3, 0)
		_, r := fit(t, tab, c)
		c.Network, c.Owners = testConfig(t, 3, 0).Network, false
		_, one := fit(t, tab, c)
		if got, want := r.Scores[0].Train.RMSE, one.Scores[0].Train.RMSE; got > 1.02*want || got < 0.98*want {
			t.Errorf("seed %d: RMSE %.4f, of one owner %.4f", seed, got, want)
		}
	}
}

// Owners find the rank by which rows were drawn with the few evaluations that they have: where tasks are short and of noise of their
// own, most of these would go to rank 0, whose evidence is far below.
func TestOwnersFindTheRank(t *testing.T) {
	for seed := range uint64(4) {
		k := newTruth(seed, 12, 1)
		tab := emptyTable(t, len(k.mean))
		for task := range 60 {
			k.noise = 2 * math.Exp(0.7*k.rng.NormFloat64())
			k.add(t, tab, fmt.Sprint(task), 11)
		}
		tab = assigned(t, tab, 3)
		_, r := fit(t, tab, testConfig(t, 3, 0))
		if told := r.Disclosure(); r.Chosen.Rank != 2 || told.Evaluations > 20 {
			t.Errorf("seed %d: rank %d after %d evaluations, want 2", seed, r.Chosen.Rank, told.Evaluations)
		}
	}
}

// Where tasks differ by their levels and their noise, a rank must not be compared with rank 0 before that has come to its top with the weights of rows.
func TestOwnersFindNoRank(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		k := newTruth(seed, 6, 1)
		clear(k.v)
		tab := emptyTable(t, len(k.mean))
		for task := range 60 {
			k.noise = 2 * math.Exp(k.rng.NormFloat64())
			k.add(t, tab, fmt.Sprint(task), 10)
		}
		_, r := fit(t, assigned(t, tab, 3), testConfig(t, 3, 0))
		if r.Chosen.Rank != 0 || !r.Converged {
			t.Logf("seed %d: rank %d, converged %v", seed, r.Chosen.Rank, r.Converged)
			found++
		}
	}
	if found > 2 { // of 300 tables some 6
		t.Errorf("%d of 20 times", found)
	}
}
