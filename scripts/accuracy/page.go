package main

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// described are the tables of the page, in its order, and what they are.
var described = []struct{ name, size, what string }{
	{"intercept", "60 x 12, 8", "levels differ, slopes do not"},
	{"slopes", "40 x 40, 6", "every task has slopes of its own"},
	{"lowrank-short", "100 x 16, 30", "slopes differ in two directions; fewer rows than features"},
	{"lowrank-long", "60 x 40, 20", "slopes differ in three directions; twice as many rows as features"},
	{"noise", "50 x 20, 10", "nothing to find"},
	{"alike", "40 x 25, 10", "all tasks are the same"},
	{"clusters", "60 x 20, 12", "three groups of tasks, each with its slopes"},
	{"heavy", "50 x 25, 8", "levels, one direction, noise of Student's t with 3 degrees of freedom"},
	{"wide", "20 x 40, 1000", "ten common factors, levels, one direction"},
	{"tiny", "8 x 6, 3", "as slopes"},
	{"unbalanced", "40 x 1 to 500, 6", "levels and one direction"},
	{"trend", "60 x 9, 3", "years: level and growth of a person are correlated"},
	{"uneven-mild", "50 x 25, 8", "levels and one direction; the noise of a task differs by a factor of e^.3"},
	{"uneven-levels", "60 x 10, 6", "levels; the noise of a task differs by a factor of e"},
	{"uneven-slopes", "40 x 40, 6", "slopes of a task's own; its noise differs by a factor of e^.7"},
	{"uneven-short", "80 x 14, 16", "two directions, fewer rows than features; the same"},
	{"uneven-middle", "60 x 20, 10", "two directions; the same"},
	{"uneven-long", "40 x 60, 12", "two directions; noise by a factor of e"},
	{"clinics", "40 x 6 to 23, 8", "[examples/clinics.csv](../examples/clinics.csv), a quarter held out"},
	{"school10", "139 x 10, 28", "School: exam scores of pupils"},
	{"school20", "139 x 20, 28", "School, 20 rows a school"},
	{"school", "139 x 11 to 125, 28", "School, half of the rows"},
	{"grunfeld", "11 x 15, 3", "investments of firms over 20 years, a quarter held out"},
}

// columns are the methods of the page: a column has the best of its methods on the
// held-out rows, which favours it.
var columns = []struct {
	head    string
	methods []string
}{
	{"task mean", []string{"task mean"}},
	{"pooled", []string{"pooled"}},
	{"pooled, intercepts", []string{"pooled + intercept"}},
	{"ridge a task", []string{"ridge a task", "ridge a task, one strength"}},
	{"mixed model", []string{"mixed: intercept", "mixed: intercept, first slope", "mixed: intercept, slopes"}},
	{"boosting", []string{"boosting"}},
}

// others are all methods but ours.
func others() []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.methods...)
	}
	return out
}

// writePage writes the page from the files of results.
func writePage(args []string) error {
	flags := flag.NewFlagSet("page", flag.ExitOnError)
	folder := flags.String("results", "scripts/accuracy/results", "the folder of results")
	out := flags.String("out", "docs/accuracy.md", "the page")
	flags.Parse(args)
	r := results{}
	for _, name := range []string{"peers.csv", "fit.csv"} {
		if err := r.read(filepath.Join(*folder, name)); err != nil {
			return err
		}
	}
	versions, err := os.ReadFile(filepath.Join(*folder, "peers.versions"))
	if err != nil {
		return err
	}
	covered, err := readCSV(filepath.Join(*folder, "coverage.csv"))
	if err != nil {
		return err
	}
	crossed, err := readCSV(filepath.Join(*folder, "cross.csv"))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprint(&b, introduction)
	r.errorTable(&b)
	r.meaning(&b)
	r.explainedTable(&b)
	r.timeTable(&b)
	if err := coverageTable(&b, covered); err != nil {
		return err
	}
	if err := crossTable(&b, crossed); err != nil {
		return err
	}
	fmt.Fprintf(&b, again, strings.TrimSpace(string(versions)))
	return os.WriteFile(*out, []byte(b.String()), 0o666)
}

// row writes a row of a table in Markdown.
func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func head(b *strings.Builder, cells ...string) {
	row(b, cells...)
	b.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
}

