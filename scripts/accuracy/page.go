package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/text"
)

// pageTemplate is the page without what results say.
//
//go:embed page.md.tmpl
var pageTemplate string

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
	coverage, interval, err := coverageTable(filepath.Join(*folder, "coverage.csv"))
	if err != nil {
		return err
	}
	real, err := readReal(*folder)
	if err != nil {
		return err
	}
	realRows, realMeaning := realTables(real)
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]string{
		"Errors": r.errorTable(), "Meaning": r.meaning(), "Explained": r.explainedTable(), "Seconds": r.timeTable(),
		"Real": realRows, "RealMeaning": realMeaning, "Coverage": coverage, "Range": interval, "Versions": strings.TrimSpace(string(versions)),
	}); err != nil {
		return err
	}
	return os.WriteFile(*out, []byte(b.String()), 0o666)
}

// A description says how large a table is, and what it is.
type description struct{ name, size, what string }

// measured describes the tables that have results of ours, in the order of the page.
func (r results) measured() []description {
	var all []description
	for _, d := range drawn {
		all = append(all, description{d.name, d.size(), d.what})
	}
	for _, f := range filed {
		all = append(all, description{f.name, f.size, f.what})
	}
	return slices.DeleteFunc(all, func(d description) bool {
		for _, methods := range r[d.name] {
			if _, ok := methods[ours]; ok {
				return false
			}
		}
		return true
	})
}

// overColumns appends to cells what the methods of every column give.
func overColumns(cells []string, of func(methods []string) string) []string {
	for _, c := range columns {
		cells = append(cells, of(c.methods))
	}
	return cells
}

// heads appends to cells the names of all columns.
func heads(cells ...string) []string {
	for _, c := range columns {
		cells = append(cells, c.head)
	}
	return cells
}

// errorTable lists the errors of all methods, relative to the least of the others.
func (r results) errorTable() string {
	t := text.Table{heads("table", "tasks x rows, features", "what it is", "`fit`", "within 1 %")}
	for _, d := range r.measured() {
		own, near := r.relative(d.name, []string{ours}), 0
		for _, v := range own {
			if v <= 1.01 {
				near++
			}
		}
		t = append(t, overColumns([]string{d.name, d.size, d.what, "**" + ratio(median(own)) + "**", fmt.Sprintf("%d of %d", near, len(own))},
			func(methods []string) string { return ratio(median(r.relative(d.name, methods))) }))
	}
	worst := func(methods []string) string { return ratio(r.worst(methods)) }
	return append(t, overColumns([]string{"worst", "", "", "**" + worst([]string{ours}) + "**", ""}, worst)).Markdown()
}

// worst returns the largest median ratio over the tables on which methods gave one.
func (r results) worst(methods []string) float64 {
	out := 0.0
	for _, d := range r.measured() {
		if m := median(r.relative(d.name, methods)); !math.IsInf(m, 0) {
			out = max(out, m)
		}
	}
	return out
}

// meaning says in words what the table of errors says.
func (r results) meaning() string {
	var better, near, missed, failed []string
	for _, d := range r.measured() {
		name := d.name
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
	list := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	words := fmt.Sprintf("`fit` is more than 1 %% better than the best of the others on %d of %d tables (%s), within 1 %% of it on %d,\nand worse on %d (%s). ",
		len(better), len(r.measured()), list(better), len(near), len(missed), list(missed))
	if failed != nil {
		words += fmt.Sprintf("It ended with an error on %s. ", list(failed))
	}
	return words
}

// explainedTable lists the variance explained on the tables that come from files.
func (r results) explainedTable() string {
	t := text.Table{heads("table", "`fit`")}
	for _, d := range r.measured() {
		if !slices.ContainsFunc(filed, func(f file) bool { return f.name == d.name }) {
			continue
		}
		of := func(methods []string) string { return r.explainedBy(d.name, methods) }
		t = append(t, overColumns([]string{d.name, "**" + of([]string{ours}) + "**"}, of))
	}
	return t.Markdown()
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

// timeTable lists the seconds of every method.
func (r results) timeTable() string {
	t := text.Table{append([]string{"table", "`fit`"}, others()...)}
	for _, d := range r.measured() {
		cells := []string{d.name}
		for _, m := range append([]string{ours}, others()...) {
			cell := "-"
			if s := median(r.seconds(d.name, m)); !math.IsNaN(s) {
				cell = fmt.Sprintf("%.2g", s)
			}
			cells = append(cells, cell)
		}
		t = append(t, cells)
	}
	return t.Markdown()
}

// ratio writes a ratio of errors, or a dash if there is none.
func ratio(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// A result is what one method did on one table with one seed.
type result struct {
	rmse, ev, seconds float64
	note              string
}

// results are all that was measured, by table, seed and method; the error of a method
// that gave up is infinite.
type results map[string]map[string]map[string]result

// read adds a file with the columns of resultHeader.
func (r results) read(path string) error {
	rows, err := readCSV(path, resultHeader...)
	if err != nil {
		return err
	}
	for i, row := range rows {
		v, err := numbers(row[3:6])
		if err != nil {
			return fmt.Errorf("%s, row %d: %w", path, i+1, err)
		}
		if math.IsNaN(v[0]) { // it gave up, after so many seconds
			v = []float64{math.Inf(1), math.NaN(), math.NaN()}
		}
		if r[row[0]] == nil {
			r[row[0]] = map[string]map[string]result{}
		}
		if r[row[0]][row[1]] == nil {
			r[row[0]][row[1]] = map[string]result{}
		}
		r[row[0]][row[1]][row[2]] = result{v[0], v[1], v[2], row[6]}
	}
	return nil
}

// best returns the smallest error of some methods on one table and seed, infinite if
// none of them gave one, and its method.
func (r results) best(table, seed string, methods []string) (rmse float64, method string) {
	rmse = math.Inf(1)
	for _, m := range methods {
		if e, ok := r[table][seed][m]; ok && e.rmse < rmse {
			rmse, method = e.rmse, m
		}
	}
	return rmse, method
}

// relative returns, for every seed of a table, the smallest error of some methods over
// the smallest of all but ours.
func (r results) relative(table string, methods []string) []float64 {
	var out []float64
	for seed := range r[table] {
		least, _ := r.best(table, seed, others())
		own, _ := r.best(table, seed, methods)
		out = append(out, own/least)
	}
	return out
}

// seconds returns the times of a method on a table, for the seeds that it ended on.
func (r results) seconds(table, method string) []float64 {
	var out []float64
	for _, methods := range r[table] {
		if e, ok := methods[method]; ok && !math.IsNaN(e.seconds) {
			out = append(out, e.seconds)
		}
	}
	return out
}

// median returns the median, infinite numbers included, or NaN of nothing.
func median(v []float64) float64 { return measure.Median(slices.Clone(v)) }
