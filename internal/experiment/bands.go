package experiment

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	// Subspace distance of node 1: mean, median, 10th and 90th percentile.
	Mean, Median, Low, High float64
	// Medians of the largest distance of a node, the disagreement and the objective.
	SDMax, Disagreement, Objective float64
	// Means of what was spent so far.
	Rounds, Messages, Bytes, Seconds float64
}

// BandsHeader is the first line of a file of bands.
const BandsHeader = "method,iteration,trials,node1_mean,node1_median,node1_p10,node1_p90," +
	"max_median,disagreement_median,objective_median,rounds,messages,bytes,seconds"

// values returns the columns of a row that are not integers, in the order of
// BandsHeader.
func (r *BandRow) values() []*float64 {
	return []*float64{&r.Mean, &r.Median, &r.Low, &r.High, &r.SDMax, &r.Disagreement, &r.Objective,
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
	mean := func(f func(*Row) float64) float64 {
		sum := 0.0
		for _, v := range sorted(f) {
			sum += v
		}
		return sum / float64(len(at))
	}
	r := BandRow{Trials: len(curves)}
	distance := func(r *Row) float64 { return r.SDNode1 }
	r.Mean = mean(distance)
	r.Median, r.Low, r.High = quantile(at, 0.5), quantile(at, 0.1), quantile(at, 0.9)
	r.SDMax = quantile(sorted(func(r *Row) float64 { return r.SDMax }), 0.5)
	r.Disagreement = quantile(sorted(func(r *Row) float64 { return r.Disagreement }), 0.5)
	r.Objective = quantile(sorted(func(r *Row) float64 { return r.Objective }), 0.5)
	r.Rounds = mean(func(r *Row) float64 { return float64(r.Rounds) })
	r.Messages = mean(func(r *Row) float64 { return float64(r.Messages) })
	r.Bytes = mean(func(r *Row) float64 { return float64(r.Bytes) })
	r.Seconds = mean(func(r *Row) float64 { return r.Seconds })
	return r
}

// WriteBands writes bands in the format of BandsHeader, with six significant
// digits.
func WriteBands(w io.Writer, bands []Band) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, BandsHeader)
	var line []byte
	for _, b := range bands {
		for k := range b.Rows {
			line = append(append(line[:0], b.Method...), ',')
			line = strconv.AppendInt(line, int64(k), 10)
			line = strconv.AppendInt(append(line, ','), int64(b.Rows[k].Trials), 10)
			for _, v := range b.Rows[k].values() {
				line = strconv.AppendFloat(append(line, ','), *v, 'g', 6, 64)
			}
			out.Write(append(line, '\n'))
		}
	}
	return out.Flush()
}

// ReadBands reads a file that WriteBands wrote. Errors name the line.
func ReadBands(r io.Reader) ([]Band, error) {
	in := csv.NewReader(bufio.NewReader(r))
	in.ReuseRecord = true
	var bands []Band
	for line := 1; ; line++ {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) && line > 1 {
			return bands, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if line == 1 {
			if !slices.Equal(cells, strings.Split(BandsHeader, ",")) {
				return nil, fmt.Errorf("line 1: not the header of condensed curves: want %q", BandsHeader)
			}
			continue
		}
		if bands, err = addBandRow(bands, cells); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// addBandRow adds a row to the band where it belongs.
func addBandRow(bands []Band, cells []string) ([]Band, error) {
	if n := len(bands); n == 0 || bands[n-1].Method != cells[0] {
		bands = append(bands, Band{Method: cells[0]})
	}
	b := &bands[len(bands)-1]
	var row BandRow
	if k, err := strconv.Atoi(cells[1]); err != nil || k != len(b.Rows) {
		return nil, fmt.Errorf("column 2: iteration %q of %s, want %d", cells[1], b.Method, len(b.Rows))
	}
	var err error
	if row.Trials, err = strconv.Atoi(cells[2]); err != nil {
		return nil, fmt.Errorf("column 3: %w", err)
	}
	for i, v := range row.values() {
		if *v, err = strconv.ParseFloat(cells[3+i], 64); err != nil {
			return nil, fmt.Errorf("column %d: %w", 4+i, err)
		}
	}
	b.Rows = append(b.Rows, row)
	return bands, nil
}
