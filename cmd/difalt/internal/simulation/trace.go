package simulation

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus/wire"
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

func (r *Row) sent() wire.Traffic {
	return wire.Traffic{Rounds: r.Rounds, Messages: r.Messages, Bytes: r.Bytes}
}

func (c *Curve) last() *Row { return &c.Rows[len(c.Rows)-1] }

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
func ReadTrace(r io.Reader) (trials []Trial, err error) {
	var row Row
	var method string
	var number int
	err = readCSV(r, TraceHeader, row.columns(&method, &number), func() error {
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
		if f, ok := v.(*float64); ok {
			b = strconv.AppendFloat(b, *f, 'g', digits, 64)
		} else {
			b = fmt.Append(b, reflect.ValueOf(v).Elem())
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

// readCSV sets what values point to by every line below the header, and calls row. A last line
// without its end, as a program that was killed leaves it, is ignored. Errors name
// the line.
func readCSV(r io.Reader, header string, values []any, row func() error) error {
	in := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line > 1 {
			return nil
		}
		text = strings.TrimRight(text, "\r\n")
		switch cells := strings.Split(text, ","); {
		case err != nil:
		case line == 1:
			if text != header {
				err = fmt.Errorf("not the header: want %q", header)
			}
		case len(cells) != len(values):
			err = fmt.Errorf("%w: %d instead of %d", csv.ErrFieldCount, len(cells), len(values))
		default:
			if err = parseRow(cells, values); err == nil {
				err = row()
			}
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
