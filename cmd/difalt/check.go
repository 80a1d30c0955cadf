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
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

const (
	checkHelp = `Read a table and describe its columns, without a fit: which are numbers, which
are categories, which are left out and why, how many values are missing, and
what looks wrong, such as codes among the numbers, marks of missing values,
totals, or columns that repeat each other.

Columns of text are categories; --categorical lists columns of numbers that are
categories too. Give --task and --target to have them checked as "difalt fit"
does. --json prints all columns with all levels.`
	checkExamples = `  difalt check examples/clinics.csv
  difalt check --task clinic --target score --drop patient examples/clinics.csv
  difalt check --dates dmy --decimal , 'site-*.csv'`
)

// newCheck returns the command check.
func newCheck(std *cli.Streams) *cobra.Command {
	var o tableOptions
	o.table.Missing = dataset.MissingKeep
	cmd := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Describe how the columns of a table are read",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(files); err != nil {
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
	o.addFlags(flags)
	o.addHoldout(flags)
	return cmd
}

// runCheck reads a table and prints its columns, and what looks wrong.
func runCheck(ctx context.Context, std *cli.Streams, o tableOptions) error {
	var used files
	if err := used.tables(o.files); err != nil {
		return err
	}
	r := &checkReport{Header: cli.NewHeader("check"), File: o.name()}
	err := reading(ctx, std.Progress(), nil, &o.table, func() error {
		t, columns, err := dataset.Check(o.files, o.table)
		if err == nil {
			r.describe(t, columns, o.table.Task != "")
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
}

// shortName returns a name as the text shows it.
func shortName(name string) string {
	if name == "" {
		return "(no name)"
	}
	return text.Shortened(name, longestName)
}
