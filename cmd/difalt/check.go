package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	checkHelp = `Read a table and describe its columns, without a fit: which are numbers, which
are categories, which are left out and why, how many values are missing, and
what looks wrong, such as codes among the numbers, marks of missing values,
totals, or columns that repeat each other.

Columns of text are categories; --categorical lists columns of numbers that are
categories too. Give --task and --target to have them checked as "difalt fit"
does. --json prints all columns with all levels.

An owner who will train with others gives --owners: then check also prints which
rows the totals of "difalt node" would have, what the rules leave out, and how
--colluding changes that. Levels and votes of other owners can leave out more.`
	checkExamples = `  difalt check examples/clinics.csv
  difalt check --task clinic --target score --drop patient examples/clinics.csv
  difalt check --dates dmy --decimal , 'site-*.csv'
  difalt check --task clinic --target score --drop patient --owners 3 \
      --colluding 2 examples/clinics.csv`
)

// checkOptions are the options of check.
type checkOptions struct {
	jointOptions
	owners int // who train together; 0: the rules of owners are not applied
}

// newCheck returns the command check.
func newCheck(std *cli.Streams) *cobra.Command {
	o := checkOptions{jointOptions: jointOptions{trainingOptions: newTrainingOptions()}}
	o.table.Missing = dataset.MissingKeep
	cmd := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Describe how the columns of a table are read",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(cmd.Flags(), files); err != nil {
				return err
			}
			return runCheck(cmd.Context(), std, o)
		},
	}
	flags := cmd.Flags()
	o.addData(flags, dataUsage)
	flags.StringVar(&o.table.Task, "task", "", "`COLUMN` that names the task of a row (optional)")
	flags.StringVar(&o.table.Target, "target", "", "`COLUMN` to predict (optional)")
	o.addColumnFlags(flags)
	o.tableOptions.addFlags(flags)
	o.addHoldout(flags)
	o.addOwners(flags)
	return cmd
}

// ownersFlags are the flags that need --owners.
var ownersFlags = []string{"least-rows", "least-level", "least-small", "strict", "colluding", "no-curves", "log-target"}

// addOwners adds the flags about a training with other owners.
func (o *checkOptions) addOwners(flags *pflag.FlagSet) {
	flags.Var(cli.Count(&o.owners, 2, cli.Many), "owners",
		"apply the rules of one of `N` owners who train together; needs --task and --target")
	addRuleFlags(flags, &o.model.Disclosure)
	flags.Var(cli.Count(&o.privacy.Colluding, 0, cli.Many), "colluding",
		"number `N` of other owners that may pool what they know")
	flags.BoolVar(&o.model.NoCurves, "no-curves", false, "straight lines only")
	flags.BoolVar(&o.model.LogTarget, "log-target", false, "the logarithm of the target")
}

// take takes the arguments and checks the options.
func (o *checkOptions) take(flags *pflag.FlagSet, files []string) error {
	for _, name := range ownersFlags {
		if flags.Changed(name) && o.owners == 0 {
			return cli.WrongFlag(name, "it needs --owners")
		}
	}
	if o.owners > 0 && (o.table.Task == "" || o.table.Target == "") {
		return cli.WrongFlag("owners", "it needs --task and --target")
	}
	return o.jointOptions.take(flags, files)
}

// runCheck reads a table and prints its columns, and what looks wrong.
func runCheck(ctx context.Context, std *cli.Streams, o checkOptions) error {
	var used files
	if err := used.tables(o.files); err != nil {
		return err
	}
	r := &checkReport{Header: cli.NewHeader("check"), File: o.name()}
	err := reading(ctx, std.Progress(), nil, &o.table, func() error {
		t, columns, err := dataset.Check(o.files, o.table)
		if err == nil {
			r.describe(t, columns, o.table.Task != "")
			if o.owners > 0 {
				r.Joint, err = o.preview(ctx, t)
			}
		}
		format, ok := errors.AsType[*dataset.FormatError](err)
		err = withHint(err, true)
		if ok && format.Option == "Drop" && o.table.Task == "" { // a column of many names
			err = fmt.Errorf("%w or --task %s", err, text.ShellWord(format.Values[0]))
		}
		return err
	})
	if err != nil {
		return err
	}
	return std.Report(r, r.text)
}

// A checkReport describes a table.
type checkReport struct {
	cli.Header
	File    string        `json:"file"`
	Rows    int           `json:"rows"`    // that a command would use
	Dropped int           `json:"dropped"` // without a task, target, weight or mark
	Tasks   int           `json:"tasks"`   // 0 without a column of tasks
	Columns []checkColumn `json:"columns"`
	Notes   []string      `json:"notes"`
	Remarks []string      `json:"remarks"` // what looks wrong
	Joint   *checkJoint   `json:"joint"`   // null without --owners
}

// A checkJoint describes what totals of several owners would have of a table.
type checkJoint struct {
	Owners    int      `json:"owners"`
	Rows      int      `json:"rows"`      // for training
	InTotals  int      `json:"in_totals"` // of these
	Separate  int      `json:"separate"`  // the same, if owners do not pool what they know
	Colluding int      `json:"colluding"` // owners that do
	Notes     []string `json:"notes"`     // which rules bind
}

