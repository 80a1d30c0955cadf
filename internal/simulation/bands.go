package simulation

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Band condenses the curves of a method over the trials: what a figure shows.
type Band struct {
	Method string
	Rows   []BandRow // one for every iteration, from 0
}

// A BandRow describes all trials after an iteration. A curve that ended early
// counts with its last row.
type BandRow struct {
	Trials int
	// Subspace distance of node 0: mean, median, 10th and 90th percentile.
	Mean, Median, Low, High float64
	// Medians of the largest distance of a node, the disagreement and the objective.
	SDMax, Disagreement, Objective float64
	// Medians of what it took so far, the initialisation included.
	Rounds, Messages, Bytes, Seconds float64
}

// BandsHeader is the first line of a file of bands.
const BandsHeader = "method,iteration,trials,node1_mean,node1_median,node1_p10,node1_p90," +
	"max_median,disagreement_median,objective_median,rounds,messages,bytes,seconds"

// columns returns the columns of a row in the order of BandsHeader.
func (r *BandRow) columns(method *string, iteration *int) []any {
	return []any{method, iteration, &r.Trials, &r.Mean, &r.Median, &r.Low, &r.High, &r.SDMax, &r.Disagreement, &r.Objective,
		&r.Rounds, &r.Messages, &r.Bytes, &r.Seconds}
}

// Bands condenses trials by method.
func Bands(trials []Trial) []Band {
	var out []Band
	for _, curves := range byMethod(trials) {
		length := 0
		for _, c := range curves {
			length = max(length, len(c.Rows))
		}
		b := Band{Method: curves[0].Method}
		at := make([]float64, len(curves))
		for k := range length {
			b.Rows = append(b.Rows, bandRow(curves, k, at))
		}
		out = append(out, b)
	}
	return out
}

// bandRow condenses row k of the curves; at is scratch of their number.
func bandRow(curves []*Curve, k int, at []float64) BandRow {
	sorted := func(f func(*Row) float64) []float64 {
		for i, c := range curves {
			at[i] = f(&c.Rows[min(k, len(c.Rows)-1)])
		}
		slices.Sort(at)
		return at
	}
	middle := func(f func(*Row) float64) float64 { return quantile(sorted(f), 0.5) }
	r := BandRow{Trials: len(curves)}
	r.Median = middle(func(r *Row) float64 { return r.SDFirst })
	r.Low, r.High = quantile(at, 0.1), quantile(at, 0.9)
	for _, v := range at {
		r.Mean += v
	}
	r.Mean /= float64(len(at))
	r.SDMax = middle(func(r *Row) float64 { return r.SDMax })
	r.Disagreement = middle(func(r *Row) float64 { return r.Disagreement })
	r.Objective = middle(func(r *Row) float64 { return r.Objective })
	r.Rounds = middle(rounds)
	r.Messages = middle(messages)
	r.Bytes = middle(sent)
	r.Seconds = middle(seconds)
	return r
}

// appendBands appends bands in the format of BandsHeader, with six significant
// digits.
func appendBands(b []byte, bands []Band) []byte {
	b = append(b, BandsHeader+"\n"...)
	for i := range bands {
		for k := range bands[i].Rows {
			b = appendRow(b, 6, bands[i].Rows[k].columns(&bands[i].Method, &k))
		}
	}
	return b
}

// First returns the first row whose median distance is at most a target, or -1.
func (b *Band) First(target float64) int {
	return slices.IndexFunc(b.Rows, func(r BandRow) bool { return r.Median <= target })
}

// readBands reads what appendBands appends. Errors name the line.
func readBands(r io.Reader) ([]Band, error) {
	var bands []Band
	err := readCSV(r, BandsHeader, func(cells []string) error {
		var row BandRow
		var method string
		var k int
		if err := parseRow(cells, row.columns(&method, &k)); err != nil {
			return err
		}
		if n := len(bands); n == 0 || bands[n-1].Method != method {
			bands = append(bands, Band{Method: strings.Clone(method)})
		}
		b := &bands[len(bands)-1]
		if k != len(b.Rows) {
			return fmt.Errorf("column 2: iteration %d of %s, want %d", k, method, len(b.Rows))
		}
		b.Rows = append(b.Rows, row)
		return nil
	})
	return bands, err
}
