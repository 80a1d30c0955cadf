package main

import (
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// runFlags are the flags of run.
type runFlags struct {
	*options.Group
	difalt.Options
	member options.Member

	data, graph, out string
	rule             topology.Rule
	nodes            int

	curves         string // CSV of every iteration
	snapshot, from string // files of snapshots, to write and to continue from
	every          int    // iterations between two snapshots
}

func newRunFlags() *runFlags {
	f := &runFlags{}
	f.Group = options.NewGroup(append(append(f.problemRows(), f.algorithmRows()...), f.memberRows()...))
	return f
}

func (f *runFlags) problemRows() []options.Option {
	return []options.Option{
		{Name: "data", Value: options.Text(&f.data, ""), Usage: "problem `FILE`.npz with the arrays X, y, task and perhaps node (required)"},
		{Name: "rank", Value: options.Count(&f.Rank, 0, 1, many), Usage: "`N`, the rank r of the representation (required)"},
		{Name: "out", Value: options.Text(&f.out, ""), Usage: "write U and the coefficients b_t to `FILE`.npz"},
		{Name: "curves", Value: options.Text(&f.curves, ""), Usage: "write every iteration to `FILE`.csv"},
		{Name: "snapshot", Value: options.Text(&f.snapshot, ""), Usage: "write the state of the run to `FILE`, also when it is interrupted"},
		{Name: "every", Value: options.Count(&f.every, 100, 1, many), Usage: "write --snapshot every `K` iterations"},
		{Name: "from", Value: options.Text(&f.from, ""), Usage: "continue from the snapshot in `FILE`, of the same problem and options"},
		{Name: "nodes", Value: options.Count(&f.nodes, 0, 1, many), Usage: "deal the tasks to `N` nodes, if the file names none (default 10, or one per task)"},
		{Name: "graph", Value: options.Text(&f.graph, "er:0.5"), Usage: "`KIND` of graph, if the file has none: " + topology.Specs()},
		{Name: "weights", Value: options.Word(&f.rule, "metropolis", topology.ParseRule), Usage: "`KIND` of mixing weights, if the file has none: metropolis, equal, lazy-metropolis"},
	}
}

func (f *runFlags) algorithmRows() []options.Option {
	positive := func(p *float64, most float64) options.Value {
		return options.Number(p, 0, math.SmallestNonzeroFloat64, most, "must be positive")
	}
	return []options.Option{
		{Name: "method", Value: options.Word(&f.Method, "dif", difalt.ParseMethod), Usage: "`NAME` of dif, altgdmin, dec, dgd, accelerated"},
		{Name: "codec", Value: options.Word(&f.Codec, "", consensus.ParseCodec), Usage: "`KIND` of messages of accelerated: int8, int16 or float64 (default int8)"},
		{Name: "rounds", Value: options.Count(&f.Rounds, 10, 1, difalt.MaxRounds), Usage: "rounds of averaging in an iteration, T_con"},
		{Name: "init-rounds", Value: options.Count(&f.StartRounds, 0, 1, difalt.MaxRounds), Usage: "rounds of averaging in the initialisation (default as --rounds, at least 10)"},
		{Name: "power-iterations", Value: options.Count(&f.PowerIterations, 0, 1, difalt.MaxIterations), Usage: "power iterations of the initialisation (default 30, of accelerated 2 to 4)"},
		{Name: "iterations", Value: options.Count(&f.Iterations, 500, 1, difalt.MaxIterations), Usage: "largest number of iterations, T_GD"},
		{Name: "step", Value: positive(&f.Step, huge), Usage: "step size eta (default by the initialisation)"},
		{Name: "kappa", Value: positive(&f.Kappa, difalt.MaxKappa), Usage: "condition number in the threshold of the initialisation (default 1)"},
		{Name: "mu", Value: positive(&f.Mu, difalt.MaxKappa), Usage: "incoherence in that threshold (default 1)"},
		{Name: "ridge", Value: options.Number(&f.Ridge, 0, 0, difalt.MaxRidge, "must not be negative"), Usage: "penalty lambda of |b_t|^2"},
		{Name: "tolerance", Value: positive(&f.Tolerance, 1), Usage: "stop at this distance from the minimiser (default 1e-10)"},
		{Name: "stop-at-noise", Value: options.Yes(&f.StopAtNoise), Usage: "stop at a tenth of the statistical error, too"},
		{Name: "every-iteration", Value: options.Yes(&f.EveryIteration), Usage: "run all iterations, for curves"},
		{Name: "sample-split", Value: options.Yes(&f.SampleSplit), Usage: "use disjoint samples in every step (Alg. 3, line 4)"},
		{Name: "mixed-precision", Value: options.Yes(&f.MixedPrecision), Usage: "iterate on a copy of the samples in 16 bits; the result has the digits of float64"},
		{Name: "any-features", Value: options.Yes(&f.AnyFeatures), Usage: "accept features that are not centred or differ much in size"},
		{Name: "seed", Value: options.Seed(&f.Seed, 1), Usage: "seed of the start and of the graph"},
		{Name: "workers", Value: options.Count(&f.Workers, 0, 0, kernel.MaxWorkers), Usage: "threads (default all processors)"},
	}
}

// memberRows are for a run with other processes, each with the problem file of its own node.
func (f *runFlags) memberRows() []options.Option {
	m := &f.member
	return []options.Option{
		{Name: "cluster", Value: options.Text(&m.Cluster, ""), Usage: "run as one node of the network in `FILE` cluster.json, with the tasks of --data; see difalt help node"},
		{Name: "key", Value: options.Text(&m.Key, ""), Usage: "`FILE` with the private key of this node"},
		{Name: "cert", Value: options.Text(&m.Cert, ""), Usage: "`FILE` with the certificate for that key, if cluster.json has an authority"},
		{Name: "listen", Value: options.Text(&m.Listen, ""), Usage: "`ADDRESS` to listen on (default the one in cluster.json)"},
		{Name: "join-timeout", Value: options.Span(&m.JoinTimeout, 10*time.Minute, 1), Usage: "`TIME` to wait for the neighbours at the start"},
		{Name: "round-timeout", Value: options.Span(&m.RoundTimeout, 2*time.Minute, 1), Usage: "`TIME` after which a silent neighbour counts as failed"},
	}
}

// resolve checks the flags as far as that is possible without the data. An error is a *options.UsageError.
func (f *runFlags) resolve() error {
	if err := f.CheckRanges(); err != nil {
		return err
	}
	if err := f.Parse(); err != nil {
		return err
	}
	for _, required := range []string{"data", "rank"} {
		if !f.Changed(required) {
			return options.Usagef("--%s is missing", required)
		}
	}
	for _, only := range []string{"key", "cert", "listen", "join-timeout", "round-timeout"} {
		if f.member.Cluster == "" && f.Changed(only) {
			return options.Usagef("--%s is for a run with --cluster", only)
		}
	}
	for _, not := range []string{"nodes", "graph", "weights"} {
		if f.member.Cluster != "" && f.Changed(not) {
			return options.Usagef("--%s does not go together with --cluster, whose file describes the network", not)
		}
	}
	if f.Changed("every") && f.snapshot == "" {
		return options.Usagef("--every is for --snapshot")
	}
	if err := f.Validate(); err != nil {
		return &options.UsageError{Err: err}
	}
	return f.checkFiles()
}

// checkFiles returns an error if an output cannot be written, or would overwrite an input or another output.
func (f *runFlags) checkFiles() error {
	var used files
	for flag, path := range map[string]string{"data": f.data, "from": f.from, "cluster": f.member.Cluster, "key": f.member.Key, "cert": f.member.Cert} {
		if err := used.reads(flag, path); err != nil {
			return err
		}
	}
	for _, out := range []struct {
		flag, path string
		extensions []string
	}{{"out", f.out, []string{".npz"}}, {"curves", f.curves, []string{".csv"}}, {"snapshot", f.snapshot, []string{strings.ToLower(filepath.Ext(f.snapshot))}}} {
		if out.path == "" {
			continue
		}
		file, err := used.create(out.flag, out.path, out.extensions...)
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}
