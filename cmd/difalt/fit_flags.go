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
	nodes                      int
	graph, weights             string
	method, agree, compress    string
	step, rank                 string
	ridges                     [3]string // --intercept, --ridge, --mean-ridge
	continued                  string
	auto, json                 bool
	starts                     int
	input                      inputFlags
	split                      dataset.Split
	folds                      int
	options                    difalt.Options
	rule                       topology.Rule
	rankValue                  int         // 0 for auto
	ridgeValues                [3]*float64 // nil for auto
	isProblemFormat            bool
	isMadeUp                   bool // nodes are not those of the data
}

// The flags of fitFlags.ridges.
var ridgeFlags = [3]string{"intercept", "ridge", "mean-ridge"}

func newFitFlags() *fitFlags {
	f := &fitFlags{set: pflag.NewFlagSet("fit", pflag.ContinueOnError), options: fit.DefaultOptions(0)}
	s, o := f.set, &f.options
	s.SortFlags = false
	s.StringVar(&f.data, "data", "", dataUsage)
	s.StringVar(&f.columns.Task, "task", "", "`COLUMN` that names the task of a row (required)")
	s.StringVar(&f.columns.Target, "target", "", "`COLUMN` to predict (required)")
	s.StringSliceVar(&f.columns.Drop, "drop", nil, "columns to leave out, `LIST`")
	s.StringSliceVar(&f.columns.Categorical, "categorical", nil, "columns that hold levels, `LIST`")
	s.StringVar(&f.model, "model", "", "write the model to `FILE`.npz")
	s.StringVar(&f.report, "report", "", "write a page with figures and tables to `DIR`")
	s.BoolVar(&f.json, "json", false, "print the result as JSON")
	s.Float64Var(&f.split.TestFraction, "test-fraction", 0.25, "share of every task's rows to hold out")
	s.IntVar(&f.split.TestRows, "test-rows-per-task", 0, "hold out `N` rows of every task instead")
	s.IntVar(&f.split.TrainRows, "train-rows-per-task", 0, "train on `N` rows of every task instead")
	s.StringVar(&f.columns.Holdout, "holdout", "", "hold out the rows with 1 in `COLUMN` instead")
	s.StringVar(&f.columns.Time, "test-last", "", "hold out the last rows of every task by `COLUMN` of dates or numbers, not random ones; a feature too unless dropped")
	s.StringVar(&f.columns.Group, "folds-by", "", "keep rows of one value in `COLUMN` together, held out and in folds")
	s.StringVar(&f.columns.Weight, "sample-weights", "", "`COLUMN` that says how much a row counts")
	s.StringVar(&f.rank, "rank", "auto", "rank of the representation, `N`, or auto")
	s.StringVar(&f.ridges[0], ridgeFlags[0], "auto", "ridge on tasks' intercepts, `NUMBER`: 0 free, inf none")
	s.StringVar(&f.ridges[1], ridgeFlags[1], "auto", "ridge on tasks' other deviations, `NUMBER`")
	s.StringVar(&f.ridges[2], ridgeFlags[2], "auto", "ridge on what tasks share, `NUMBER`")
	s.StringVar(&f.continued, "continue", "", "start from the model `FILE`.npz")
	f.input.add(s)
	s.StringVar(&f.columns.Folder, "samples-on-disk", "", "keep features in files in `DIR`, for data larger than memory; a problem file is then fitted by copies in 16 bits")
	s.StringVar(&f.columns.Node, "node", "", "`COLUMN` that names the node where a task lives")
	s.IntVar(&f.nodes, "nodes", 0, "put the tasks on `N` nodes (default 10 or one a file)")
	s.StringVar(&f.graph, "graph", defaultGraph, "`KIND` of network; see difalt simulate --help")
	s.StringVar(&f.weights, "weights", "metropolis", "`KIND` of mixing weights")
	s.Uint64Var(&o.Seed, "seed", 1, "seed of everything that is random")
	s.IntVar(&o.Workers, "workers", 0, "threads (default all processors)")
	s.StringVar(&f.trace, "trace", "", "write every iteration to `FILE`.csv")
	s.IntVar(&f.folds, "folds", 5, "folds for the ridges of the simpler methods")
	s.StringVar(&f.method, "method", "", "`NAME` of the algorithm (default accelerated)")
	s.BoolVar(&f.auto, "auto", false, "leave method and agreement to the program")
	s.StringVar(&f.agree, "agree", "", "tree, plain or chebyshev, `KIND`")
	s.StringVar(&f.compress, "compress", "", "none, float32, int16, int8 or int4, `KIND`")
	s.IntVar(&f.starts, "starts", 3, "starts of the algorithm to choose from")
	s.IntVar(&o.Rounds, "rounds", 10, "rounds of averaging in an iteration")
	s.IntVar(&o.Initialization.Rounds, "init-rounds", 0, "the same in the initialisation")
	s.IntVar(&o.Initialization.PowerIterations, "power-iterations", o.Initialization.PowerIterations, "power iterations of the initialisation")
	s.IntVar(&o.Iterations, "iterations", o.Iterations, "iterations, at most")
	s.Float64Var(&o.Tolerance, "tolerance", o.Tolerance, "stop when U is so near its best; negative: never")
	s.StringVar(&f.step, "step", "auto", "step size eta, `NUMBER`")
	s.BoolVar(&o.NormalizeTasks, "normalize-tasks", false, "divide tasks by their root mean square")
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
	if f.step != "auto" {
		if f.options.Step, err = strconv.ParseFloat(f.step, 64); err != nil || !(f.options.Step > 0) || math.IsInf(f.options.Step, 0) {
			return usagef("--step is %q: want auto or a positive number", f.step)
		}
	}
	if f.rank != "auto" {
		n, err := strconv.Atoi(f.rank)
		if err != nil || n < 0 || n == 0 && f.isProblemFormat {
			return usagef("--rank is %q: want auto or a number, 0 for no representation", f.rank)
		}
		if f.rankValue = n; n == 0 {
			f.rankValue = -1
		}
	}
	for k, name := range ridgeFlags {
		if f.ridges[k] == "auto" {
			continue
		}
		v, err := strconv.ParseFloat(f.ridges[k], 64)
		if err != nil || !(v >= 0) {
			return usagef("--%s is %q: want auto or a number that is not negative", name, f.ridges[k])
		}
		f.ridgeValues[k] = &v
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
	splits := 0
	for _, name := range []string{"test-fraction", "test-rows-per-task", "train-rows-per-task", "holdout"} {
		if given(name) {
			splits++
		}
	}
	if splits > 1 {
		return usagef("only one of --test-fraction, --test-rows-per-task, --train-rows-per-task and --holdout may be given")
	}
	if splits == 1 && !given("test-fraction") {
		f.split.TestFraction = 0
	}
	f.split.Last = f.columns.Time != ""
	switch {
	case f.split.Last && given("holdout"):
		return usagef("only one of --test-last and --holdout may be given")
	case f.split.Last && given("test-fraction") && f.split.TestFraction == 0:
		return usagef("--test-fraction is 0: nothing is held out, so leave out --test-last")
	case f.columns.Group != "" && !f.split.Last && (given("test-rows-per-task") || given("train-rows-per-task")):
		return usagef("--folds-by holds out groups of rows as a whole: use --test-fraction with it, not a number of rows")
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
	for _, name := range []string{"task", "target", "node", "drop", "categorical", "delimiter", "decimal", "thousands", "dates", "no-header", "missing", "float32", "intercept", "mean-ridge", "holdout", "test-last", "folds-by", "sample-weights", "continue"} {
		if given(name) {
			return usagef("--%s is for tables, but %s is a problem file", name, f.data)
		}
	}
	f.options.MixedPrecision = f.columns.Folder != ""
	for name, value := range map[string]string{
		"ridge": "0", "test-fraction": "0",
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
		{"nodes", f.nodes, 1}, {"rounds", o.Rounds, 1}, {"init-rounds", o.Initialization.Rounds, 1},
		{"power-iterations", o.Initialization.PowerIterations, 1}, {"iterations", o.Iterations, 1}, {"starts", f.starts, 1}, {"workers", o.Workers, 0},
		{"test-rows-per-task", f.split.TestRows, 1}, {"train-rows-per-task", f.split.TrainRows, 1}, {"folds", f.folds, 2},
	} {
		if given(c.name) && c.value < c.least {
			return usagef("--%s is %d: need at least %d", c.name, c.value, c.least)
		}
	}
	if math.IsNaN(o.Tolerance) || math.IsInf(o.Tolerance, 0) {
		return usagef("--tolerance is %v: must be finite", o.Tolerance)
	}
	if o.EveryIteration = o.Tolerance < 0 || f.trace != "" && !given("tolerance"); o.EveryIteration {
		o.Tolerance = 0
	}
	if v := f.split.TestFraction; !(v >= 0 && v < 1) {
		return usagef("--test-fraction is %v: want at least 0 and less than 1", v)
	}
	return nil
}

// isProblem reports whether a path names a problem file rather than a table.
func isProblem(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }
