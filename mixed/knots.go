package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The search for knots begins with reach mean deviations on both sides of the mean. A sum of counts at or
// below three places in an interval makes it a quarter as wide.
const (
	reach     = 4
	leastRows = 20 // values of a column with a curve
	atoms     = 13 // quantiles that find columns of at most mostKnots values
)

// A fineness bounds the search for knots by counts of rows.
type fineness struct {
	// An interval is not divided if it has at most undivided rows, or at most undividedShare of all rows.
	undivided, undividedShare float64
	// sums is the largest number of sums.
	sums int
	// beyond is the number of rows outside each outer knot. Their share is at least leastOut and at most
	// mostOut of all rows.
	beyond, leastOut, mostOut float64
}

var (
	fine   = fineness{undivided: 5, undividedShare: .02, sums: 8, beyond: .5, mostOut: .5}
	coarse = fineness{undivided: 20, undividedShare: .02, sums: 6, beyond: 10, leastOut: .01, mostOut: .1}
)

// A knot is a quantile of a column between two edges; below counts the rows at or below each.
type knot struct {
	feature     int
	target      float64 // rows below the knot
	edge, below [2]float64
}

// place returns the place at k quarters of the interval.
func (k *knot) place(quarters int) float64 {
	t := float64(float64(quarters) / 4)
	return float64((1-t)*k.edge[0]) + float64(t*k.edge[1])
}

func (k *knot) rows() float64 { return k.below[1] - k.below[0] }

// divide keeps the quarter of the interval that has the target, from the counts at the three places in it.
func (k *knot) divide(counts []float64) {
	from, to := k.edge, k.below
	for i, n := range counts {
		if n >= k.target {
			k.edge[1], k.below[1] = (&knot{edge: from}).place(i+1), n
			return
		}
		k.edge[0], k.below[0] = (&knot{edge: from}).place(i+1), n
	}
	k.edge[1], k.below[1] = from[1], to[1]
}

// knots returns the knots of numeric features, nil for features with too few different values: one at every
// value of a column that has no more than mostKnots, which hold nearly all rows, and quantiles of the
// others; or few quantiles of all columns.
func (r *rows) knots(ctx context.Context, numeric []int, few bool) ([][]float64, error) {
	n, look, at := knots, fine, atoms
	if few {
		n, at = fewKnots, 0
	}
	if r.coarse {
		look, at = coarse, 0
	}
	var list []*knot
	for _, j := range numeric {
		rows := r.stats[j].rows
		if at > 0 {
			list = append(list, r.quantiles(j, at, .5/atoms)...)
		}
		list = append(list, r.quantiles(j, n, min(max(look.beyond/rows, look.leastOut), look.mostOut))...)
	}
	if err := r.narrow(ctx, list, &look); err != nil {
		return nil, err
	}
	out := make([][]float64, len(numeric))
	for i, j := range numeric {
		values, rows := r.different(list[:at], &look)
		places, _ := r.different(list[at:][:n], &look)
		list = list[at+n:]
		if at > 0 && len(values) <= mostKnots && rows > .95*r.stats[j].rows {
			if len(values) < leastDistinct {
				continue
			}
			places = values
		}
		if len(places) >= leastKnots {
			out[i] = places
		}
	}
	return out, nil
}

// quantiles returns n knots of a feature, evenly spaced by rows, with a share of the rows outside of each
// outer one.
func (r *rows) quantiles(feature, n int, outside float64) (list []*knot) {
	s := &r.stats[feature]
	for i := range n {
		target := s.rows * (outside + (1-2*outside)*float64(i)/float64(n-1))
		edge := [2]float64{s.mean - float64(reach*s.size), s.mean + float64(reach*s.size)}
		list = append(list, &knot{feature, target, edge, [2]float64{0, s.rows}})
	}
	return list
}

// narrow divides the intervals of knots until they have few rows.
func (r *rows) narrow(ctx context.Context, list []*knot, look *fineness) error {
	for range look.sums {
		open := slices.DeleteFunc(slices.Clone(list), func(k *knot) bool { return k.rows() <= look.most(r) })
		if len(open) == 0 {
			return nil
		}
		counts, err := r.countBelow(ctx, open)
		if err != nil {
			return err
		}
		if err := r.add(ctx, "rows below places", &total{v: counts, grows: anyNumber}); err != nil {
			return err
		}
		for i, k := range open {
			if last := k.below[1]; slices.Max(counts[3*i:][:3]) > last {
				return contradiction("more rows lie below a place than in all")
			}
			k.divide(counts[3*i:][:3])
		}
	}
	return nil
}

// most returns the number of rows of an interval that is not divided.
func (f *fineness) most(r *rows) float64 { return max(f.undivided, f.undividedShare*r.tasks.rows) }

// countBelow returns, for the three places in the interval of every knot, the number of training rows with a
// value at or below.
func (r *rows) countBelow(ctx context.Context, open []*knot) ([]float64, error) {
	order := make([][]int, len(r.stats)) // of the counts of every feature, by their places
	at := make([]float64, 3*len(open))
	for i, k := range open {
		for q := range 3 {
			at[3*i+q] = k.place(q + 1)
			order[k.feature] = append(order[k.feature], 3*i+q)
		}
	}
	// Every feature has as many numbers as places and one more: of rows whose first place at or above is
	// that one.
	list, starts, size := make([]*places, len(r.stats)), make([]int, len(r.stats)), 0
	for j, own := range order {
		slices.SortFunc(own, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
		var sorted []float64
		for _, i := range own {
			sorted = append(sorted, at[i])
		}
		list[j], starts[j] = newPlaces(sorted), size
		size += len(own) + 1
	}
	first, err := r.sumRows(ctx, size, func(part []float64, _ int, x []float64, _ float64) {
		for j, p := range list {
			if v := x[j]; len(p.at) > 0 && !math.IsNaN(v) {
				part[starts[j]+p.below(v)]++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	counts := make([]float64, 3*len(open))
	for j, own := range order {
		sum := 0.0
		for i, count := range own {
			sum += first[starts[j]+i]
			counts[count] = sum
		}
	}
	return counts, nil
}

// different returns the different places of knots of one feature, and the rows of their intervals. The last
// knot is at most as far from its inner edge as that edge is from the knot before, and the first likewise:
// where few rows are in an outer interval, its other edge can be far beyond all values.
func (r *rows) different(list []*knot, look *fineness) (places []float64, rows float64) {
	at := make([]float64, len(list))
	for i, k := range list {
		at[i] = k.place(2)
		if n := k.rows(); n > 0 && n <= look.most(r) {
			at[i] = k.edge[0] + float64((k.target-k.below[0])/n*(k.edge[1]-k.edge[0]))
		}
	}
	if n := len(list); n > 2 { // a neighbour in this interval bounds nothing
		if inner := list[0].edge[1]; at[1] >= inner {
			at[0] = max(at[0], 2*inner-at[1])
		}
		if inner := list[n-1].edge[0]; at[n-2] <= inner {
			at[n-1] = min(at[n-1], 2*inner-at[n-2])
		}
	}
	for i, k := range list {
		if j := len(places); j == 0 || at[i] > places[j-1]+float64(leastGap*2*reach*r.stats[k.feature].size) {
			places, rows = append(places, at[i]), rows+k.rows()
		}
	}
	return places, rows
}
