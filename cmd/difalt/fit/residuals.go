package fit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
)

const (
	// By how many standard errors residuals have to go with a square or a product to be said, and of how many tasks at least: of
	// fewer the errors are not known.
	saidErrors, fewestSaying = 4, 20
	// Squares and products are looked at of so many features, which count as at most so many deviations from their means, and so many are named.
	mostLookedAt, farthestLookedAt, mostSaid = 20, 3, 3
)

// missed says which effects the model does not have, by sums over tasks of residuals times squares and products of features: "" if residuals
// go with none of them.
func (d *design) missed(ctx context.Context, theta thetas) (string, error) {
	features := d.numbers()
	if len(features) == 0 || len(features) > mostLookedAt || d.directions != nil || d.equalTarget {
		return "", nil
	}
	l := newEffectSums(len(features))
	sum, err := d.Sum(ctx, d.effectSums(ctx, l, features, theta))
	if err != nil || l.tasks.First(sum) < fewestSaying {
		return "", err
	}
	return d.missedWords(features, l.sums.Of(sum), l.squares.Of(sum)), nil
}

// effectSums are sums over tasks: of residuals times squares and products of features, and of the squares of what a task adds to these.
type effectSums struct {
	nodes.Layout
	sums, squares, tasks nodes.Span
}

func newEffectSums(features int) (l effectSums) {
	n := features * (features + 1) / 2
	l.sums, l.squares, l.tasks = l.Span(n), l.Span(n), l.Span(1)
	return l
}

// effectSums returns those of every hosted node, between owners with a dither of a tenth of what tasks differ by.
func (d *design) effectSums(ctx context.Context, l effectSums, features []int, theta thetas) [][]float64 {
	inputs, z, done := d.featureOf(), d.Zeros(l.Len), 0
	n := len(l.sums.Of(z[0]))
	row, values := make([]float64, d.width()), make([]float64, len(features))
	for g, list := range d.layout {
		fourths := make([]float64, n)
		for _, k := range list {
			d.show("residuals", done, len(d.t.Tasks()))
			done++
			if ctx.Err() != nil { // the sum says who leaves
				break
			}
			own := make([]float64, n)
			d.eachTraining([]int{k}, func(i int) {
				e := d.weightOf(i) * (d.row(row, i) - floats.Dot(row, theta.of(k)))
				for a, j := range features {
					values[a] = math.Min(math.Max(row[slices.Index(inputs, j)], -farthestLookedAt), farthestLookedAt)
				}
				rest := own
				for a, v := range values {
					floats.AddScaled(rest[:len(values)-a], e*v, values[a:])
					rest = rest[len(values)-a:]
				}
			})
			l.tasks.Add(z[g], 1)
			floats.Add(l.sums.Of(z[g]), own)
			floats.Mul(own, own)
			floats.Add(l.squares.Of(z[g]), own)
			floats.Mul(own, own)
			floats.Add(fourths, own)
		}
		if d.Dithers() {
			tenth := func(int) float64 { return 0.1 }
			d.Dither(g, l.sums.Of(z[g]), l.squares.Of(z[g]), len(list), tenth)
			d.Dither(g, l.squares.Of(z[g]), fourths, len(list), tenth)
		}
	}
	return z
}

// missedWords names the squares and products of features, of which sums and sums of squares over tasks are given.
func (d *design) missedWords(features []int, sums, squares []float64) string {
	type effect struct{ first, second, at int }
	errors := func(e effect) float64 { return math.Abs(sums[e.at]) / math.Sqrt(squares[e.at]) }
	var said []effect
	at := 0
	for a, j := range features {
		for _, k := range features[a:] {
			if e := (effect{j, k, at}); squares[at] > 0 && errors(e) > saidErrors {
				said = append(said, e)
			}
			at++
		}
	}
	slices.SortStableFunc(said, func(a, b effect) int { return cmp.Compare(errors(b), errors(a)) })
	var curved, flags, products []string
	names := d.t.Features()
	for _, e := range said[:min(len(said), mostSaid)] {
		if e.first == e.second {
			curved, flags = append(curved, fmt.Sprintf("%q", names[e.first])), append(flags, names[e.first])
		} else {
			products = append(products, fmt.Sprintf("%q and %q", names[e.first], names[e.second]))
		}
	}
	var s []string
	if curved != nil {
		words := fmt.Sprintf("Residuals say that the effect is curved of %s", text.List(curved))
		if !slices.ContainsFunc(d.Transforms, func(c model.Transform) bool {
			return c.Width() > 1 && slices.Contains(flags, names[c.Feature])
		}) {
			words += ": try --curve " + text.ShellWord(strings.Join(flags, ","))
		}
		s = append(s, words+".")
	}
	if products != nil {
		s = append(s, fmt.Sprintf("Residuals say that effects depend on one another, of %s: a column with their product may help.", text.List(products)))
	}
	return strings.Join(s, " ")
}
