package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/kernel"
)

// saveEvery is the number of iterations between two snapshots.
const saveEvery = 100

// checkStarts reports starts that the problem file has for another rank.
func (r *algorithmRun) checkStarts() error {
	if r.Rank > r.file.Features { // of no start
		return nil
	}
	for i, u := range append([]*kernel.Basis{r.file.Start}, r.file.U0...) {
		if u == nil {
			continue
		}
		if d, rank := u.Dims(); rank != r.Rank {
			name := "U0"
			if i == 0 {
				name = "Ustart"
			}
			const format = "array %q of %s has bases of %d x %d, which start runs of rank %d"
			return place.In(r.data, cli.WrongValue("rank", r.Rank, format, name, r.data, d, rank, rank))
		}
	}
	return nil
}

// explain adds the name of the flag to an error about an option. It adds the name of the problem file to an
// error about the problem. Errors of other nodes and of other files have their names.
func (r *algorithmRun) explain(err error) error {
	err = cli.OfParameter(r.flags, err)
	_, named := errors.AsType[*cli.Error](err)
	_, peer := errors.AsType[*transport.PeerError](err)
	isTotal := errors.Is(err, consensus.ErrContradiction) || errors.Is(err, consensus.ErrInconsistent)
	if err == nil || named || peer || isTotal || errors.Is(err, context.Canceled) {
		return err
	}
	return place.Named(r.data, err)
}

// restore sets the state of --from, if it is given.
func (r *algorithmRun) restore(solver *difalt.Solver) error {
	if r.state == nil {
		return nil
	}
	return r.ofState(solver.Restore(r.state))
}

// ofState adds to an error the flag and the name of the snapshot.
func (r *algorithmRun) ofState(err error) error {
	return cli.OfFlag("from", place.Named(r.from, text.Cause(err)))
}

// The snapshot of a problem has at most that many bytes for each number of the bases, and besides them.
const stateNumber, stateMore = 9, 4096

// readState reads the file of --from, if it is given, as far as a snapshot of this problem goes.
func (r *algorithmRun) readState() error {
	if r.from == "" {
		return nil
	}
	f, err := os.Open(r.from)
	if err != nil {
		return err
	}
	defer f.Close()
	nodes := max(r.file.Nodes, r.file.Tasks)
	most := stateMore + stateNumber*int64(r.Rank)*int64(r.file.Features)*int64(nodes) + 1
	content, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	r.state = new(difalt.Snapshot)
	return r.state.UnmarshalBinary(content)
}

// state returns the content of a snapshot.
func state(solver *difalt.Solver) ([]byte, error) {
	snapshot, err := solver.Snapshot()
	if err != nil {
		return nil, err
	}
	return snapshot.MarshalBinary()
}

// save writes the snapshot of --snapshot during the run, if it is given.
func (r *algorithmRun) save(solver *difalt.Solver) error {
	if r.snapshot == "" {
		return nil
	}
	content, err := state(solver)
	if err != nil {
		return err
	}
	return cli.OfFlag("snapshot", atomicfile.WriteFile(r.snapshot, content))
}

// write writes the snapshot and the result, both or neither, and then the report.
func (r *algorithmRun) write(solver *difalt.Solver, res *difalt.Result, net *consensus.Network) error {
	if r.snapshot != "" {
		content, err := state(solver)
		if err != nil {
			return err
		}
		if err := r.files.add("snapshot", r.snapshot, content); err != nil {
			return err
		}
	}
	if r.files.out != nil {
		if err := r.writeResult(res, net); err != nil {
			return err
		}
		r.files.keepBetter(gradeOf(res.Status))
	}
	if err := r.files.commit(); err != nil {
		return err
	}
	report := r.report(res, net)
	return r.Report(report, report.text)
}

// A runReport is the report of run, in JSON in the order of its fields. Numbers that are unknown are null.
type runReport struct {
	cli.Header
	Method           string  `json:"method"`
	Tasks            int     `json:"tasks"`
	Nodes            int     `json:"nodes"`
	Rank             int     `json:"rank"`
	Status           string  `json:"status"`
	Converged        bool    `json:"converged"`
	Iterations       int     `json:"iterations"`
	Objective        float64 `json:"objective"`         // of the tasks of this process
	Rounds           int     `json:"rounds"`            // of messages
	Bytes            int64   `json:"bytes"`             // sent
	Residual         float64 `json:"residual"`          // distance from a minimiser, about
	StatisticalError float64 `json:"statistical_error"` // of U, about
	Distance         float64 `json:"distance"`          // from Ustar
	Singular         int     `json:"singular"`          // tasks without a unique b_t
	Out              string  `json:"out,omitempty"`     // file of the result
	Snapshot         string  `json:"snapshot,omitempty"`
}

