package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/mixed"
	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// fitClinics are the arguments of a fit to the example table.
func fitClinics(more ...string) []string {
	return append([]string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient"},
		more...)
}

// load reads a model.
func load(t *testing.T, path string) *mixed.Model {
	t.Helper()
	m, err := mixed.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The documented round trip: fit, predict, adapt to new tasks, predict them. 95 % intervals of single targets
// hold them: of 18 rows of new clinics at most three may be outside (probability .002 of more).
func TestFitPredictAdapt(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, fitClinics("--model", at("m.npz"))...)
	has(t, must(t, "adapt", "--model", at("m.npz"), "--data", newClinics, "--out", at("m2.npz")),
		"3 tasks added and 0 updated from 18 rows; the model has 43 tasks now")
	has(t, must(t, "adapt", "--model", at("m2.npz"), "--data", newClinics, "--out", at("p.npz")),
		"0 tasks added and 3 updated from 18 rows; the model has 43 tasks now")
	for _, c := range []struct {
		table, model, known string
		outside             int
		explained           float64
	}{
		{clinics, "m.npz", "true", 60, .5},
		{newClinics, "m.npz", "false", 3, -1},
		{newClinics, "m2.npz", "true", 3, .5},
	} {
		must(t, "predict", "--model", at(c.model), "--data", c.table, "--out", at("p.csv"), "--standard-errors")
		var residuals, targets []float64
		rows, predictions, outside := records(t, c.table), records(t, at("p.csv")), 0
		for i, row := range rows {
			y, p := number(t, row["score"]), predictions[i]
			if row["clinic"] != p["task"] || p["known"] != c.known {
				t.Fatalf("row %d: %v, %v", i, row, p)
			}
			residuals = append(residuals, y-number(t, p["prediction"]))
			targets = append(targets, y)
			if math.Abs(residuals[i]) > 1.96*number(t, p["sample_stderr"]) {
				outside++
			}
		}
		explained := 1 - stat.Variance(residuals, nil)/stat.Variance(targets, nil)
		if explained < c.explained || outside > c.outside {
			t.Errorf("%s of %s: %d of %d scores are outside of their intervals; "+
				"predictions explain %.2f of the variance", c.model, c.table, outside, len(rows), explained)
		}
	}
	if n := len(folder(t, dir)); n != 4 {
		t.Errorf("%d files, want 4", n)
	}
}

