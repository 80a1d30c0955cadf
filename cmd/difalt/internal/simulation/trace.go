package simulation

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
)

// traceHeader is the first line of a trace. Node 0 is the paper's node 1.
const traceHeader = "method,trial,iteration,sd_node1,sd_max,sd_mean,disagreement," +
	"objective,rounds,messages,bytes,seconds"

// A Row is the state of a method after an iteration; iteration 0 is the initial estimate. See difalt.Record.
type Row struct {
	Iteration              int
	SDFirst, SDMax, SDMean float64 // subspace distance from the reference: of node 0, the largest, the mean
	Disagreement           float64 // the largest Frobenius distance of a node's basis from another one
	Objective              float64
	// Totals over all nodes, with the initialisation.
	Rounds, Messages, Bytes int64
	// Seconds are the measured computation and the modelled communication since the start, the initialisation
	// included.
	Seconds float64
}

// A Curve holds the rows of a method in one trial.
type Curve struct {
	Method   string
	Rows     []Row
	Diverged bool // the run ended early, at an estimate that was not finite
}

// A Trial holds the curves of all methods on one draw of graph and data.
type Trial struct {
	Number int // from 1
	Curves []Curve
}

// newRow returns the row of a record, without the initialisation.
func newRow(rec *difalt.Record) Row {
	return Row{
		Iteration: rec.Iteration,
		SDFirst:   rec.SDFirst, SDMax: rec.SDMax, SDMean: rec.SDMean,
		Disagreement: rec.Disagreement, Objective: rec.Objective,
		Rounds: rec.Traffic.Rounds, Messages: rec.Traffic.Messages, Bytes: rec.Traffic.Bytes,
		Seconds: rec.Compute.Seconds(),
	}
}

// addStart adds the traffic and the computation of the initialisation to a row.
func (r *Row) addStart(i *difalt.Initial) {
	t := r.sent().Plus(i.Traffic)
	r.Rounds, r.Messages, r.Bytes = t.Rounds, t.Messages, t.Bytes
	r.Seconds += i.Compute.Seconds()
}

// sent returns the traffic up to the iteration of the row.
func (r *Row) sent() transport.Traffic {
	return transport.Traffic{Rounds: r.Rounds, Messages: r.Messages, Bytes: r.Bytes}
}

func (c *Curve) last() *Row { return &c.Rows[len(c.Rows)-1] }

// columns returns pointers to the values of a line of a trace.
func (r *Row) columns(method *string, trial *int) []any {
	return []any{method, trial, &r.Iteration, &r.SDFirst, &r.SDMax, &r.SDMean, &r.Disagreement, &r.Objective,
		&r.Rounds, &r.Messages, &r.Bytes, &r.Seconds}
}

// appendCSV appends the lines of a trial below traceHeader to b. Every number is the shortest text for its
// float64.
func (t *Trial) appendCSV(b []byte) []byte {
	for i := range t.Curves {
		c := &t.Curves[i]
		for k := range c.Rows {
			b = appendLine(b, c.Rows[k].columns(&c.Method, &t.Number))
		}
	}
	return b
}

// ReadTrace reads a trace. An error contains the number of the line.
func ReadTrace(r io.Reader) (trials []Trial, err error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil || !slices.Equal(header, strings.Split(traceHeader, ",")) {
		return nil, fmt.Errorf("line 1 is not the header: must be %q", traceHeader)
	}
	var row Row
	var method string
	var number int
	for columns, line := row.columns(&method, &number), 2; ; line++ {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return trials, nil
		}
		if err == nil {
			err = parseLine(cells, columns)
		}
		if err == nil {
			trials, err = appendRow(trials, row, method, number)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// appendRow appends a row to the curve that it continues or begins.
func appendRow(trials []Trial, row Row, method string, number int) ([]Trial, error) {
	if n := len(trials); n == 0 || trials[n-1].Number != number {
		trials = append(trials, Trial{Number: number})
	}
	t := &trials[len(trials)-1]
	if n := len(t.Curves); n == 0 || t.Curves[n-1].Method != method {
		t.Curves = append(t.Curves, Curve{Method: strings.Clone(method)})
	}
	c := &t.Curves[len(t.Curves)-1]
	if row.Iteration != len(c.Rows) {
		return nil, fmt.Errorf("iteration is %d of %s: must be %d", row.Iteration, method, len(c.Rows))
	}
	c.Rows = append(c.Rows, row)
	return trials, nil
}

// appendLine appends a line of CSV with the values that *string, *int, *int64 and *float64 point to.
func appendLine(b []byte, values []any) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if f, ok := v.(*float64); ok {
			b = strconv.AppendFloat(b, *f, 'g', -1, 64)
		} else {
			b = fmt.Append(b, reflect.ValueOf(v).Elem())
		}
	}
	return append(b, '\n')
}

// parseLine sets the values of appendLine from the cells of a line.
func parseLine(cells []string, values []any) (err error) {
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
