package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/longtest"
)

// drawnColumns are the kinds of columns of anyTableText: a cell from a number of mean 0 and variance 1, and
// the task.
var drawnColumns = []func(v float64, task int) string{
	func(v float64, _ int) string { return number64(v) },
	func(v float64, _ int) string { return number64(math.Exp(v)) },
	func(v float64, _ int) string { return strconv.Itoa(int(2 * v)) },
	func(v float64, _ int) string { return strconv.FormatBool(v > 0) },
	func(v float64, _ int) string {
		return time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(100*v)).Format(time.DateOnly)
	},
	func(v float64, task int) string {
		if task == 2 && v > 1 {
			return "of one task"
		}
		return []string{"red", "green", "blue"}[int(math.Abs(3*v))%3]
	},
}

// anyTableText returns a table of drawn columns, with weights and marks of held-out rows, and flags of a
// training. Some cells may have no value.
func anyTableText(r *rand.Rand) (t *tableText, flags []string) {
	t = &tableText{columns: []string{"task", "weight", "held", "y"}}
	kinds := make([]int, 1+r.IntN(4))
	for j := range kinds {
		kinds[j] = r.IntN(len(drawnColumns))
		t.columns = append(t.columns, fmt.Sprint("x", j))
	}
	missing, log := r.IntN(3) == 0, r.IntN(4) == 0
	for task := range 9 + r.IntN(9) {
		level, slope := r.NormFloat64(), r.NormFloat64()
		rows := 8 + r.IntN(20)
		if r.IntN(5) == 0 {
			rows = 1 + r.IntN(3)
		}
		for i := range rows {
			y := level + .5*r.NormFloat64()
			weight, held := r.IntN(4), max(r.IntN(5)-3, 0)
			if i == 0 { // so that every owner has a training row
				weight, held = 1, 0
			}
			row := []string{fmt.Sprint("task ", task), strconv.Itoa(weight), strconv.Itoa(held), ""}
			for _, kind := range kinds {
				v := r.NormFloat64()
				y += slope * v / 2
				cell := drawnColumns[kind](v, task)
				if missing && i > 0 && r.IntN(12) == 0 {
					cell = ""
				}
				row = append(row, cell)
			}
			if log {
				y = math.Exp(y / 2)
			}
			row[3] = number64(y)
			t.rows = append(t.rows, row)
		}
	}
	features := strings.Join(t.columns[4:], ",")
	flags = []string{"--task", "task", "--target", "y", "--dates", "ymd", "--features", features}
	choices := [][]string{{"--sample-weights", "weight"}, {"--common-noise"}, {"--no-curves"},
		{"--rank", strconv.Itoa(r.IntN(3))}}
	for _, choice := range choices {
		if r.IntN(3) == 0 {
			flags = append(flags, choice...)
		}
	}
	held := [][]string{{"--holdout", "held"}, {"--test-fraction", "0"}}[r.IntN(2)]
	rule := [][]string{{"--missing", "mean"}, {"--missing", "drop"}}[r.IntN(2)]
	if flags = slices.Concat(flags, held, rule); log {
		flags = append(flags, "--log-target")
	}
	return t, flags
}

// dealt writes the rows of a table to files of so many owners, each with all rows of some tasks.
func (t *tableText) dealt(test *testing.T, dir string, owners int, r *rand.Rand) (files []string) {
	own, order := map[string]int{}, r.Perm(len(t.rows))
	for _, row := range t.rows {
		if _, found := own[row[0]]; !found {
			own[row[0]] = len(own) % owners
		}
	}
	for g := range owners {
		part := &tableText{columns: t.columns}
		for _, i := range order {
			if own[t.rows[i][0]] == g {
				part.rows = append(part.rows, t.rows[i])
			}
		}
		files = append(files, part.write(test, dir, fmt.Sprintf("owner%d.csv", g)))
	}
	return files
}

// differ returns the largest difference of two files of predictions, in values and their errors, in units of
// the scale or of the value.
func differ(t *testing.T, one, other string, scale float64) (most float64) {
	t.Helper()
	a, b := records(t, one), records(t, other)
	if len(a) != len(b) {
		t.Fatalf("%d predictions and %d", len(a), len(b))
	}
	for i, row := range a {
		for _, name := range []string{"prediction", "stderr"} {
			if row[name] == "" && b[i][name] == "" { // a value is missing
				continue
			}
			v, w := number(t, row[name]), number(t, b[i][name])
			most = max(most, math.Abs(v-w)/max(scale, math.Abs(v)))
		}
	}
	return most
}

// Owners without rules have the model of difalt fit on all their files, whatever the columns, the flags and
// the cut: predictions agree, also after tasks were learned. Where they differ for a reason that owners
// always have, the report names it.
func TestUpIsFit(t *testing.T) {
	tables := uint64(12)
	switch {
	case longtest.Enabled():
		tables = 200
	case testing.Short():
		tables = 4
	}
	compared := uint64(0)
	for seed := range tables {
		r, dir := rand.New(rand.NewPCG(seed, 32)), t.TempDir()
		table, flags := anyTableText(r)
		files := table.dealt(t, dir, 3+r.IntN(4), r)
		at := func(name string) string { return filepath.Join(dir, name) }
		fit := must(t, slices.Concat([]string{"fit", "--no-refit", "--model", at("fit.npz")}, flags, files)...)
		open := []string{"--least-rows", "0", "--least-level", "0", "--least-small", "0"}
		up := must(t, slices.Concat([]string{"up", "--model", at("up.npz")}, open, flags, files)...)
		flat := strings.Join(strings.Fields(fit+up), " ")
		if strings.Contains(flat, "that they count less than half") ||
			strings.Contains(flat, "All tasks have the same noise") ||
			strings.Contains(flat, "The errors of this owner are in no total") {
			continue
		}
		compared++
		known := &tableText{columns: table.columns, rows: table.rows[:20]}
		fresh := known.clone()
		for i, row := range fresh.rows {
			row[0] = fmt.Sprint("new ", i%3)
		}
		path := fresh.write(t, dir, "new.csv")
		scale := load(t, at("fit.npz")).Parameters().Target.Scale
		all := []string{known.write(t, dir, "known.csv"), path}
		tolerance := 1e-9
		if slices.Contains(flags, "--log-target") {
			scale, tolerance = 0, 1e-7
		}
		for _, step := range []string{"", "-new"} {
			for _, name := range []string{"fit", "up"} {
				if step != "" {
					must(t, "adapt", "--model", at(name+".npz"), "--out", at(name+step+".npz"), "--dates", "ymd",
						"--missing", "drop", path)
				}
				must(t, slices.Concat([]string{"predict", "--model", at(name + step + ".npz"), "--standard-errors",
					"--dates", "ymd", "--out", at(name + step + ".csv")}, all)...)
			}
			if most := differ(t, at("fit"+step+".csv"), at("up"+step+".csv"), scale); most > tolerance {
				t.Errorf("table %d, %d owners, %q: predictions%s differ by %v", seed, len(files), flags, step, most)
			}
		}
	}
	if compared < tables/2 {
		t.Errorf("only %d of %d tables were compared", compared, tables)
	}
}
