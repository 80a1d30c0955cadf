package main

import (
	"cmp"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/pflag"
)

// fitFlags are the flags of fit, parsed but not checked.
type fitFlags struct {
	set                        *pflag.FlagSet
	data, trace, model, report string
	columns                    dataset.TableOptions
	nodes, rank                int
	graph, weights             string
	method, agree, compress    string
	step, ridge, mean          string
	auto                       bool
	starts                     int
	standardize, intercept     bool
	baselines, tune            bool
	input                      inputFlags
	split                      dataset.Split
	folds                      int
	options                    difalt.Options
	rule                       topology.Rule
	ridgeValue                 float64 // if not tuneRidge
	tuneRidge, isProblemFormat bool
}

func newFitFlags() *fitFlags {
	f := &fitFlags{set: pflag.NewFlagSet("fit", pflag.ContinueOnError), options: fit.DefaultOptions(0)}
	s, o := f.set, &f.options
	s.SortFlags = false
	s.StringVar(&f.data, "data", "", dataUsage)
	s.StringVar(&f.columns.Task, "task", "", "`COLUMN` that says which task a row belongs to (required for a table)")
	s.StringVar(&f.columns.Target, "target", "", "`COLUMN` to predict (required for a table)")
	s.StringSliceVar(&f.columns.Drop, "drop", nil, "columns to leave out, `LIST`; all others are features")
	s.StringSliceVar(&f.columns.Categorical, "categorical", nil, "feature columns that hold levels, `LIST`: one feature a level")
	s.StringVar(&f.columns.Node, "node", "", "`COLUMN` that says on which node a task lives")
	s.IntVar(&f.nodes, "nodes", 0, "put the tasks on `N` nodes, in blocks (default 10, or one a task if there are fewer, or one a file if there are several)")
	f.input.add(s)
	s.BoolVar(&f.tune, "tune", false, "choose rank, mean strength and ridge by cross-validation on the training rows")
	s.IntVar(&f.rank, "rank", 0, "rank r of the representation (default 3; for a problem file that of its U0, Ustart or Ustar); with --tune the largest to try (default 5)")
	s.StringVar(&f.graph, "graph", "er:0.5", "`KIND`: er:P (random, edge probability P), ring, path, star, grid, torus, complete, exponential")
	s.StringVar(&f.weights, "weights", "metropolis", "mixing weights `KIND`: metropolis, equal, lazy-metropolis, lazy-equal, best-constant")
	s.StringVar(&f.method, "method", "", "`NAME`: "+strings.Join(methodNames(), ", ")+" (default accelerated, and accelerated-tracking with --agree plain or chebyshev or --compress; problem file: dif)")
	s.BoolVar(&f.auto, "auto", false, "leave method, rounds, step, --agree and --compress to the program")
	s.StringVar(&f.agree, "agree", "", "`KIND` of averaging: tree (exact sums along a tree), plain, chebyshev (fewer rounds on poorly connected graphs) (default tree for accelerated, else plain)")
	s.StringVar(&f.compress, "compress", "", "code messages as `KIND`: none, float32, int8, int4 (default int8 with --agree and no --method, else none)")
	s.IntVar(&f.starts, "starts", 3, "starts to choose from: the spectral one, and random ones, given up early but for the best (problem file: 1)")
	s.IntVar(&o.Rounds, "rounds", 10, "rounds of averaging in an iteration, T_con; none along a tree")
	s.IntVar(&o.InitRounds, "init-rounds", 0, "rounds of averaging in the initialisation (default as --rounds, at least 10)")
	s.IntVar(&o.PowerIterations, "power-iterations", o.PowerIterations, "power iterations of the initialisation, T_pm (problem file: 30)")
	s.IntVar(&o.Iterations, "iterations", o.Iterations, "iterations, T_GD")
	s.Float64Var(&o.Tolerance, "tolerance", o.Tolerance, "stop when the estimated distance to the minimiser of the data, a subspace distance, is less (problem file: 1e-10; with --trace, or negative: run all iterations)")
	s.StringVar(&f.step, "step", "auto", "step size eta, `NUMBER` or auto: from the initialisation")
	s.BoolVar(&o.NormalizeTasks, "normalize-tasks", false, "divide the targets of every task by their root mean square, when some are a hundred times larger than others; a task of noise then counts as much as any")
	s.StringVar(&f.ridge, "ridge", "auto", "ridge on the coefficients of a task, `NUMBER` or auto: by cross-validation (problem file: 0)")
	s.StringVar(&f.mean, "mean", "shared", "coefficients that all tasks share, `KIND`: shared (pooled ridge), none (problem file: none)")
	s.BoolVar(&f.standardize, "standardize", true, "centre and scale features, and centre the target (problem file: false)")
	s.BoolVar(&f.intercept, "intercept", true, "give every task a constant of its own, unless a feature is constant (problem file: false)")
	s.Float64Var(&f.split.TestFraction, "test-fraction", 0.25, "share of the rows of every task to hold out (problem file: 0)")
	s.IntVar(&f.split.TestRows, "test-rows-per-task", 0, "hold out `N` rows of every task instead")
	s.IntVar(&f.split.TrainRows, "train-rows-per-task", 0, "train on `N` rows of every task instead, and hold out the others")
	s.IntVar(&f.folds, "folds", 5, "folds of the cross-validation, within the training rows of every task")
	s.BoolVar(&f.baselines, "baselines", true, "compare with pooled ridge and one ridge per task (problem file: false)")
	s.Uint64Var(&o.Seed, "seed", 1, "seed of the held-out rows, the folds, the graph and the start")
	s.IntVar(&o.Workers, "workers", 0, "threads (default all processors)")
	s.StringVar(&f.trace, "trace", "", "write the state after every iteration to `FILE`.csv")
	s.StringVar(&f.model, "model", "", "write the model to `FILE`.npz")
	s.StringVar(&f.report, "report", "", "write a page with figures (index.html), and tables for every task and all that --tune tried, to the folder `DIR`")
	return f
}

// resolve checks the flags as far as that is possible without the data.
func (f *fitFlags) resolve() (err error) {
	if f.data == "" {
		return usagef("--data is missing: need a table (.csv) or a problem file (.npz)")
	}
	if err := f.resolveFormat(); err != nil {
		return err
	}
	if err := f.checkRanges(); err != nil {
		return err
	}
	if err := f.resolveMethod(); err != nil {
		return err
	}
	if f.rule, err = topology.ParseRule(f.weights); err != nil {
		return usagef("--weights: %w", err)
	}
	if f.mean != "shared" && f.mean != "none" {
		return usagef("--mean is %q: want shared or none", f.mean)
	}
	if f.step != "auto" {
		if f.options.Step, err = strconv.ParseFloat(f.step, 64); err != nil || !(f.options.Step > 0) || math.IsInf(f.options.Step, 0) {
			return usagef("--step is %q: want auto or a positive number", f.step)
		}
	}
	if f.tune && f.set.Changed("ridge") {
		return usagef("--tune chooses the ridge: leave out --ridge")
	}
	f.tuneRidge = f.ridge == "auto"
	if !f.tuneRidge {
		if f.ridgeValue, err = strconv.ParseFloat(f.ridge, 64); err != nil || !(f.ridgeValue >= 0) || math.IsInf(f.ridgeValue, 0) {
			return usagef("--ridge is %q: want auto or a number that is not negative", f.ridge)
		}
	}
	f.split.Seed = f.options.Seed
	return nil
}