// ratio writes a ratio of errors, or a dash if there is none.
func ratio(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// measured returns the described tables that fit was measured on.
func (r results) measured() (names []string) {
	for _, d := range described {
		for _, methods := range r[d.name] {
			if _, ok := methods[ours]; ok {
				names = append(names, d.name)
				break
			}
		}
	}
	return names
}

func (r results) errorTable(b *strings.Builder) {
	cells := []string{"table", "tasks x rows, features", "what it is", "`fit`", "within 1 %"}
	for _, c := range columns {
		cells = append(cells, c.head)
	}
	head(b, cells...)
	for _, d := range described {
		if !slices.Contains(r.measured(), d.name) {
			continue
		}
		own := r.relative(d.name, []string{ours})
		cells := []string{d.name, d.size, d.what, "**" + ratio(median(own)) + "**", fmt.Sprintf("%d of %d", within(own, 1.01), len(own))}
		for _, c := range columns {
			cells = append(cells, ratio(median(r.relative(d.name, c.methods))))
		}
		row(b, cells...)
	}
	cells = []string{"worst", "", "", "**" + ratio(r.worst([]string{ours})) + "**", ""}
	for _, c := range columns {
		cells = append(cells, ratio(r.worst(c.methods)))
	}
	row(b, cells...)
}

// worst returns the largest median ratio over the tables on which methods gave one.
func (r results) worst(methods []string) float64 {
	out := 0.0
	for _, name := range r.measured() {
		if m := median(r.relative(name, methods)); !math.IsInf(m, 0) {
			out = max(out, m)
		}
	}
	return out
}

func within(v []float64, most float64) (n int) {
	for _, x := range v {
		if x <= most {
			n++
		}
	}
	return n
}

// meaning says in words what the table says.
func (r results) meaning(b *strings.Builder) {
	var better, near, missed, failed []string
	for _, name := range r.measured() {
		for _, seed := range slices.Sorted(maps.Keys(r[name])) {
			if math.IsInf(r[name][seed][ours].rmse, 0) {
				failed = append(failed, name+" with seed "+seed)
			}
		}
		switch m := median(r.relative(name, []string{ours})); {
		case m < 0.99:
			better = append(better, name)
		case m <= 1.01:
			near = append(near, name)
		default:
			missed = append(missed, name)
		}
	}
	fmt.Fprintf(b, "\n`fit` is more than 1 %% better than the best of the others on %d of %d tables (%s), within 1 %% of it on %d,\n",
		len(better), len(r.measured()), list(better), len(near))
	fmt.Fprintf(b, "and worse on %d (%s). ", len(missed), list(missed))
	if failed != nil {
		fmt.Fprintf(b, "It ended with an error on %s. ", list(failed))
	}
	b.WriteString(meaning)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (r results) explainedTable(b *strings.Builder) {
	b.WriteString(explained)
	cells := []string{"table", "`fit`"}
	for _, c := range columns {
		cells = append(cells, c.head)
	}
	head(b, cells...)
	for _, name := range []string{"school10", "school20", "school", "clinics", "grunfeld"} {
		if !slices.Contains(r.measured(), name) {
			continue
		}
		cells := []string{name, "**" + r.explainedBy(name, []string{ours}) + "**"}
		for _, c := range columns {
			cells = append(cells, r.explainedBy(name, c.methods))
		}
		row(b, cells...)
	}
}

// explainedBy returns the mean over seeds of the variance explained by the best of some
// methods, or a dash if they gave up on a seed.
func (r results) explainedBy(table string, methods []string) string {
	sum := 0.0
	for seed, by := range r[table] {
		_, method := r.best(table, seed, methods)
		if method == "" {
			return "-"
		}
		sum += by[method].ev
	}
	return fmt.Sprintf("%.3f", sum/float64(len(r[table])))
}

func (r results) timeTable(b *strings.Builder) {
	b.WriteString(times)
	head(b, append([]string{"table", "`fit`"}, others()...)...)
	for _, name := range r.measured() {
		cells := []string{name}
		for _, m := range append([]string{ours}, others()...) {
			s := median(r.seconds(name, m))
			if cells = append(cells, "-"); !math.IsNaN(s) {
				cells[len(cells)-1] = fmt.Sprintf("%.2g", s)
			}
		}
		row(b, cells...)
	}
}
