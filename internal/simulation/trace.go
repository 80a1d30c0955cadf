package simulation

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

// TraceHeader is the first line of a trace file. Column sd_node1 is of node 0, the
// paper's node 1.
const TraceHeader = "method,trial,iteration,sd_node1,sd_max,sd_mean,disagreement,objective,rounds,messages,bytes,seconds"

// A Row is the state of a method after an iteration; iteration 0 is the initial
// estimate. See difalt.Record.
type Row struct {
	Iteration              int
	SDFirst, SDMax, SDMean float64 // subspace distance to U*: of node 0, the largest, the mean
	Disagreement           float64 // the largest Frobenius distance between two nodes' bases
	Objective              float64
	// What was sent so far, by the initialisation too: row 0 has what that has sent.
	Rounds, Messages, Bytes int64
	// So far: measured computation and modelled communication, those of the initialisation
	// included.
	Seconds float64
}

// A Curve is a method's way through a trial.
type Curve struct {
	Method   string
	Rows     []Row
	Diverged bool // it ended early because an estimate was not finite
}

// A Trial holds the curves of all methods on one draw of graph and data.
type Trial struct {
	Number int // from 1
	Curves []Curve
}

func (r *Row) columns(method *string, trial *int) []any {
	return []any{method, trial, &r.Iteration, &r.SDFirst, &r.SDMax, &r.SDMean, &r.Disagreement, &r.Objective,
		&r.Rounds, &r.Messages, &r.Bytes, &r.Seconds}
}

// AppendCSV appends the rows of a trial in the format of TraceHeader to b. Numbers
// are the shortest that read back as the same float64.
func (t *Trial) AppendCSV(b []byte) []byte {
	for i := range t.Curves {
		c := &t.Curves[i]
		for k := range c.Rows {
			b = appendRow(b, -1, c.Rows[k].columns(&c.Method, &t.Number))
		}
	}
	return b
}

// ReadTrace reads a trace file. A last line without its end, as a program that was
// killed leaves it, is ignored. Errors name the line.
func ReadTrace(r io.Reader) ([]Trial, error) {
	var trials []Trial
	err := readCSV(r, TraceHeader, func(cells []string) error {
		var row Row
		var method string
		var number int
		if err := parseRow(cells, row.columns(&method, &number)); err != nil {
			return err
		}
		if n := len(trials); n == 0 || trials[n-1].Number != number {
			trials = append(trials, Trial{Number: number})
		}
		t := &trials[len(trials)-1]
		if n := len(t.Curves); n == 0 || t.Curves[n-1].Method != method {
			t.Curves = append(t.Curves, Curve{Method: strings.Clone(method)})
		}
		c := &t.Curves[len(t.Curves)-1]
		if row.Iteration != len(c.Rows) {
			return fmt.Errorf("iteration %d of %s where %d is due", row.Iteration, method, len(c.Rows))
		}
		c.Rows = append(c.Rows, row)
		return nil
	})
	return trials, err
}

// appendRow appends a line of CSV with what *string, *int, *int64 and *float64 point
// to, floats with so many significant digits; -1 for as many as read back the same.
func appendRow(b []byte, digits int, values []any) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case *string:
			b = append(b, *v...)
		case *int:
			b = strconv.AppendInt(b, int64(*v), 10)
		case *int64:
			b = strconv.AppendInt(b, *v, 10)
		case *float64:
			b = strconv.AppendFloat(b, *v, 'g', digits, 64)
		}
	}
	return append(b, '\n')
}

// parseRow sets what values point to, the same as appendRow takes.
func parseRow(cells []string, values []any) (err error) {
	for i, v := range values {
		switch v := v.(type) {
		case *string:
			*v = cells[i]
		case *int:
			*v, err = strconv.Atoi(cells[i])
		case *int64:
			*v, err = strconv.ParseInt(cells[i], 10, 64)
		case *float64:
			*v, err = strconv.ParseFloat(cells[i], 64)
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// longestLine is how many bytes a line may have, of a dozen numbers.
const longestLine = 1 << 16

// readCSV calls row with the cells of every line below the header. A last line
// without its end, as a program that was killed leaves it, is ignored. Errors name
// the line.
func readCSV(r io.Reader, header string, row func(cells []string) error) error {
	in := bufio.NewReaderSize(r, longestLine)
	for line := 1; ; line++ {
		b, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && line > 1 {
			return nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("it is longer than %d bytes", longestLine)
		}
		text := strings.TrimRight(string(b), "\r\n")
		cells := strings.Split(text, ",")
		switch want := strings.Count(header, ",") + 1; {
		case err != nil:
		case line == 1:
			if text != header {
				err = fmt.Errorf("not the header: want %q", header)
			}
		case len(cells) != want:
			err = fmt.Errorf("%w: %d instead of %d", csv.ErrFieldCount, len(cells), want)
		default:
			err = row(cells)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

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
