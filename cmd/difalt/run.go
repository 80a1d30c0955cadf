package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"
)

func newRunCommand() *cobra.Command {
	f := newRunFlags()
	return newCommand("run --data FILE --rank r", "Run a method on a problem file", f.Set, func(ctx context.Context, std streams) error {
		if err := f.resolve(); err != nil {
			return err
		}
		r := &algorithmRun{runFlags: f, streams: std}
		if f.member.Cluster != "" {
			return cmp.Or(r.withOthers(ctx), r.unconverged)
		}
		return cmp.Or(r.alone(ctx), r.unconverged)
	})
}

// An algorithmRun is a run on a problem file, with all nodes in this process or with one of them. The result
// goes to the standard output.
type algorithmRun struct {
	*runFlags
	streams
	progress    func(stage string, share float64) // nil for a bar
	file        *problemfile.File
	rows        []simulation.Row
	unconverged error // nil if the result is a minimum
}

// read reads the problem file.
func (r *algorithmRun) read(ctx context.Context) error {
	return untilCanceled(ctx, func() (err error) {
		r.file, err = problemfile.Read(r.data)
		return err
	})
}

// alone runs all nodes in this process, with the tasks dealt to them unless the file does that.
func (r *algorithmRun) alone(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	nodes, l := r.nodes, r.file.Nodes
	if l == 0 {
		for _, m := range []*mat.Dense{r.file.Weights, r.file.Adjacency} {
			if m != nil {
				l = m.RawMatrix().Rows
			}
		}
		nodes = cmp.Or(nodes, l, min(10, r.file.Tasks))
		l = nodes
	}
	if l > r.file.Tasks {
		return fmt.Errorf("%s: %d nodes are more than its %s", r.data, l, text.Plural(r.file.Tasks, "task"))
	}
	weights, err := r.weights(l)
	if err == nil && weights.Len() != l {
		err = fmt.Errorf("%s: its network has %d nodes, but its tasks are on %d", r.data, weights.Len(), l)
	}
	if err != nil {
		return err
	}
	problem, err := r.file.Problem(nodes)
	if err != nil {
		return fmt.Errorf("%s: %w", r.data, err)
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		return err
	}
	if r.progress == nil {
		bar := terminal.NewProgress(r.err)
		defer bar.Close()
		r.progress = bar.Stage
	}
	return r.run(ctx, problem, net)
}

// weights returns the mixing weights of the file, or those of the flags.
func (r *algorithmRun) weights(nodes int) (*topology.Weights, error) {
	var graph *topology.Graph
	var err error
	switch in := r.file; {
	case r.Set.Changed("graph") || in.Weights == nil && in.Adjacency == nil:
		if graph, err = topology.Parse(r.graph, nodes, r.Seed); err != nil {
			return nil, options.Usagef("--graph: %w", err)
		}
	case in.Adjacency != nil:
		if graph, err = topology.FromAdjacency(in.Adjacency); err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", r.data, "adjacency", err)
		}
	default:
		w, err := topology.WeightsOf(in.Weights)
		if err != nil {
			return nil, fmt.Errorf("%s: array %q: %w", r.data, "weights", err)
		}
		if !r.Set.Changed("weights") {
			return w, nil
		}
		graph = w.Graph()
	}
	w, err := topology.NewWeights(graph, r.rule)
	if err != nil {
		return nil, options.Usagef("--graph and --weights: %w", err)
	}
	return w, nil
}

// withOthers runs one node of a network of several processes.
func (r *algorithmRun) withOthers(ctx context.Context) error {
	m, err := newMember(r.member)
	if err != nil {
		return err
	}
	node := m.node(r.err)
	node.Settings, r.progress = r.Settings(), node.Progress
	node.Prepare = func() error { return r.read(ctx) }
	node.Job = r.job
	return federate.Run(ctx, node)
}

// job runs the algorithm on the tasks of the hosted node: all tasks of the file, or those that it assigns to
// the node.
func (r *algorithmRun) job(ctx context.Context, net *consensus.Network) error {
	problem, err := r.file.Problem(0)
	if err != nil {
		return fmt.Errorf("%s: %w", r.data, err)
	}
	if l := len(problem.Nodes); l > 1 {
		if l != net.Len() {
			return fmt.Errorf("%s: its tasks are on %d nodes: must be one, or the %d of the network", r.data, l, net.Len())
		}
		host := net.Hosted()[0]
		problem.Nodes = problem.Nodes[host : host+1]
		if problem.U0 != nil {
			problem.U0 = problem.U0[host : host+1]
		}
	}
	return r.run(ctx, problem, net)
}

// run runs the algorithm and writes its files and its result. It sets unconverged unless the result is a
// minimum: no failure that other nodes need to know.
func (r *algorithmRun) run(ctx context.Context, p *difalt.Problem, net *consensus.Network) error {
	o := r.Options
	o.Logger = slog.New(slog.NewTextHandler(r.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var solver *difalt.Solver
	o.Observer = func(rec *difalt.Record) error {
		r.progress("iterations", float64(rec.Iteration)/float64(r.Iterations))
		if r.curves != "" {
			r.rows = append(r.rows, simulation.NewRow(rec))
		}
		if rec.Iteration > 0 && rec.Iteration%r.every == 0 {
			return r.save(solver)
		}
		return nil
	}
	solver, err := difalt.NewSolver(p, net, o)
	if err != nil {
		return flagError(r.Set, err)
	}
	defer solver.Close()
	if err := r.restore(solver); err != nil {
		return err
	}
	res, err := solver.Run(ctx)
	switch {
	case errors.Is(err, features.ErrNotStandard):
		return fmt.Errorf("%s: the means or sizes of its features would mislead the methods: standardise them first, or give "+
			"--any-features", r.data)
	case res == nil && ctx.Err() != nil:
		return interrupted("interrupted before the first iteration: nothing was written")
	case err != nil && !errors.Is(err, difalt.ErrDiverged):
		return err
	}
	if err := r.write(solver, res, p, net); err != nil {
		return err
	}
	if res.Status == difalt.Canceled {
		return interrupted("interrupted after %s: the files contain the state of that iteration", text.Plural(res.Iterations, "iteration"))
	}
	if res.Status != difalt.Converged && (res.Status != difalt.IterationLimit || !r.EveryIteration && !r.SampleSplit) {
		r.unconverged = unconverged("not converged: %v after %s", res.Status, text.Plural(res.Iterations, "iteration"))
	}
	return nil
}

// restore continues from the snapshot of --from, if there is one.
func (r *algorithmRun) restore(solver *difalt.Solver) error {
	if r.from == "" {
		return nil
	}
	content, err := os.ReadFile(r.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	snapshot := &difalt.Snapshot{}
	if err = snapshot.UnmarshalBinary(content); err == nil {
		err = solver.Restore(snapshot)
	}
	if err != nil {
		return fmt.Errorf("--from: %s: %w", r.from, err)
	}
	return nil
}

// save writes the snapshot of --snapshot, if it is given.
func (r *algorithmRun) save(solver *difalt.Solver) error {
	if r.snapshot == "" {
		return nil
	}
	snapshot, err := solver.Snapshot()
	if err != nil {
		return err
	}
	content, err := snapshot.MarshalBinary()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(r.snapshot, content, 0o666)
}

// write writes the files of a result, and describes it on stdout.
func (r *algorithmRun) write(solver *difalt.Solver, res *difalt.Result, p *difalt.Problem, net *consensus.Network) error {
	if err := r.save(solver); err != nil {
		return err
	}
	if r.curves != "" {
		for i := range r.rows {
			r.rows[i].AddStart(res.Initial)
		}
		trial := simulation.Trial{Number: 1, Curves: []simulation.Curve{{Method: r.Method.String(), Rows: r.rows}}}
		if err := atomicfile.WriteFile(r.curves, trial.AppendCSV([]byte(simulation.TraceHeader+"\n")), 0o666); err != nil {
			return err
		}
	}
	if r.output != "" {
		if err := r.writeResult(res, net); err != nil {
			return err
		}
	}
	sent, last := res.Initial.Traffic.Plus(res.Last.Traffic), &res.Last
	fmt.Fprintf(r.out, "%v: %s on %s, rank %d\n", r.Method, text.Plural(r.file.Tasks, "task"), text.Plural(net.Len(), "node"), r.Rank)
	objective := "objective"
	if !net.AllHosted() {
		objective += " at this node"
	}
	t := text.Table{{"status", res.Status.String()}, {"iterations", fmt.Sprint(res.Iterations)},
		{objective, fmt.Sprintf("%.6g", last.Objective)}, {"rounds", fmt.Sprint(sent.Rounds)},
		{"MB sent", fmt.Sprintf("%.3f", float64(sent.Bytes)/1e6)}}
	for _, v := range []struct {
		name  string
		value float64
	}{{"distance from a minimiser, about", res.Residual}, {"statistical error, about", res.StatisticalError},
		{"distance from Ustar", last.SDMax}} {
		if !math.IsNaN(v.value) {
			t = append(t, []string{v.name, fmt.Sprintf("%.2g", v.value)})
		}
	}
	if last.Singular > 0 {
		t = append(t, []string{"tasks without a unique b", fmt.Sprint(last.Singular)})
	}
	t.Write(r.out)
	return nil
}

// writeResult writes U of the hosted nodes (L x d x r), and b_t (T x r) and the node of every task in the
// order of the file. In a run with others, tasks of other nodes in the file have b_t = NaN.
func (r *algorithmRun) writeResult(res *difalt.Result, net *consensus.Network) error {
	f, err := atomicfile.Create(r.output)
	if err != nil {
		return err
	}
	defer f.Close()
	w, hosted := npz.NewWriter(f), net.Hosted()
	d, rank := res.U[0].Dims()
	w.Rows("U", []int{len(res.U), d, rank}, false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = res.U[i/d].At(i%d, j)
		}
	})
	var b []float64
	nodes, next := r.file.NodeOf(net.Len()), make([]int, len(res.U))
	for k, g := range nodes {
		if r.member.Cluster != "" && r.file.Nodes < 2 {
			g = hosted[0]
			nodes[k] = g
		}
		if at := slices.Index(hosted, g); at < 0 {
			b = append(b, slices.Repeat([]float64{math.NaN()}, rank)...)
		} else {
			b = append(b, res.B[at][next[at]*rank:][:rank]...)
			next[at]++
		}
	}
	w.Float64s("B", []int{r.file.Tasks, rank}, b)
	w.Ints("node", nodes)
	if err := w.Close(); err != nil {
		return err
	}
	return f.Commit()
}