// A checkColumn describes a column.
type checkColumn struct {
	Name    string   `json:"name"`
	ReadAs  string   `json:"read_as"`
	Why     string   `json:"why,omitempty"`
	Missing int      `json:"missing"`
	Least   *float64 `json:"least,omitempty"`
	Most    *float64 `json:"most,omitempty"`
	Levels  []string `json:"levels,omitempty"`
}

// describe takes the description from a table.
func (r *checkReport) describe(t *dataset.Table, columns []dataset.Column, hasTasks bool) {
	r.Rows, r.Dropped = t.Rows(), t.Dropped()
	if hasTasks {
		r.Tasks = len(t.Tasks())
	}
	r.Notes, r.Remarks = t.Notes(), t.Remarks()
	for i := range columns {
		c := &columns[i]
		out := checkColumn{Name: c.Name, ReadAs: string(c.ReadAs), Why: c.Why, Missing: c.Missing, Levels: c.Levels}
		if !math.IsNaN(c.Least) {
			out.Least, out.Most = &c.Least, &c.Most
		}
		r.Columns = append(r.Columns, out)
	}
}

// preview returns what the rules of an owner do to a table.
func (o *checkOptions) preview(ctx context.Context, t *dataset.Table) (*checkJoint, error) {
	train, err := t.Split(o.split)
	if err != nil {
		return nil, err
	}
	x := &training{trainingOptions: o.trainingOptions, sources: []report.Source{{Table: t, Train: train}}}
	list, options := x.inputs()
	p, err := mixed.NewPreview(ctx, list[0], options, o.owners)
	if err != nil {
		return nil, err
	}
	options.Disclosure.Colluding = 0
	separate, err := mixed.NewPreview(ctx, list[0], options, o.owners)
	if err != nil {
		return nil, err
	}
	return &checkJoint{o.owners, p.Rows, p.Total, separate.Total, o.privacy.Colluding, p.Notes}, nil
}

// text writes the description for a terminal.
func (j *checkJoint) text(w io.Writer) {
	const format = "With %d owners: totals would have %d of %s."
	terminal.Sayf(w, format, j.Owners, j.InTotals, text.Plural(j.Rows, "training row"))
	if j.Colluding > 0 {
		terminal.Sayf(w, "Without --colluding: %d.", j.Separate)
	}
	for _, s := range j.Notes {
		terminal.Sayf(w, "%s", s)
	}
}

// mostColumns is the number of columns that the text shows.
const mostColumns = 200

// longestName is the number of characters of a name that the text shows.
const longestName = 40

// text writes the description for a terminal.
func (r *checkReport) text(w io.Writer) {
	size := text.Plural(r.Rows, "row")
	if r.Tasks > 0 {
		size += " of " + text.Plural(r.Tasks, "task")
	}
	fmt.Fprintf(w, "%s: %s, %s\n\n", r.File, size, text.Plural(len(r.Columns), "column"))
	rows := text.Table{{"column", "read as", "missing", "least", "greatest", "levels"}}
	for i := range r.Columns[:min(len(r.Columns), mostColumns)] {
		c := &r.Columns[i]
		row := []string{shortName(c.Name), c.ReadAs, strconv.Itoa(c.Missing), "", "", ""}
		switch {
		case c.Least == nil:
		case c.ReadAs == string(dataset.AsDate):
			row[3], row[4] = text.Date(*c.Least), text.Date(*c.Most)
		default:
			row[3], row[4] = strconv.FormatFloat(*c.Least, 'g', 6, 64), strconv.FormatFloat(*c.Most, 'g', 6, 64)
		}
		if c.Levels != nil {
			row[5] = strconv.Itoa(len(c.Levels))
		}
		if c.ReadAs == string(dataset.LeftOut) {
			row[2] = ""
		}
		rows = append(rows, row)
	}
	rows.Write(w)
	fmt.Fprintln(w)
	if more := len(r.Columns) - mostColumns; more > 0 {
		terminal.Sayf(w, "%s not shown: --json has all.", text.Plural(more, "column"))
	}
	for i := range r.Columns[:min(len(r.Columns), mostColumns)] {
		c := &r.Columns[i]
		switch c.ReadAs {
		case string(dataset.AsCategory):
			terminal.Sayf(w, "Levels of %s: %s.", shortName(c.Name), text.List(c.Levels))
		case string(dataset.LeftOut):
			terminal.Sayf(w, "%s is left out: %s.", shortName(c.Name), c.Why)
		}
	}
	if r.Dropped > 0 {
		terminal.Sayf(w, "%s without a task, target, weight or mark.", text.Plural(r.Dropped, "row"))
	}
	for _, s := range append(r.Notes, r.Remarks...) {
		terminal.Sayf(w, "%s", s)
	}
	if r.Joint != nil {
		r.Joint.text(w)
	}
}

// shortName returns a name as the text shows it.
func shortName(name string) string {
	if name == "" {
		return "(no name)"
	}
	return text.Shortened(name, longestName)
}
