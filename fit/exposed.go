package fit

import (
	"context"
	"fmt"
	"math"
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

// What a node discloses.
const (
	ofRows = 1 << iota
	ofGrams
	ofCoefficients
)

// findExposed lets the nodes tell one another who of them is exposed.
func (f *fitter) findExposed(ctx context.Context) error {
	if f.net.Len() == 1 {
		return nil
	}
	own := make([][]byte, len(f.layout))
	for g := range own {
		own[g] = []byte{f.disclosed(g)}
	}
	all, err := f.gather(ctx, own)
	if err != nil {
		return err
	}
	e := &f.report.Exposed
	for g, flags := range all {
		for _, c := range []struct {
			flag byte
			list *[]string
		}{{ofRows, &e.Rows}, {ofGrams, &e.Grams}, {ofCoefficients, &e.Coefficients}} {
			if len(flags) == 1 && flags[0]&c.flag != 0 {
				*c.list = append(*c.list, fmt.Sprintf("%q", f.names[g]))
			}
		}
	}
	return nil
}

// disclosed returns what hosted node g discloses.
func (f *fitter) disclosed(g int) (flags byte) {
	d, c := f.design, f.c
	features := len(d.t.Features())
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
	grams := !c.Plain // and folds
	for i, counts := range n {
		if i < d.folds && !grams {
			continue
		}
		for j, k := range counts {
			if k == 1 {
				flags |= ofRows
			}
			if j == 0 && k > 1 && k < d.width() && i < d.folds && grams {
				flags |= ofGrams
			}
		}
	}
	held := 0
	for _, k := range d.layout[g] {
		for _, i := range d.rows[k] {
			if !d.train[i] {
				held++
			}
		}
	}
	if held == 1 {
		flags |= ofRows
	}
	tasks := len(d.layout[g])
	rank, sends := c.Rank, c.Options.SendsCoefficientGrams() || c.Starts > 1 // all of which stop by such sums
	if !c.Plain {
		rank, sends = f.mostRank, true
	}
	if sends && tasks < rank || grams && tasks == 1 {
		flags |= ofCoefficients
	}
	return flags
}