// resolveMethod sets how nodes agree, and by which method.
func (f *fitFlags) resolveMethod() (err error) {
	given, a := f.set.Changed, &f.options.Agreement
	*a = consensus.Agreement{}
	if f.auto {
		for _, name := range []string{"method", "rounds", "agree", "compress"} {
			if given(name) {
				return usagef("--auto chooses the method, and how nodes agree: drop it or --%s", name)
			}
		}
		return nil
	}
	gossip := f.agree != "" && f.agree != consensus.Tree.String() || given("compress")
	switch {
	case f.method != "":
	case gossip:
		f.method = difalt.AcceleratedTracking.String()
		if f.compress == "" {
			f.compress = "int8"
		}
	default:
		f.method = difalt.Accelerated.String()
	}
	if f.options.Method, err = difalt.ParseMethod(f.method); err != nil {
		return usagef("--method: %w", err)
	}
	if f.agree == "" {
		f.agree = consensus.Plain.String()
		if f.options.Method == difalt.Accelerated && !gossip {
			f.agree = consensus.Tree.String()
		}
	}
	if a.Polynomial, err = consensus.ParsePolynomial(f.agree); err != nil {
		return usagef("--agree: %w", err)
	}
	if a.Codec, err = consensus.ParseCodec(cmp.Or(f.compress, "none")); err != nil {
		return usagef("--compress: %w", err)
	}
	if err := a.Validate(); err != nil {
		return usagef("--agree and --compress: %w", err)
	}
	return nil
}

// resolveFormat sets the defaults that depend on the kind of file.
func (f *fitFlags) resolveFormat() error {
	given := f.set.Changed
	if given("test-rows-per-task") && given("train-rows-per-task") ||
		given("test-fraction") && (given("test-rows-per-task") || given("train-rows-per-task")) {
		return usagef("only one of --test-fraction, --test-rows-per-task and --train-rows-per-task may be given")
	}
	if given("test-rows-per-task") || given("train-rows-per-task") {
		f.split.TestFraction = 0
	}
	if f.isProblemFormat = isProblem(f.data); !f.isProblemFormat {
		if f.columns.Task == "" || f.columns.Target == "" {
			return usagef("a table needs --task COLUMN and --target COLUMN")
		}
		if f.columns.Node != "" && given("nodes") {
			return usagef("only one of --node and --nodes may be given")
		}
		return f.input.resolve(&f.columns)
	}
	for _, name := range []string{"task", "target", "node", "drop", "categorical", "delimiter", "no-header", "missing", "float32"} {
		if given(name) {
			return usagef("--%s is for tables, but %s is a problem file", name, f.data)
		}
	}
	for name, value := range map[string]string{
		"ridge": "0", "mean": "none", "standardize": "false", "intercept": "false", "test-fraction": "0", "baselines": "false",
		"method": "dif", "starts": "1", "power-iterations": "30", "tolerance": "0",
	} {
		if !given(name) {
			if err := f.set.Lookup(name).Value.Set(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fitFlags) checkRanges() error {
	given := f.set.Changed
	o := &f.options
	for _, c := range []struct {
		name  string
		value int
		least int
	}{
		{"nodes", f.nodes, 1}, {"rank", f.rank, 1}, {"rounds", o.Rounds, 1}, {"init-rounds", o.InitRounds, 1},
		{"power-iterations", o.PowerIterations, 1}, {"iterations", o.Iterations, 1}, {"starts", f.starts, 1}, {"workers", o.Workers, 0},
		{"test-rows-per-task", f.split.TestRows, 1}, {"train-rows-per-task", f.split.TrainRows, 1}, {"folds", f.folds, 2},
	} {
		if given(c.name) && c.value < c.least {
			return usagef("--%s is %d: need at least %d", c.name, c.value, c.least)
		}
	}
	if math.IsNaN(o.Tolerance) || math.IsInf(o.Tolerance, 0) {
		return usagef("--tolerance is %v: must be finite", o.Tolerance)
	}
	if f.trace != "" && !given("tolerance") {
		o.Tolerance = -1
	}
	if v := f.split.TestFraction; !(v >= 0 && v < 1) {
		return usagef("--test-fraction is %v: want at least 0 and less than 1", v)
	}
	return nil
}

// isProblem reports whether a path names a problem file rather than a table.
func isProblem(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }
