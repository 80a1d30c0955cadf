package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/spf13/cobra"
)

func newDescribeCommand() *cobra.Command {
	input := options.New(options.Describe)
	var asJSON bool
	var data string
	cmd := newCommand("describe FILE", "Summarise a table, and warn of what looks suspicious", nil, func(cmd *cobra.Command, args []string) error {
		if err := input.Resolve(); err != nil {
			return err
		}
		bar := showReading(cmd.ErrOrStderr(), &input.Table)
		d, err := untilCanceled(cmd.Context(), func() (*dataset.Description, error) {
			return dataset.Describe(cmp.Or(data, strings.Join(args, "")), input.Table)
		})
		bar.Close()
		if err != nil {
			return options.WithHint(err)
		}
		if asJSON {
			return report.WriteJSON(cmd.OutOrStdout(), d)
		}
		printDescription(cmd.OutOrStdout(), d)
		return nil
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		n := len(args)
		if data != "" {
			n++
		}
		if n != 1 {
			return options.Usagef("%s takes one table, but got %d", cmd.CommandPath(), n)
		}
		if name := cmp.Or(data, strings.Join(args, "")); strings.EqualFold(filepath.Ext(name), ".npz") {
			return options.Usagef("%s takes a table, but %s is a model or problem file (see \"difalt model show\")", cmd.CommandPath(), name)
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "`PATH` of the table, in place of the argument")
	f.StringVar(&input.Table.Task, "task", "", "`COLUMN` of tasks, to count them and their rows")
	f.StringVar(&input.Table.Target, "target", "", "`COLUMN` to predict")
	f.AddFlagSet(input.Set)
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shownColumns is how many columns a terminal shows; --json has all.
const shownColumns = 60

func printDescription(w io.Writer, d *dataset.Description) {
	assumed := ""
	if d.Assumed != "" {
		assumed = "; " + d.Assumed
	}
	terminal.Sayf(w, "%s: %s, %s%s", nameOf(d.File, "input"), text.Plural(d.Rows, "row"), text.Plural(len(d.Columns), "column"), assumed)
	fmt.Fprintln(w)
	printColumns(w, d.Columns)
	if t := d.Tasks; t != nil {
		rows := fmt.Sprintf("%d to %d rows (median %d)", t.Min, t.Max, t.Median)
		if t.Min == t.Max {
			rows = text.Plural(t.Min, "row") + " each"
		}
		fmt.Fprintf(w, "\n%s in %s, of %s.\n", text.Plural(t.Tasks, "task"), printable(t.Column, 40), rows)
	}
	if flags := flagsFor(d); flags != "" {
		fmt.Fprintf(w, "\nfit needs: %s\n", flags)
	}
	if len(d.Remarks) == 0 {
		fmt.Fprintln(w, "\nNothing suspicious was found.")
		return
	}
	fmt.Fprintln(w, "\nLook at:")
	for _, remark := range d.Remarks[:min(len(d.Remarks), shownColumns)] {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(text.Wrap(remark, 76), "\n", "\n    "))
	}
	if n := len(d.Remarks) - shownColumns; n > 0 {
		fmt.Fprintf(w, "  and %s (--json has all)\n", text.Plural(n, "more remark"))
	}
}

// flagsFor returns the flags that fit asks for where columns are no numbers; empty without a column of tasks, which could
// be any of these.
func flagsFor(d *dataset.Description) string {
	if d.Tasks == nil {
		return ""
	}
	var flags []string
	for _, f := range []struct {
		name    string
		columns []string
	}{{"--categorical", d.Categorical}, {"--drop", d.Drop}} {
		var names []string
		for _, c := range f.columns {
			names = append(names, text.Visible(c))
		}
		if names != nil {
			flags = append(flags, f.name+" "+text.ShellWord(strings.Join(names, ",")))
		}
	}
	return strings.Join(flags, " ")
}

// printColumns writes a table of columns, and the levels of those that have them.
func printColumns(w io.Writer, columns []dataset.ColumnDescription) {
	rows := text.Table{{"column", "type", "missing", "distinct", "smallest", "largest", "mean", "sd"}}
	var levels []string
	for _, c := range columns[:min(len(columns), shownColumns)] {
		distinct := strconv.Itoa(c.Distinct)
		if c.AtLeast {
			distinct = "> " + distinct
		}
		cell := func(v *float64) string {
			switch {
			case v == nil:
				return ""
			case c.Type == "date":
				return dayOf(*v)
			}
			return strconv.FormatFloat(*v, 'g', 6, 64)
		}
		row := []string{printable(c.Name, 24), c.Type, strconv.Itoa(c.Missing), distinct, cell(c.Min), cell(c.Max), "", ""}
		if c.Mean != nil && c.SD != nil && c.Type != "date" {
			row[6], row[7] = strconv.FormatFloat(*c.Mean, 'g', 6, 64), text.Short(*c.SD)
		}
		rows = append(rows, row)
		if c.Levels != nil {
			levels = append(levels, levelsOf(&c))
		}
	}
	rows.Write(w)
	if n := len(columns) - shownColumns; n > 0 {
		fmt.Fprintf(w, "and %s (--json has all)\n", text.Plural(n, "more column"))
	}
	if levels != nil {
		fmt.Fprintln(w)
	}
	for _, list := range levels {
		terminal.Sayf(w, "%s", list)
	}
}

// levelsOf says how often the most frequent texts of a column are there.
func levelsOf(c *dataset.ColumnDescription) string {
	var list []string
	for _, l := range c.Levels {
		list = append(list, fmt.Sprintf("%s (%d)", printable(l.Name, 24), l.Rows))
	}
	more := ""
	if n := c.Distinct - len(c.Levels); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s: %s%s", printable(c.Name, 24), strings.Join(list, ", "), more)
}

// dayOf prints days since 1970-01-01 as a date, if that has four digits of years.
func dayOf(days float64) string {
	if days < -719_000 || days > 2_900_000 {
		return strconv.FormatFloat(days, 'g', 6, 64)
	}
	return time.Unix(int64(days*86_400), 0).UTC().Format(time.DateOnly)
}

// printable shortens a name, and quotes it if a terminal could not show it.
func printable(s string, most int) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || s == "" {
		s = strconv.Quote(s)
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}
