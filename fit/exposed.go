package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Exposed names the nodes that tell others more than sums over many rows, since they
// have few rows or tasks. Names are quoted.
type Exposed struct {
	// Rows have a single training row, or a single value of a feature that is missing
	// elsewhere, in all or in a fold: their sums are that row or value. Or they have a
	// single row held out, whose target is their sum when errors are compared with it.
	Rows []string
	// Grams have fewer rows in a fold than there are features, so that the Gram matrix
	// of the fold tells them up to a rotation.
	Grams []string
	// Coefficients have a single task in a fit that sends Gram matrices, whose regression
	// they are, or fewer than the rank in one that sends sums of b_t b_t': from these
	// their coefficients can be read off, that of a single task up to its sign, and those
	// of several up to a rotation.
	Coefficients []string
}

// exposed lets the nodes tell one another who of them is exposed by a fit that sends Gram matrices of folds and tasks, or not,
// and sums of b_t b_t' of a rank, 0 for none.
func (d *design) exposed(ctx context.Context, grams bool, rank int) (e Exposed, err error) {
	if d.Net.Len() == 1 {
		return e, nil
	}
	own := make([][]byte, len(d.layout))
	for g := range own {
		own[g] = d.disclosed(g, grams, rank)
	}
	all, err := d.Gather(ctx, own)
	if err != nil {
		return e, err
	}
	for g, flags := range all {
		for k, list := range []*[]string{&e.Rows, &e.Grams, &e.Coefficients} {
			if len(flags) == 3 && flags[k] != 0 {
				*list = append(*list, fmt.Sprintf("%q", d.Names[g]))
			}
		}
	}
	return e, nil
}

// disclosed returns, of rows, Gram matrices and coefficients, 1 for those that hosted node g discloses, else 0.
func (d *design) disclosed(g int, grams bool, rank int) []byte {
	flags, features := make([]byte, 3), len(d.t.Features())
	x := make([]float64, features)
	// Numbers of rows, and of values of every feature if some are missing, of every fold
	// and, last, of all.
	n := make([][]int, d.folds+1)
	for i := range n {
		n[i] = make([]int, 1+features)
	}
	d.eachTraining(d.layout[g], func(i int) {
		own, all := n[d.fold[i]], n[d.folds]
		own[0]++
		all[0]++
		if d.t.Missing() == nil {
			return
		}
		for j, v := range d.t.X(x, i) {
			if !math.IsNaN(v) {
				own[1+j]++
				all[1+j]++
			}
		}
	})
	for i, counts := range n {
		fold := i < d.folds
		if fold && !grams {
			continue
		}
		if slices.Contains(counts, 1) {
			flags[0] = 1
		}
		if rows := counts[0]; fold && rows > 1 && rows < d.width() {
			flags[1] = 1
		}
	}
	held, tasks := 0, len(d.layout[g])
	for _, k := range d.layout[g] {
		for _, i := range d.rows[k] {
			if !d.train[i] {
				held++
			}
		}
	}
	if held == 1 {
		flags[0] = 1
	}
	if tasks < rank || grams && tasks == 1 {
		flags[2] = 1
	}
	return flags
}
