package experiment

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TraceHeader is the first line of a trace file.
const TraceHeader = "method,trial,iteration,sd_node1,sd_max,sd_mean,disagreement,objective,rounds,messages,bytes,seconds"

// A Row is the state of a method after an iteration; iteration 0 is the initial
// estimate. See difalt.Record.
type Row struct {
	Iteration               int
	SDNode1, SDMax, SDMean  float64 // subspace distance to U*: of node 1, the largest, the mean
	Disagreement            float64 // the largest Frobenius distance between two nodes' bases
	Objective               float64
	Rounds, Messages, Bytes int64   // so far, without the initialisation
	Seconds                 float64 // so far: measured computation and modelled communication
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

// AppendCSV appends the rows of a trial in the format of TraceHeader to b. Numbers
// are the shortest that read back as the same float64.
func (t *Trial) AppendCSV(b []byte) []byte {
	float := func(v float64) {
		b = append(b, ',')
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	integer := func(v int64) {
		b = append(b, ',')
		b = strconv.AppendInt(b, v, 10)
	}
	for _, c := range t.Curves {
		for i := range c.Rows {
			r := &c.Rows[i]
			b = append(b, c.Method...)
			integer(int64(t.Number))
			integer(int64(r.Iteration))
			for _, v := range [...]float64{r.SDNode1, r.SDMax, r.SDMean, r.Disagreement, r.Objective} {
				float(v)
			}
			for _, v := range [...]int64{r.Rounds, r.Messages, r.Bytes} {
				integer(v)
			}
			float(r.Seconds)
			b = append(b, '\n')
		}
	}
	return b
}

// ReadTrace reads a trace file. A last line without its end, as a program that was
// killed leaves it, is ignored. Errors name the line.
func ReadTrace(r io.Reader) ([]Trial, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var trials []Trial
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return trials, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		text = strings.TrimRight(text, "\r\n")
		if line == 1 {
			if text != TraceHeader {
				return nil, fmt.Errorf("line 1: not the header of a trace: want %q", TraceHeader)
			}
			continue
		}
		if trials, err = addRow(trials, strings.Split(text, ",")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// addRow adds a row to the trial and curve where it belongs.
func addRow(trials []Trial, cells []string) ([]Trial, error) {
	if want := strings.Count(TraceHeader, ",") + 1; len(cells) != want {
		return nil, fmt.Errorf("%w: %d instead of %d", csv.ErrFieldCount, len(cells), want)
	}
	var ints [5]int64 // trial, iteration, rounds, messages, bytes
	for i, k := range [...]int{1, 2, 8, 9, 10} {
		v, err := strconv.ParseInt(cells[k], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", k+1, err)
		}
		ints[i] = v
	}
	var floats [6]float64 // three distances, disagreement, objective, seconds
	for i, k := range [...]int{3, 4, 5, 6, 7, 11} {
		v, err := strconv.ParseFloat(cells[k], 64)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", k+1, err)
		}
		floats[i] = v
	}
	if n := len(trials); n == 0 || trials[n-1].Number != int(ints[0]) {
		trials = append(trials, Trial{Number: int(ints[0])})
	}
	t := &trials[len(trials)-1]
	if n := len(t.Curves); n == 0 || t.Curves[n-1].Method != cells[0] {
		t.Curves = append(t.Curves, Curve{Method: strings.Clone(cells[0])})
	}
	c := &t.Curves[len(t.Curves)-1]
	c.Rows = append(c.Rows, Row{
		Iteration: int(ints[1]),
		SDNode1:   floats[0], SDMax: floats[1], SDMean: floats[2],
		Disagreement: floats[3], Objective: floats[4],
		Rounds: ints[2], Messages: ints[3], Bytes: ints[4],
		Seconds: floats[5],
	})
	return trials, nil
}
