package main

import (
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run.
type runFlags struct {
	Set *pflag.FlagSet
	difalt.Options
	member *options.Member

	data, graph, output string
	rule                topology.Rule
	nodes               int

	curves         string // CSV of every iteration
	snapshot, from string // files of snapshots, to write and to continue from
	every          int    // iterations between two snapshots
}

func newRunFlags() *runFlags {
	member := options.New(options.Run)
	f := &runFlags{graph: "er:0.5", every: 100, member: &member.Member}
	f.Rounds, f.Iterations = 10, 500
	f.Set = options.FlagSet(append(f.problemRows(), f.algorithmRows()...))
	f.Set.AddFlagSet(member.Set)
	return f
}

func (f *runFlags) problemRows() []options.Option {
	return []options.Option{
		{Name: "data", Value: options.Text(&f.data), Required: true,
			Usage: "problem `FILE`.npz with the arrays X, y, task and perhaps node"},
		{Name: "rank", Value: options.Count(&f.Rank, 1, many), Required: true, Usage: "rank `r` of the representation"},
		{Name: "out", Value: options.Text(&f.output), Usage: "write U and the coefficients b_t to `FILE`.npz"},
		{Name: "curves", Value: options.Text(&f.curves), Usage: "write every iteration to `FILE`.csv"},
		{Name: "snapshot", Value: options.Text(&f.snapshot), Usage: "write the state of the run to `FILE`, also when it is interrupted"},
		{Name: "every", Value: options.Count(&f.every, 1, many), Usage: "write --snapshot every `K` iterations"},
		{Name: "from", Value: options.Text(&f.from), Usage: "continue from the snapshot in `FILE`, of the same problem and options"},
		{Name: "nodes", Value: options.Count(&f.nodes, 1, many),
			Usage: "deal the tasks to `N` nodes, if the file names none (default: 10, or one per task)"},
		{Name: "graph", Value: options.Text(&f.graph), Usage: "`KIND` of graph, if the file has none: " + topology.Specs()},
		{Name: "weights", Value: options.Word(&f.rule, "metropolis", topology.ParseRule),
			Usage: "`KIND` of mixing weights, if the file has none: metropolis, equal, lazy-metropolis"},
	}
}

func (f *runFlags) algorithmRows() []options.Option {
	return append([]options.Option{
		{Name: "method", Value: options.Word(&f.Method, "dif", difalt.ParseMethod),
			Usage: "`NAME` of dif, altgdmin, dec, dgd, accelerated"},
		{Name: "codec", Value: options.Word(&f.Codec, "", consensus.ParseCodec),
			Usage: "`KIND` of messages of accelerated: int8, int16 or float64 (default: int8)"},
		{Name: "step", Value: options.Number(&f.Step, positive), Usage: "step size `ETA` (default: by the initialisation)"},
		{Name: "kappa", Value: options.Number(&f.Kappa, options.Range{Most: difalt.MaxKappa, Open: true}),
			Usage: "condition number `K` in the threshold of the initialisation (default: 1)"},
		{Name: "mu", Value: options.Number(&f.Mu, options.Range{Most: difalt.MaxKappa, Open: true}),
			Usage: "incoherence `MU` in that threshold (default: 1)"},
		{Name: "ridge", Value: options.Number(&f.Ridge, options.Range{Most: difalt.MaxRidge}), Usage: "penalty `LAMBDA` of |b_t|^2"},
		{Name: "tolerance", Value: options.Number(&f.Tolerance, options.Range{Most: 1, Open: true}),
			Usage: "stop at this `DISTANCE` from the minimiser (default: 1e-10)"},
		{Name: "stop-at-noise", Value: options.Yes(&f.StopAtNoise), Usage: "stop at a tenth of the statistical error, too"},
		{Name: "every-iteration", Value: options.Yes(&f.EveryIteration), Usage: "run all iterations, for curves"},
		{Name: "sample-split", Value: options.Yes(&f.SampleSplit), Usage: "use disjoint samples in every step (Alg. 3, line 4)"},
		{Name: "mixed-precision", Value: options.Yes(&f.MixedPrecision),
			Usage: "iterate on a copy of the samples in 16 bits; the result has the digits of float64"},
		{Name: "any-features", Value: options.Yes(&f.AnyFeatures), Usage: "accept features that are not centred or differ much in size"},
	}, iterationRows(&f.Rounds, &f.StartRounds, &f.PowerIterations, &f.Iterations, &f.Seed, &f.Workers)...)
}

// resolve checks the flags as far as that is possible without the data. An error is a *options.UsageError.
func (f *runFlags) resolve() error {
	if !options.IsProblem(f.data) {
		return options.Usagef("--data is %s, and run reads problem files (.npz): \"difalt fit --data %s\" reads tables", f.data, f.data)
	}
	for _, only := range []string{"key", "cert", "listen", "join-timeout", "round-timeout"} {
		if f.member.Cluster == "" && f.Set.Changed(only) {
			return options.Usagef("--%s is for a run with --cluster", only)
		}
	}
	for _, not := range []string{"nodes", "graph", "weights"} {
		if f.member.Cluster != "" && f.Set.Changed(not) {
			return options.Usagef("--%s does not go together with --cluster, whose file describes the network", not)
		}
	}
	if f.Set.Changed("every") && f.snapshot == "" {
		return options.Usagef("--every is for --snapshot")
	}
	if err := f.Validate(); err != nil {
		return flagError(f.Set, err)
	}
	return f.checkFiles()
}

// checkFiles returns an error if an output cannot be written, or would overwrite an input or another output.
func (f *runFlags) checkFiles() error {
	var used files
	inputs := map[string]string{"data": f.data, "from": f.from, "cluster": f.member.Cluster, "key": f.member.Key, "cert": f.member.Cert}
	for flag, path := range inputs {
		if err := used.reads(flag, path); err != nil {
			return err
		}
	}
	for _, out := range []struct {
		flag, path string
		extensions []string
	}{{"out", f.output, []string{".npz"}}, {"curves", f.curves, []string{".csv"}},
		{"snapshot", f.snapshot, []string{strings.ToLower(filepath.Ext(f.snapshot))}}} {
		if out.path == "" {
			continue
		}
		if err := used.create(out.flag, out.path, out.extensions...); err != nil {
			return err
		}
		used.close()
	}
	return nil
}
