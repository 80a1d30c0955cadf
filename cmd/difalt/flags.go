package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/problemfile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/private"
	"github.com/spf13/pflag"
)

// tableOptions are the options of commands that read tables.
type tableOptions struct {
	files []string // names or patterns
	data  string   // a pattern in place of files
	table dataset.TableOptions
}

// addFlags adds the flags of the notation of cells.
func (o *tableOptions) addFlags(flags *pflag.FlagSet) {
	t := &o.table
	flags.Var(cli.List(&t.NA), "na", "`LIST` of cells that are missing values in every column")
	flags.Var(cli.Parsed(&t.Decimal, ".", decimalMark), "decimal", "decimal `MARK` of CSV: . or ,")
	flags.Var(cli.OneOf(&t.Dates, "ymd", "dmy", "mdy"), "dates",
		"read dates in CSV of `ORDER` ymd, dmy or mdy, as days since 1970-01-01 (default: dates are refused)")
}

// addData adds the flag that names tables by a pattern.
func (o *tableOptions) addData(flags *pflag.FlagSet, usage string) {
	flags.StringVar(&o.data, "data", "", usage+" (CSV, also in gzip or zstd; Parquet; .npy)")
}

// dataUsage is the help of --data where all files are one table.
const dataUsage = "table `PATTERN` such as 'a-*.csv' in place of FILE..."

// addMissing adds the flag of the rule for missing values, with its words; the first is the default.
func (o *tableOptions) addMissing(flags *pflag.FlagSet, usage string, words ...string) {
	flags.Var(cli.Named(&o.table.Missing, missingRules, words...), "missing", usage)
}

// missingRules are the rules for missing values by their words.
var missingRules = map[string]dataset.Missing{
	"refuse": dataset.MissingRefuse, "drop": dataset.MissingDrop, "mean": dataset.MissingKeep,
}

// missingUsage is the help of --missing of commands that learn from rows.
const missingUsage = "treat missing values by `RULE`: refuse the table, drop their rows, or fill in the mean of " +
	"the training rows"

// decimalMark returns a decimal mark.
func decimalMark(s string) (rune, error) {
	if s != "." && s != "," {
		return 0, errors.New("must be . or ,")
	}
	return rune(s[0]), nil
}

// addColumnFlags adds the flags of commands that read tables whose columns they do not know.
func (o *tableOptions) addColumnFlags(flags *pflag.FlagSet) {
	t := &o.table
	flags.Var(cli.List(&t.Features), "features",
		"use only a `LIST` of columns as features; an empty one, '', for a model of intercepts")
	flags.Var(cli.List(&t.Drop), "drop", "leave out a `LIST` of columns")
	flags.Var(cli.List(&t.Categorical), "categorical",
		"`LIST` of columns of numbers that are categories, besides those of text")
	flags.BoolVar(&t.Numbers, "numbers", false, "refuse columns of text that --categorical does not list")
	o.addWeights(flags)
}

// addWeights adds the flag of the column of weights.
func (o *tableOptions) addWeights(flags *pflag.FlagSet) {
	flags.StringVar(&o.table.Weight, "sample-weights", "", "`COLUMN` with relative weights of rows")
}

// addHoldout adds the flag of the column that marks held-out rows.
func (o *tableOptions) addHoldout(flags *pflag.FlagSet) {
	flags.StringVar(&o.table.Holdout, "holdout", "", "hold out the rows with 1 in `COLUMN` instead")
}

// take takes the arguments of a command, the names of tables, and checks the options as far as that is
// possible without the tables.
func (o *tableOptions) take(files []string) error {
	switch {
	case len(files) > 0 && o.data != "":
		const format = "%s is named besides --data %s: name tables in one of these ways"
		return cli.WrongFlags("data", format, files[0], o.data)
	case slices.Contains(files, ""):
		return cli.Usagef("the name of a table is empty")
	case o.data != "":
		files = []string{o.data}
	case len(files) == 0:
		return cli.Usagef("no table is named: give a FILE or several, or a pattern with --data")
	}
	o.files = files
	for _, path := range files {
		if problemfile.IsName(path) {
			return cli.Usagef("%[1]s is a problem or model file, and this command reads tables: "+
				"\"difalt run --data %[1]s\" reads problem files, \"difalt model show %[1]s\" models", path)
		}
	}
	if err := o.checkColumns(); err != nil {
		return err
	}
	if err := o.table.Validate(); err != nil {
		return cli.Usagef("%w", withHint(err, true))
	}
	return nil
}

