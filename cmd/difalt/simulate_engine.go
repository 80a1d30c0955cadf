package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/spf13/cobra"
)

// engineFlags let simulate measure what it models: with a real process for every node.
type engineFlags struct {
	name      string
	processes int
	delay     time.Duration
}

func (f *engineFlags) options() []options.Option {
	return []options.Option{
		{Name: "engine", Value: options.Text(&f.name, ""), Usage: "measure the execution time as well, with a process for every node over the engine `NAME`: grpc (default: it is modelled only)"},
		{Name: "processes", Value: options.Count(&f.processes, 0, 2, many), Usage: "number of these processes, and of nodes, `N` (default --nodes)"},
		{Name: "link-delay", Value: options.Span(&f.delay, 0, 0), Usage: "hold back what these processes send each other for so long, `TIME` each way"},
	}
}

// check checks the flags against each other, and sets the number of nodes.
func (f *engineFlags) check(given func(string) bool, s *simulation.Setting) error {
	switch {
	case f.name == "" && (given("processes") || given("link-delay")):
		return options.Usagef("--processes and --link-delay need --engine grpc")
	case f.name == "":
		return nil
	case f.name != "grpc":
		return options.Usagef("--engine is %q: want grpc", f.name)
	case given("processes") && given("nodes") && f.processes != s.Nodes:
		return options.Usagef("--processes is %d, but --nodes %d: a process is a node", f.processes, s.Nodes)
	case given("processes"):
		s.Nodes = f.processes
	}
	for _, m := range s.Methods {
		if _, err := simulation.ParseMethod(m); err != nil {
			return options.Usagef("--engine runs methods over a network, not %s", m)
		}
	}
	return nil
}

// measuredHeader is the first line of simulation.MeasuredFile. Seconds are real ones since all processes were ready,
// of the slowest node, and those of the model beside them.
const measuredHeader = "method,trial,iteration,sd_max,rounds,seconds,modelled_seconds"

// measure runs all methods of all trials with a process a node, checks that they come to
// the bits of one process, and writes the times beside those of the model.
func (s *simulateRun) measure(ctx context.Context, folder *simulation.Folder, trials []simulation.Trial, stdout io.Writer) error {
	csv := []byte(measuredHeader + "\n")
	table := text.Table{{"method", "trial", "rounds", "measured seconds", "in the iterations", "modelled seconds"}}
	for _, trial := range trials {
		for _, curve := range trial.Curves {
			rows, err := s.measureCurve(ctx, trial.Number, curve.Method)
			if err != nil {
				return fmt.Errorf("--engine %s: trial %d, method %s: %w", s.engine.name, trial.Number, curve.Method, err)
			}
			modelled := func(i int) float64 { return curve.Rows[min(i, len(curve.Rows)-1)].Seconds }
			for i, r := range rows {
				csv = fmt.Appendf(csv, "%s,%d,%d,%g,%d,%g,%g\n", curve.Method, trial.Number, r.Iteration, r.SDMax, r.Rounds, r.Seconds, modelled(i))
			}
			first, last := rows[0], rows[len(rows)-1]
			table = append(table, []string{curve.Method, strconv.Itoa(trial.Number), strconv.FormatInt(last.Rounds, 10),
				fmt.Sprintf("%.2f", last.Seconds), fmt.Sprintf("%.2f", last.Seconds-first.Seconds), fmt.Sprintf("%.2f", modelled(len(rows)-1))})
		}
	}
	if err := atomicfile.WriteFile(folder.Path(simulation.MeasuredFile), csv, 0o666); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	table.Write(stdout)
	_, err := fmt.Fprintf(stdout, `
%d processes over %s, with the bits of one process; links held back for %v each way.
Rounds and seconds are from when all were ready, the initialisation included.

measured %s
`, s.setting.Nodes, s.engine.name, s.engine.delay, filepath.Clean(folder.Path(simulation.MeasuredFile)))
	return err
}

// measureCurve runs one method of a trial: of every row the seconds of the slowest node.
func (s *simulateRun) measureCurve(ctx context.Context, trial int, method string) ([]simulation.Row, error) {
	want, err := s.setting.Over(ctx, trial, method, nil, s.workers, func() {}, nil)
	if err != nil {
		return nil, err
	}
	curves, err := s.spread(ctx, &nodeTask{s.setting, trial, method, s.engine.delay})
	if err != nil {
		return nil, err
	}
	rows := curves[0].Rows
	for i, c := range curves {
		if c.Basis != want[i] || len(c.Rows) != len(rows) {
			return nil, fmt.Errorf("node %d comes to other bits than in one process", i)
		}
		for k, r := range c.Rows {
			rows[k].SDMax, rows[k].Seconds = max(rows[k].SDMax, r.SDMax), max(rows[k].Seconds, r.Seconds)
		}
	}
	return rows, nil
}

// spread gives a task to a process for every node, and returns their answers.
func (s *simulateRun) spread(ctx context.Context, task *nodeTask) ([]nodeCurve, error) {
	weights, err := s.setting.Mixing(task.Trial)
	if err != nil {
		return nil, err
	}
	local, err := federate.NewLocal(s.setting.Nodes)
	if err != nil {
		return nil, err
	}
	defer local.Close()
	names := text.Numbered("n", s.setting.Nodes)
	c, keys, err := cluster.New(names, local.Addresses, weights.Graph(), s.setting.Weights)
	if err == nil {
		err = local.Write(c, keys)
	}
	if err != nil {
		return nil, err
	}
	what, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	var children []*federate.Child
	for i, name := range names {
		children = append(children, local.Child(i, name, "simulate-node", "--task", string(what)))
	}
	ends, err := federate.RunChildren(ctx, children, federate.NewBoard(io.Discard, names))
	if err == nil {
		err = failureOf(ends)
	}
	if err != nil {
		return nil, err
	}
	curves := make([]nodeCurve, len(ends))
	for i, e := range ends {
		if err := json.Unmarshal(e.Stdout, &curves[i]); err != nil {
			return nil, fmt.Errorf("node %q: %w", e.Name, err)
		}
	}
	return curves, nil
}

// A nodeTask is what simulate asks the process of a node to do.
type nodeTask struct {
	Setting simulation.Setting
	Trial   int
	Method  string
	Delay   time.Duration // of what is sent
}

// A delayed transport holds back what it sends: all nodes do, so that every frame comes so much later.
type delayed struct {
	*grpc.Transport
	by time.Duration
}

func (d delayed) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	time.Sleep(d.by)
	return d.Transport.Exchange(ctx, seq, out, in, due)
}

// A nodeCurve is what it answers.
type nodeCurve struct {
	Basis string           // its hash
	Rows  []simulation.Row // with what was measured
}

// newSimulateNodeCommand returns the command that simulate --engine starts for each node.
// It ends when its standard input does.
func newSimulateNodeCommand() *cobra.Command {
	o := options.New(options.SimulateNode)
	var text string
	cmd := &cobra.Command{
		Use: "simulate-node", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Resolve(); err != nil {
				return err
			}
			m, err := newMember(&o.Member)
			if err != nil {
				return err
			}
			var task nodeTask
			if err := json.Unmarshal([]byte(text), &task); err != nil {
				return err
			}
			ctx, cancel := untilEOF(cmd.Context())
			defer cancel()
			transport, err := m.join(ctx, engine.Options{})
			if err != nil {
				return err
			}
			curve, err := task.run(ctx, delayed{transport.(*grpc.Transport), task.Delay})
			transport.Leave(err)
			if err != nil {
				return federate.Explain(m.cluster, err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(curve)
		},
	}
	cmd.Flags().AddFlagSet(o.Set)
	cmd.Flags().StringVar(&text, "task", "", "a nodeTask as JSON")
	return cmd
}

func (t *nodeTask) run(ctx context.Context, transport engine.Transport) (*nodeCurve, error) {
	curve := &nodeCurve{}
	var began time.Time
	bases, err := t.Setting.Over(ctx, t.Trial, t.Method, transport, 1, func() { began = time.Now() }, func(r *difalt.Record) error {
		curve.Rows = append(curve.Rows, simulation.Row{
			Iteration: r.Iteration, SDMax: r.SDMax, Rounds: int64(transport.Stats().Rounds), Seconds: time.Since(began).Seconds(),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	curve.Basis = bases[0]
	return curve, nil
}
