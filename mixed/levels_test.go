package mixed

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// leveled returns a table of a categorical column with these levels; rows differ by seed.
func leveled(seed uint64, prefix string, levels ...string) Input {
	rng := rand.New(rand.NewPCG(seed, 2))
	d := &Data{Names: []string{"kind", "x"}, Levels: [][]string{levels, nil}}
	for k := range 60 {
		l := k % len(levels)
		check.Done(d.Append(fmt.Sprint(prefix, k%4), float64(len(levels[l]))+rng.NormFloat64()*.1, float64(l),
			rng.NormFloat64()))
	}
	return Input{Table: d}
}

// All nodes have the columns of all levels, under the texts of their own.
func TestLevels(t *testing.T) {
	list := []Input{leveled(1, "a", "x", "yyyy"), leveled(2, "b", "yyyy", "zz"), leveled(3, "c", "x", "wwwwwww")}
	rank := 0
	one, _, err := Together(t.Context(), list, network("path", 3), Options{Rank: &rank, Disclosure: open.Disclosure})
	check.Done(err)
	models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Rank: &rank, Disclosure: open.Disclosure}, nil)
	check.Done(errors.Join(errs...))
	known := one.Parameters().Schema.Categories[0].Levels
	if sorted := slices.Sorted(slices.Values(known)); !slices.Equal(sorted, []string{"wwwwwww", "x", "yyyy", "zz"}) {
		t.Fatalf("levels %q", sorted)
	}
	for i, m := range models {
		own := m.Parameters().Schema.Categories[0].Levels
		for k, text := range own {
			has := slices.Contains(list[i].Table.Features(), "kind="+known[k])
			if has != (text == known[k]) || !has && !strings.Contains(text, "other owners") {
				t.Errorf("process %d: level %q, of all %q", i, text, known[k])
			}
		}
		check.FailIf(t, !slices.Equal(m.Parameters().Mean, one.Parameters().Mean), "process %d has another mean", i)
	}
	for k, text := range known { // the target is the length of the level
		x := make([]float64, len(one.Features()))
		x[k] = 1
		if y, _, err := one.Predict("a0", x); err != nil || math.Abs(y-float64(len(text))) > .5 {
			t.Errorf("level %q: predicts %v, want about %d (%v)", text, y, len(text), err)
		}
	}
}

// Sums about levels count like others, in the report and in the progress: a message each, there and back.
func TestLevelsAreCounted(t *testing.T) {
	list := []Input{leveled(1, "a", "x", "yyyy"), leveled(2, "b", "yyyy", "zz"), leveled(3, "c", "x", "wwwwwww")}
	last := Progress{}
	o := Options{Disclosure: open.Disclosure, Progress: func(p Progress) { last = p }}
	_, r, err := Together(t.Context(), list, network("star", 3), o)
	check.Done(err)
	at := slices.IndexFunc(r.Totals, func(total Total) bool { return total.Name == "levels" })
	if at < 0 || r.Totals[at].Sums < 1 || r.Totals[at].Numbers < 3*leastBuckets || last.Sums != r.Sums() ||
		r.Traffic.Messages != int64(4*r.Sums()) {
		t.Errorf("%d sums, %d at the end, %+v: %+v", r.Sums(), last.Sums, r.Traffic, r.Totals)
	}
}

// Levels that share a bucket with others in one table are apart in another one.
func TestManyLevels(t *testing.T) {
	var lists [][]string
	want := map[string]bool{}
	for g := range 3 {
		var own []string
		for k := range 40 {
			own = append(own, fmt.Sprintf("level %d", 25*g+k))
			want[own[k]] = true
		}
		lists = append(lists, own)
	}
	seats, got := newMeeting(network("path", 3)), make([][]string, 3)
	var wait sync.WaitGroup
	for g, seat := range seats {
		wait.Go(func() { got[g] = check.OK((&rows{sums: seat}).levels(t.Context(), "kind", lists[g])) })
	}
	wait.Wait()
	for _, list := range got {
		check.FailIf(t,
			!slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(maps.Keys(want))) ||
				!slices.Equal(list, got[0]),
			"%d levels %q, want %d", len(list), list, len(want))
	}
}