// checkColumns checks the flags of columns beside each other.
func (o *tableOptions) checkColumns() error {
	if o.table.Features != nil && len(o.table.Drop) > 0 {
		return cli.WrongFlags("drop", "only one of --features and --drop may be given")
	}
	t := &o.table
	roles := []columnRole{{"task", t.Task}, {"target", t.Target}, {"sample-weights", t.Weight}, {"holdout", t.Holdout}}
	for i, role := range roles {
		for _, other := range roles[:i] {
			if role.column != "" && role.column == other.column {
				const format = "--%s and --%s are both %q: name two columns"
				return cli.WrongFlags(role.flag, format, other.flag, role.flag, role.column)
			}
		}
	}
	for _, list := range []struct {
		flag    string
		columns []string
	}{{"features", t.Features}, {"drop", t.Drop}, {"categorical", t.Categorical}} {
		for i, column := range list.columns {
			if slices.Contains(list.columns[:i], column) {
				return cli.WrongFlag(list.flag, "column %q is named twice", column)
			}
			for _, role := range roles {
				if role.column == column {
					const format = "--%s and --%s both name the column %q"
					return cli.WrongFlags(list.flag, format, role.flag, list.flag, column)
				}
			}
		}
	}
	for _, column := range t.Categorical {
		switch {
		case slices.Contains(t.Drop, column):
			return cli.WrongFlags("categorical", "--drop and --categorical both name the column %q", column)
		case t.Features != nil && !slices.Contains(t.Features, column):
			return cli.WrongFlags("categorical", "--categorical names the column %q, but --features does not", column)
		}
	}
	return nil
}

// A columnRole is a flag that names one column, and the column; empty without the flag.
type columnRole struct{ flag, column string }

// name returns the names of the tables for messages.
func (o *tableOptions) name() string { return nameOf(text.List(o.files), "input") }

// trainingOptions are the options of fit, node and up.
type trainingOptions struct {
	tableOptions
	split dataset.Split
	model mixed.Options // Rank, NoCurves, LogTarget, CommonNoise, Disclosure and Workers
	out   string        // file of the model
}

// newTrainingOptions returns the options without flags.
func newTrainingOptions() trainingOptions {
	return trainingOptions{split: dataset.Split{TestFraction: 0.25, Seed: 1}}
}

// addOut adds the flag of the model.
func (o *trainingOptions) addOut(flags *pflag.FlagSet) {
	flags.StringVar(&o.out, "model", "", "write the model to `FILE`.npz")
}

// addTableFlags adds the flags of the table, and of the rows that are held out.
func (o *trainingOptions) addTableFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.table.Task, "task", "", "`COLUMN` that names the task of a row")
	flags.StringVar(&o.table.Target, "target", "", "`COLUMN` to predict")
	o.addColumnFlags(flags)
	o.tableOptions.addFlags(flags)
	o.addMissing(flags, missingUsage, "refuse", "drop", "mean")
	share := cli.Range{Most: math.Nextafter(1, 0)}
	flags.Var(cli.Number(&o.split.TestFraction, share), "test-fraction", "hold out a `SHARE` of the rows of every task")
	o.addHoldout(flags)
}

// addModelFlags adds the flags of the form of the model.
func (o *trainingOptions) addModelFlags(flags *pflag.FlagSet) {
	m := &o.model
	flags.Var(cli.Parsed(&m.Rank, auto, parseRank), "rank", "rank `N` of the joint deviations of tasks, or auto")
	flags.BoolVar(&m.NoCurves, "no-curves", false, "fit straight lines only")
	flags.BoolVar(&m.LogTarget, "log-target", false, "model the logarithm of the target")
	flags.BoolVar(&m.CommonNoise, "common-noise", false, "assume that all tasks have the same noise variance")
}

// addSeed adds the flags of the seed and of the threads.
func (o *trainingOptions) addSeed(flags *pflag.FlagSet) {
	flags.Var(cli.Seed(&o.split.Seed), "seed", "seed `N` of the held-out rows and all other random choices")
	flags.Var(cli.Count(&o.model.Workers, 0, kernel.MaxWorkers), "workers", "use `N` threads (default: all processors)")
}

// take takes the arguments and checks the options. A column of held-out rows replaces the share.
func (o *trainingOptions) take(flags *pflag.FlagSet, files []string) error {
	if err := o.tableOptions.take(files); err != nil {
		return err
	}
	if o.table.Holdout == "" {
		return nil
	}
	if flags.Changed("test-fraction") {
		return cli.WrongFlags("test-fraction", "only one of --test-fraction and --holdout may be given")
	}
	o.split.TestFraction = 0
	return nil
}

// auto is the word that leaves the rank to the data.
const auto = "auto"

// parseRank returns a rank, nil for auto.
func parseRank(s string) (*int, error) {
	if s == auto {
		return nil, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return nil, errors.New("must be auto or a whole number from 0")
	}
	return &n, nil
}

// jointOptions are the options of node and up: of a training between owners.
type jointOptions struct {
	trainingOptions
	privacy mixed.Privacy // Epsilon 0 stands for no privacy
}

