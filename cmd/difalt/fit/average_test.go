package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/model"
)

// lowRank returns a world of few tasks, and its table, whose second direction is doubtful; with a strength of 0 tasks differ by their levels only.
func lowRank(t *testing.T, seed uint64, features int, strength float64) (*world, func(rank int) Config, func(Config) (*model.Model, *Report)) {
	t.Helper()
	w := newWorld(seed, features)
	for _, axis := range w.axes {
		for j := range axis {
			axis[j] *= strength
		}
	}
	tab := assigned(t, w.table(t, "old", 12, 20), 2)
	config := func(rank int) Config {
		c := testConfig(t, 2, rank)
		c.Owners = false
		return c
	}
	return w, config, func(c Config) (*model.Model, *Report) {
		m, r := fit(t, tab, c)
		return m, r
	}
}

// The model of several ranks is the average of those that are fitted with each of them: its weights are the ratios of their evidence, where rank 0 is as probable
// before as the eight others together; and expected targets of known tasks have the mean and the variance of the mixture.
func TestAverageOfRanks(t *testing.T) {
	averaged := 0
	for seed := range uint64(6) {
		w, config, of := lowRank(t, seed, 5, 0.5)
		m, r := of(config(0))
		ranks, weights := m.Ranks()
		if ranks[0] != r.Chosen.Rank || math.Abs(weights[0]-r.Chosen.Weight) > 1e-12 || !slices.IsSortedFunc(weights, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
			t.Errorf("seed %d: ranks %v with weights %v, chosen %+v", seed, ranks, weights, r.Chosen)
		}
		zero, sum := math.Inf(-1), 0.0
		evidence := map[int]float64{}
		for _, k := range r.Tried {
			if k.Rank == 0 {
				zero = max(zero, k.Evidence)
			}
			if sum += k.Weight; k.Weight > 0 {
				evidence[k.Rank] = k.Evidence
			}
		}
		if _, ok := evidence[0]; ok {
			evidence[0] = zero + math.Log(8)
		}
		if math.Abs(sum-1) > 1e-9 || len(evidence) != len(ranks) {
			t.Errorf("seed %d: weights of %v, ranks %v", seed, r.Tried, ranks)
		}
		for k, rank := range ranks {
			if want := weights[0] * math.Exp(evidence[rank]-evidence[ranks[0]]); math.Abs(weights[k]-want) > 1e-9 || want < 0.049*weights[0] {
				t.Errorf("seed %d: rank %d has weight %v, want %v", seed, rank, weights[k], want)
			}
		}
		if len(ranks) == 1 {
			continue
		}
		averaged++
		var alone []*model.Model
		for _, rank := range ranks {
			c := config(rank)
			if rank == 0 {
				c.Rank = -1
			}
			one, r := of(c)
			if list, _ := one.Ranks(); len(list) != 1 || list[0] != rank || r.Chosen.Weight != 1 {
				t.Fatalf("seed %d: ranks %v, want %d alone", seed, list, rank)
			}
			alone = append(alone, one)
		}
		for task, theta := range w.theta {
			x, _ := w.row(theta)
			var mean, square float64
			for k, one := range alone {
				y, e, err := one.PredictError(task, x)
				if err != nil {
					t.Fatal(err)
				}
				mean += weights[k] * y
				square += weights[k] * (y*y + e*e)
			}
			y, e, err := m.PredictError(task, x)
			if want := math.Sqrt(square - mean*mean); err != nil || math.Abs(y-mean) > 0.06 || math.Abs(e-want) > 0.05*want {
				t.Errorf("seed %d, task %s: %.4f +- %.4f, want %.4f +- %.4f; %v", seed, task, y, e, mean, want, err)
			}
		}
	}
	if averaged < 3 {
		t.Errorf("%d of 6 tables have several ranks", averaged)
	}
}

// Between owners a single rank is taken; so it is where the evidence is decisive.
func TestOneRank(t *testing.T) {
	_, config, of := lowRank(t, 1, 5, 0.5)
	c := config(0)
	c.Owners = true
	if m, _ := of(c); len(m.Parameters().Alternatives) > 0 {
		t.Error("owners average")
	}
	w := newWorld(3, 6)
	m, r := fit(t, assigned(t, w.table(t, "old", 150, 30), 2), config(0))
	if p := m.Parameters(); len(p.Alternatives) > 0 || r.Chosen.Rank != 2 || p.Version() != 6 {
		t.Errorf("rank %d with %d others: %+v", r.Chosen.Rank, len(p.Alternatives), r.Tried)
	}
}

// From 12 tasks ranks are not known for sure. Where there are two directions, the average of ranks is nearer to expected targets than the most probable rank alone, and
// intervals of new tasks hold; where there are none, none is taken and nothing is lost.
func TestAveragePays(t *testing.T) {
	inFull(t)
	for _, strength := range []float64{0, 0.5} {
		var squares, alone float64
		var known, fresh rate
		found := 0
		for seed := range uint64(24) {
			w, config, of := lowRank(t, seed, 12, strength)
			m, r := of(config(0))
			c := config(r.Chosen.Rank)
			if r.Chosen.Rank == 0 {
				c.Rank = -1
			} else {
				found++
			}
			one, _ := of(c)
			a, err := m.Adapt(w.table(t, "new", 10, 8))
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range a.Tasks() {
				for range 10 {
					x, want := w.row(w.theta[task])
					y, e, err := a.PredictError(task, x)
					if err != nil {
						t.Fatal(err)
					}
					if task[:3] == "new" {
						fresh.add(math.Abs(y-want) < 1.96*e)
						continue
					}
					known.add(math.Abs(y-want) < 1.96*e)
					single, _ := one.Predict(task, x)
					squares += (y - want) * (y - want)
					alone += (single - want) * (single - want)
				}
			}
		}
		ratio := math.Sqrt(squares / alone)
		t.Logf("strength %v: rank found on %d, error %.4f of that of one rank, intervals of known tasks %.3f, new %.3f", strength, found, ratio, known.share(), fresh.share())
		most := 1.01
		if strength > 0 {
			most = 0.985
		} else if found > 1 {
			t.Errorf("directions on %d tables without any", found)
		}
		if ratio > most || known.share() < 0.93 || known.share() > 0.98 || fresh.share() < 0.93 || fresh.share() > 0.975 {
			t.Errorf("strength %v: error %.4f, intervals %.3f and %.3f", strength, ratio, known.share(), fresh.share())
		}
	}
}