// report returns the report about a result.
func (r *algorithmRun) report(res *difalt.Result, net *consensus.Network) *runReport {
	sent, last := res.Initial.Traffic.Plus(res.Last.Traffic), &res.Last
	return &runReport{
		Header: cli.NewHeader("run"), Method: r.Method.String(), Tasks: r.file.Tasks, Nodes: net.Len(), Rank: r.Rank,
		Status: res.Status.String(), Converged: res.Status == difalt.Converged, Iterations: res.Iterations,
		Objective: last.Objective, Rounds: int(sent.Rounds), Bytes: int64(sent.Bytes),
		Residual: res.Residual, StatisticalError: res.StatisticalError, Distance: last.SDMax,
		Singular: last.Singular, Out: cmp.Or(r.files.redirected, r.out), Snapshot: r.snapshot,
	}
}

// text writes the report in words.
func (r *runReport) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s on %s, rank %d\n", r.Method, text.Plural(r.Tasks, "task"), text.Plural(r.Nodes, "node"),
		r.Rank)
	t := text.Table{{"status", r.Status}, {"iterations", fmt.Sprint(r.Iterations)},
		{"objective of these tasks", fmt.Sprintf("%.6g", r.Objective)}, {"rounds", fmt.Sprint(r.Rounds)},
		{"MB sent", fmt.Sprintf("%.3f", float64(r.Bytes)/1e6)}}
	for _, v := range []struct {
		name  string
		value float64
	}{{"distance from a minimiser, about", r.Residual}, {"statistical error, about", r.StatisticalError},
		{"distance from Ustar", r.Distance}} {
		if !math.IsNaN(v.value) && !math.IsInf(v.value, 0) {
			t = append(t, []string{v.name, fmt.Sprintf("%.2g", v.value)})
		}
	}
	if r.Singular > 0 {
		t = append(t, []string{"tasks without a unique b", fmt.Sprint(r.Singular)})
	}
	t.Write(w)
	if r.Out != "" {
		fmt.Fprintf(w, "result   %s\n", nameOf(r.Out, "output"))
	}
	if r.Snapshot != "" {
		fmt.Fprintf(w, "snapshot %s\n", r.Snapshot)
	}
}

// writeResult writes U of the hosted nodes (L x d x r), b_t (T x r), the node of every task in the order of
// the file, and the status.
func (r *algorithmRun) writeResult(res *difalt.Result, net *consensus.Network) error {
	w := npz.NewWriter(r.files.out)
	d, rank := res.U[0].Dims()
	w.Rows("U", []int{len(res.U), d, rank}, false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = res.U[i/d].At(i%d, j)
		}
	})
	var b []float64
	nodes, next := r.file.NodeOf(len(res.U)), make([]int, len(res.U))
	for k, g := range nodes {
		b = append(b, res.B[g][next[g]*rank:][:rank]...)
		next[g]++
		nodes[k] = net.Hosted()[g]
	}
	w.Float64s("B", []int{r.file.Tasks, rank}, b)
	w.Ints("node", nodes)
	w.Strings(statusArray, []int{1}, []string{res.Status.String()})
	return w.Close()
}

// statusArray is the array of a result with the status of its run.
const statusArray = "status"

// gradeOf returns the grade of a result by the status of its run.
func gradeOf(status difalt.Status) grade {
	switch status {
	case difalt.Converged:
		return finished
	case difalt.Diverged:
		return failed
	}
	return unfinished
}

// gradeOfResult returns the grade of the result in a file. Any other file has the best grade: nobody asked to
// replace it.
func gradeOfResult(path string) grade {
	r, err := npz.Open(path)
	if err != nil {
		return finished
	}
	defer r.Close()
	if !r.Has(statusArray) {
		return finished
	}
	a, err := r.Array(statusArray, 1)
	if err != nil {
		return finished
	}
	status, err := a.Strings()
	if err != nil {
		return finished
	}
	for _, s := range []difalt.Status{difalt.IterationLimit, difalt.Diverged, difalt.Canceled, difalt.Undetermined} {
		if status[0] == s.String() {
			return gradeOf(s)
		}
	}
	return finished
}