// addRuleFlags adds the flags of an owner's rules.
func addRuleFlags(flags *pflag.FlagSet, d *mixed.Disclosure) {
	flags.Var(cli.CountOrOff(&d.LeastRows, 3, mixed.Off), "least-rows",
		"vote for fewer knots and curves below `N` own rows for each column of the design, and refuse a training "+
			"without curves; 0: no rule")
	flags.Var(cli.CountOrOff(&d.LeastLevel, 12, mixed.Off), "least-level",
		"count levels, and values off the usual one, of fewer than `N` own rows as missing or constant, and "+
			"columns that differ in fewer as equal, and vote against knots with which curves can bend on fewer, and "+
			"periods with a value of fewer; 0: no rule, nor one that leaves out single rows, or moves, bounds or "+
			"rounds numbers; with --no-curves 3 unless given")
	flags.Var(cli.CountOrOff(&d.LeastSmall, 10, mixed.Off), "least-small",
		"leave tasks of one row out of all totals, and tasks with fewer rows than columns and two unless there are "+
			"`N` of them; with at most N tasks, or few like theirs, also rows that are alone with a value in their "+
			"task; 0: no rule")
	flags.BoolVar(&d.Strict, "strict", false,
		"leave all such tasks and rows, all levels, curves and periods out, for owners that do not trust each other")
}

// addDisclosureFlags adds the flags that limit what an owner discloses.
func (o *jointOptions) addDisclosureFlags(flags *pflag.FlagSet) {
	p := &o.privacy
	addRuleFlags(flags, &o.model.Disclosure)
	flags.Var(cli.Number(&p.Epsilon, cli.Range{Most: private.MostEpsilon, Open: true}), "epsilon",
		"keep tasks differentially private with a budget of `EPSILON`; needs --rank")
	flags.Var(cli.Number(&p.Delta, cli.Range{Most: private.MostDelta, Open: true}), "delta",
		"probability `DELTA` that --epsilon does not hold (default: T^-1.1 for T tasks, at most 0.01)")
	flags.Var(cli.Count(&p.Colluding, 0, cli.Many), "colluding",
		"number `N` of other nodes that may pool what they know: --epsilon protects against them, and where they "+
			"are all others --least-small counts twice (default: each knows what it has itself; --epsilon alone "+
			"protects against outsiders)")
}

// addTrainingFlags adds the flags of the table, the model and the disclosure.
func (o *jointOptions) addTrainingFlags(flags *pflag.FlagSet) {
	o.addOut(flags)
	o.addTableFlags(flags)
	o.addModelFlags(flags)
	o.addDisclosureFlags(flags)
	o.addSeed(flags)
}

// take takes the arguments and checks the options.
func (o *jointOptions) take(flags *pflag.FlagSet, files []string) error {
	if err := o.trainingOptions.take(flags, files); err != nil {
		return err
	}
	return o.checkShared(flags)
}

// checkShared checks the options that all owners must give alike, beside each other.
func (o *jointOptions) checkShared(flags *pflag.FlagSet) error {
	if err := o.checkColumns(); err != nil {
		return err
	}
	private := flags.Changed("epsilon")
	if flags.Changed("delta") && !private {
		return cli.WrongFlag("delta", "it needs --epsilon")
	}
	if !private {
		o.model.Disclosure.Colluding = o.privacy.Colluding
	}
	if private && o.model.LogTarget {
		return cli.WrongFlag("log-target", "private training does not model the logarithm of the target")
	}
	if private && o.model.Rank == nil {
		return cli.WrongFlag("epsilon", "it needs --rank N: choosing the rank from the data would cost budget")
	}
	return nil
}

// memberOptions are the options of node and run that make a process a node of a network, and limit how long
// it waits for others.
type memberOptions struct {
	clusterFile, keyFile      string
	listen                    string // address
	joinTimeout, roundTimeout time.Duration
}

// newMemberOptions returns the options without flags.
func newMemberOptions() memberOptions {
	return memberOptions{joinTimeout: 10 * time.Minute, roundTimeout: 2 * time.Minute}
}

// addIdentity adds the flags of the list of nodes, and of the key and the address of this node.
func (o *memberOptions) addIdentity(flags *pflag.FlagSet, usage string) {
	flags.StringVar(&o.clusterFile, "cluster", "", usage)
	flags.StringVar(&o.keyFile, "key", "", "private key of this node, `FILE`")
	flags.Var(cli.Address(&o.listen), "listen", "listen on `ADDRESS` (default: the node's address in cluster.json)")
}

// addTimeouts adds the flags of the times.
func (o *memberOptions) addTimeouts(flags *pflag.FlagSet) {
	flags.Var(cli.Span(&o.joinTimeout), "join-timeout", "wait for the neighbours to connect for at most `TIME`")
	flags.Var(cli.Span(&o.roundTimeout), "round-timeout", "a neighbour that sends nothing for `TIME` has failed")
}

// isMark reports whether a cell may mark missing values, and can be typed.
func isMark(cell string) bool {
	typed := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError && r != ',' && r != '"' }
	return cell != "" && len(cell) <= longestMark && strings.TrimFunc(cell, typed) == ""
}

// longestMark is the number of bytes of a cell that may mark missing values.
const longestMark = 30