// All commands work on a table with more columns than rows; the table of what tasks share has its columns.
func TestMoreColumnsThanRows(t *testing.T) {
	const columns, rows = 400, 21
	var table strings.Builder
	table.WriteString("task,y")
	for j := range columns {
		fmt.Fprintf(&table, ",x%d", j)
	}
	for i := range rows {
		fmt.Fprintf(&table, "\nt%d,%.3f", i%3, math.Sin(float64(i))+float64(i%3))
		for j := range columns {
			fmt.Fprintf(&table, ",%.3f", math.Sin(float64(i*(j+1)))+math.Cos(float64(j+i*i)))
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	data := write(t, dir, "wide.csv", table.String()+"\n")
	out := must(t, "fit", "--data", data, "--task", "task", "--target", "y", "--rank", "1", "--model", at("m.npz"),
		"--report", at("page"))
	has(t, out, "There are 400 columns for")
	has(t, must(t, "model", "show", at("m.npz")), "400, in the span of the training rows:",
		"feature mean sd of tasks axis 1 x0 ")
	must(t, "adapt", "--model", at("m.npz"), "--data", data, "--out", at("m2.npz"))
	must(t, "predict", "--model", at("m2.npz"), "--data", data, "--standard-errors", "--out", at("p.csv"))
	if got := len(records(t, at("p.csv"))); got != rows {
		t.Errorf("%d predictions of %d rows", got, rows)
	}
}

// Several files are one table: the same model, bit for bit, as from one file.
func TestFitConcatenatesFiles(t *testing.T) {
	dir := t.TempDir()
	header, rest, _ := strings.Cut(shops(), "\n")
	lines := strings.SplitAfter(rest, "\n")
	write(t, dir, "all.csv", header+"\n"+rest)
	write(t, dir, "a-1.csv", header+"\n"+strings.Join(lines[:100], ""))
	write(t, dir, "a-2.csv", header+"\n"+strings.Join(lines[100:], ""))
	var models []string
	for _, name := range []string{"all.csv", "a-*.csv"} {
		path := filepath.Join(dir, strconv.Itoa(len(models))+".npz")
		stdout := must(t,
			append([]string{"fit", "--data", filepath.Join(dir, name), "--model", path, "--rank", "0", "--no-curves"},
				fitShops...)...)
		has(t, stdout, "12 tasks, 5 features, 264 rows for training, 96 held out")
		models = append(models, string(readFile(t, path)))
	}
	if models[0] != models[1] {
		t.Error("the models differ")
	}
}

// Every option of the model reaches it.
func TestFitOptions(t *testing.T) {
	x := fixture(t)
	dir := t.TempDir()
	fit := func(more ...string) mixed.Parameters {
		path := filepath.Join(dir, "m.npz")
		must(t, slices.Concat([]string{"fit", "--data", x.table, "--model", path}, fitShops, more)...)
		return load(t, path).Parameters()
	}
	p := fit("--rank", "1", "--no-curves", "--test-fraction", "0")
	rows := 0
	for _, n := range p.Tasks.Samples {
		rows += n
	}
	if p.Prior.Rank != 1 || len(p.Design.Curves) != 0 || p.Prior.Noise.TaskFreedom != 0 || rows != 360 || p.Target.Log {
		t.Errorf("rank %d, %d curves, noise %+v, %d rows", p.Prior.Rank, len(p.Design.Curves), p.Prior.Noise, rows)
	}
	if p := fit("--rank", "0", "--no-curves", "--log-target", "--no-refit", "--test-fraction",
		".5"); !p.Target.Log || p.Tasks.Samples[0] != 15 || p.Prior.Rank != 0 {
		t.Errorf("log %v, %d rows of the first task, rank %d", p.Target.Log, p.Tasks.Samples[0], p.Prior.Rank)
	}
	if a, b := fit("--rank", "0", "--no-curves", "--no-refit", "--seed", "2"), fit("--rank", "0", "--no-curves",
		"--no-refit", "--workers", "1"); a.Mean[0] == b.Mean[0] {
		t.Error("the seed does not choose other rows")
	}
}

// The extension of --out chooses the format.
func TestPredictFormats(t *testing.T) {
	x := fixture(t)
	dir := t.TempDir()
	predict := func(name string, more ...string) []string {
		return append([]string{"predict", "--model", x.model, "--data", x.table, "--missing", "mean",
			"--out", filepath.Join(dir, name)}, more...)
	}
	for _, name := range []string{"p.csv", "p.parquet"} {
		must(t, predict(name, "--standard-errors")...)
	}
	type line struct {
		Task       string  `parquet:"task"`
		Prediction float64 `parquet:"prediction,optional"`
		Known      bool    `parquet:"known"`
	}
	lines, err := parquet.ReadFile[line](filepath.Join(dir, "p.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	rows := records(t, filepath.Join(dir, "p.csv"))
	if len(rows) != 360 {
		t.Errorf("%d rows", len(rows))
	}
	for i, row := range rows {
		if lines[i] != (line{row["task"], number(t, row["prediction"]), row["known"] == "true"}) {
			t.Fatalf("row %d is %v in CSV and %v in Parquet", i, row, lines[i])
		}
	}
}

// The held-out rows judge a model of the others, and the model that is kept is that of all rows in the same
// form.
func TestRefit(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fit := []string{"fit", "--task", "clinic", "--target", "score", "--drop", "patient", clinics}
	both := must(t, append(fit, "--model", at("both.npz"))...)
	has(t, both, "a model of the 550 training rows", "fitted again to all 742")
	only := must(t, append(fit, "--no-refit", "--model", at("only.npz"))...)
	if strings.Contains(only, "fitted again") {
		t.Error(only)
	}
	errors := func(text string) string {
		_, text, _ = strings.Cut(text, "method  ")
		text, _, _ = strings.Cut(text, "\nterm ")
		return text
	}
	if errors(both) != errors(only) || len(errors(both)) < 500 {
		t.Errorf("the errors differ:\n%s\n%s", both, only)
	}
	rank := fmt.Sprint(load(t, at("both.npz")).Parameters().Prior.Rank)
	must(t, append(fit, "--test-fraction", "0", "--rank", rank, "--no-curves", "--model", at("all.npz"))...)
	far := func(name string) float64 { // from the coefficients of a fit to all rows that starts from nothing
		return floats.Distance(load(t, at(name)).Parameters().Tasks.Theta,
			load(t, at("all.npz")).Parameters().Tasks.Theta, 2)
	}
	if d := far("both.npz"); d > far("only.npz")/4 {
		t.Errorf("the model is not that of all rows: %v from it, the judged model %v", d, far("only.npz"))
	}
	rows := func(name string) (n int) {
		for _, k := range load(t, at(name)).Parameters().Tasks.Samples {
			n += k
		}
		return n
	}
	if rows("both.npz") != 742 || rows("only.npz") != 550 {
		t.Errorf("the models have learned %d and %d rows", rows("both.npz"), rows("only.npz"))
	}

	// A held-out row whose target has no logarithm judges, and is not learned.
	table := "t,a,h,y\n"
	for i := range 60 {
		y := fmt.Sprint(1 + i%7 + i%3)
		if i == 9 {
			y = "-1"
		}
		table += fmt.Sprintf("x%d,%d,%d,%s\n", i%4, i*i%11, map[bool]int{true: 1}[i%10 == 9], y)
	}
	path := write(t, dir, "log.csv", table)
	must(t, "fit", "--task", "t", "--target", "y", "--holdout", "h", "--log-target", "--model", at("log.npz"), path)
	if rows("log.npz") != 59 {
		t.Errorf("the model of logarithms has learned %d rows", rows("log.npz"))
	}
}

// The JSON of a training has the heading of every table: its columns, how they were read, and what looks
// wrong.
func TestHeadingsInJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, owner := range []string{"a", "b"} {
		table := ",t,color,x,twin,y\n"
		for i := range 60 {
			x := i * i % 11
			table += fmt.Sprintf("%d,%s%d,%s,%d,%d,%d\n", i, owner, i%4, []string{"red", "blue"}[i/4%2], x, 2*x,
				1+i%7+i%3)
		}
		write(t, ".", owner+".csv", table)
	}
	for _, c := range []struct {
		args   string
		tables []string
	}{{"fit a.csv", []string{"a.csv"}}, {"up a.csv b.csv", []string{"a.csv", "b.csv"}}} {
		args := append(strings.Fields(c.args), "--task", "t", "--target", "y", "--rank", "0")
		said := strings.Join(strings.Fields(must(t, args...)), " ")
		var r struct {
			Tables []struct {
				Name                    string
				Numbers, Notes, Remarks []string
				Categories              []struct {
					Column string
					Levels []string
				}
			}
		}
		if err := json.Unmarshal([]byte(must(t, append(args, "--json")...)), &r); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, table := range r.Tables {
			names = append(names, table.Name)
			if !slices.Equal(table.Numbers, []string{"x", "twin"}) || len(table.Categories) != 1 ||
				len(table.Categories[0].Levels) != 2 {
				t.Errorf("%s: %+v", c.args, table)
			}
			if len(table.Notes) == 0 || len(table.Remarks) == 0 {
				t.Errorf("%s: no notes or remarks: %+v", c.args, table)
			}
			for _, sentence := range append(table.Notes, table.Remarks...) {
				has(t, said, sentence)
			}
		}
		if !slices.Equal(names, c.tables) {
			t.Errorf("%s: tables %q, want %q", c.args, names, c.tables)
		}
	}
}

// An error about a row names its file and its line there, for every command that learns from it.
func TestPlacesOfRows(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} { // with a blank line and the row in question, the last one of task b1
		table := "t,x,y\n"
		for i := range 40 {
			y := fmt.Sprint(1 + i%7 + i%3)
			if name == "b" && i == 33 {
				table, y = table+"\n", "-1"
			}
			table += fmt.Sprintf("%s%d,%d,%s\n", name, i%4, i*i%11, y)
		}
		write(t, ".", name+".csv", table)
	}
	must(t, "fit", "--task", "t", "--target", "y", "--log-target", "--test-fraction", "0", "--model", "m.npz", "a.csv")
	for _, c := range []struct{ args, want string }{
		{"fit --task t --target y --log-target --test-fraction 0 b.csv",
			"b.csv: line 36, task \"b1\": the target -1 has no logarithm"},
		{"fit --task t --target y --log-target --test-fraction 0 a.csv b.csv",
			"b.csv, line 36, task \"b1\": the target -1 has no logarithm"},
		{"up --task t --target y --log-target --test-fraction 0 a.csv b.csv",
			"b.csv: line 36, task \"b1\": the target -1 has no logarithm"},
		{"adapt --model m.npz --out n.npz b.csv", "b.csv: line 36, task \"b1\": the target is -1"},
	} {
		refuses(t, cli.ExitFailure, c.want, strings.Fields(c.args)...)
	}
}

// A model of intercepts alone is a model for every command.
func TestInterceptsAlone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	table := "group,y\n"
	for g := range 5 {
		for i := range 10 {
			table += fmt.Sprintf("g%d,%v\n", g, 10+float64(g%2)+[]float64{-2, -1, 0, 1, 2, .5, -.5, 1.5, -1.5, 0}[i])
		}
	}
	path := write(t, dir, "groups.csv", table)
	said := must(t, "fit", "--task", "group", "--target", "y", "--model", at("m.npz"), "--report", at("report"), path)
	has(t, said, "No features: a model of intercepts.")
	m := load(t, at("m.npz"))
	if e := m.Effects(); len(e) != 1 || math.Abs(e[0].Estimate-10.4) > .3 || math.Abs(m.Noise()-1.3) > .3 {
		t.Errorf("effects %+v, noise %v", e, m.Noise())
	}
	more := write(t, dir, "more.csv", "group,y\nnew,20\nnew,21\n")
	must(t, "adapt", "--model", at("m.npz"), "--out", at("more.npz"), more)
	must(t, "predict", "--model", at("more.npz"), "--standard-errors", "--out", at("p.csv"), more)
	if p := number(t, records(t, at("p.csv"))[0]["prediction"]); p < 11 || p > 20.5 {
		t.Errorf("the new group is predicted as %v", p)
	}
	has(t, must(t, "model", "show", at("m.npz")), "(intercept)")
	first, second, _ := strings.Cut(strings.ReplaceAll(table, "group,y\n", ""), "g2")
	a := write(t, dir, "own-a.csv", "group,y\n"+strings.Repeat(first, 2))
	b := write(t, dir, "own-b.csv", "group,y\ng2"+second)
	has(t, must(t, "up", "--task", "group", "--target", "y", "--test-fraction", "0", a, b), "(intercept)")
}
