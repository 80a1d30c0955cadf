package mixed

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A chosen lie alters the totals whose name begins so, of the honest value v, each time.
type chosenLie struct {
	what, name string
	alter      func(v []float64)
}

// at sets one number, counted from the end where k is negative.
func at(k int, f func(v float64) float64) func(v []float64) {
	return func(v []float64) {
		if k < 0 {
			k += len(v)
		}
		if k >= 0 && k < len(v) {
			v[k] = f(v[k])
		}
	}
}

// each applies f to every number.
func each(f func(v float64) float64) func(v []float64) {
	return func(v []float64) {
		for k := range v {
			v[k] = f(v[k])
		}
	}
}

func to(x float64) func(float64) float64   { return func(float64) float64 { return x } }
func plus(x float64) func(float64) float64 { return func(v float64) float64 { return v + x } }
func minus(v float64) float64              { return -v }

// chosenLies are those that ended nodes with errors of their own, with traces or never, and their kin: for
// every total what it cannot be, and what it can be but should not.
var chosenLies = []chosenLie{
	{"fewer tasks than none", "tasks", at(0, plus(-1e4))},
	{"no tasks", "tasks", at(0, to(0))},
	{"half a task", "tasks", at(0, plus(.5))},
	{"tasks without end", "tasks", at(0, to(1e18))},
	{"two tasks", "tasks", at(0, plus(-17))},
	{"fewer rows than tasks", "tasks", at(1, to(3))},
	{"rows without end", "tasks", at(1, to(1e18))},
	{"a million rows more", "tasks", at(1, plus(1e6))},
	{"an owner of few rows less", "tasks", at(2, plus(-1))},
	{"positive targets", "tasks", at(3, to(0))},
	{"sizes of more owners than there are", "tasks", at(9, plus(5))},
	{"no sizes", "tasks", func(v []float64) { clear(v[4:]) }},
	{"huge sizes", "tasks", at(-2, to(1))},
	{"negative values of a column", "values", at(3, plus(-1e6))},
	{"more values than rows", "values", at(6, plus(1e6))},
	{"no weights", "values", at(7, to(0))},
	{"a mean far out", "values", at(8, to(1e12))},
	{"no weight at all", "values", at(-3, to(0))},
	{"no distances", "distances", each(to(0))},
	{"huge distances", "distances", each(to(1e17))},
	{"no squares", "squares of", each(to(0))},
	{"huge squares", "squares of", each(to(1e17))},
	{"less than own rows below", "rows below", each(plus(-1e7))},
	{"all rows below", "rows below", each(plus(1e7))},
	{"no order of places", "rows below", func(v []float64) { v[0], v[1] = v[1]+1, v[0] }},
	{"products of splines of nothing", "products of splines", each(to(0))},
	{"products of splines negated", "products of splines", each(minus)},
	{"huge products of splines", "products of splines", each(to(1e17))},
	{"X'X negated", "X'X", each(minus)},
	{"X'X of nothing", "X'X", each(to(0))},
	{"X'X huge", "X'X", each(to(1e17))},
	{"information negated", "X'V^-1 X", each(minus)},
	{"information of nothing", "X'V^-1 X", each(to(0))},
	{"information huge", "X'V^-1 X", each(to(1e17))},
	{"scores negated", "scores", each(minus)},
	{"scores huge", "scores", each(to(1e17))},
	{"slopes negated", "slopes", each(minus)},
	{"residuals of nothing", "residuals", each(to(0))},
	{"likelihoods huge", "likelihoods", at(3, to(1e17))},
	{"derivatives of nothing", "derivatives", each(to(0))},
	{"squared residuals negated", "squared residuals", each(minus)},
	{"errors negated", "errors", each(minus)},
	{"errors huge", "errors", each(to(1e17))},
	{"a flag of an error in every total", "", at(-1, to(1))},
	{"flags that cannot be", "", at(-1, to(-.5))},
	{"agreed: zeros", "agree", each(to(0))},
	{"agreed: ones", "agree", each(to(1))},
	{"agreed: the largest numbers", "agree", each(to(math.MaxFloat64))},
	{"agreed: the smallest numbers", "agree", each(to(5e-324))},
	{"agreed: negated", "agree", each(minus)},
	{"agreed: no end", "agree", at(0, to(0))},
	{"a level in every bucket", "levels", func(v []float64) {
		for b := 0; b+2 < len(v); b += 3 {
			d := float64(b%fingerprints + 1)
			v[b], v[b+1], v[b+2] = v[b]+1, v[b+1]+d, v[b+2]+d*d
		}
	}},
	{"120 levels", "levels", func(v []float64) {
		for k := range 120 {
			if b := 3 * (k * 7919 % (len(v) / 3)); v[b] == 0 {
				v[b], v[b+1], v[b+2] = 1, 5, 25
			}
		}
	}},
	{"300 levels", "levels", func(v []float64) {
		for k := range 300 {
			if b := 3 * (k * 7919 % (len(v) / 3)); v[b] == 0 {
				v[b], v[b+1], v[b+2] = 1, float64(k), float64(k*k)
			}
		}
	}},
	{"different fingerprints in all buckets", "levels", func(v []float64) {
		r := rand.New(rand.NewPCG(1, uint64(len(v))))
		for b := 0; b+2 < len(v); b += 3 {
			d := float64(r.IntN(fingerprints))
			v[b], v[b+1], v[b+2] = v[b]+2, v[b+1]+d, v[b+2]+d*d
		}
	}},
	{"one clash in every table", "levels", at(1, plus(1))},
	{"no levels", "levels", each(to(0))},
	{"negative levels", "levels", at(0, plus(-3))},
	{"half a level", "levels", at(0, plus(.5))},
}

// The lies that were chosen, by a leaf and by the root, on tables of numbers and of levels, with ranks by
// evidence and given; with -short each lie in two of these ways.
func TestChosenLies(t *testing.T) {
	two, way := 2, 0
	tables := victims(t)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		list := tables[name]
		for who := range 2 {
			for _, o := range []Options{
				{Workers: 1, Disclosure: Disclosure{LeastSmall: Off}},
				{Workers: 1, Rank: &two, Disclosure: open.Disclosure},
			} {
				t.Run(fmt.Sprintf("%s, node %d, rank given %v", name, who, o.Rank != nil), func(t *testing.T) {
					if o.Rank != nil && who == 1 {
						return // as by the leaf
					}
					way++
					var calls []call
					honest := peak(func() { _, calls = trainWithLiar(t, list, o, who, nil) })
					for k, c := range chosenLies {
						if testing.Short() && (k+way)%3 > 0 {
							continue
						}
						lied := false
						lie := func(at int, own *call) {
							if strings.HasPrefix(own.name, c.name) {
								lied = true
								alter(own, at, calls, c.alter)
							}
						}
						var ends []end
						most := peak(func() { ends, _ = trainWithLiar(t, list, o, who, lie) })
						if most > memoryFor(honest, c.name == "levels") {
							t.Errorf("%s: %d MB, honest %d", c.what, most>>20, honest>>20)
						}
						for i, e := range ends {
							if wrong := judged(e, who); i != who && lied && wrong != "" {
								t.Errorf("%s: node %d: %.1200s", c.what, i, wrong)
							}
						}
					}
				})
			}
		}
	}
}
