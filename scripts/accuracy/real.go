package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/difalt/difalt/internal/text"
)

// linear are the methods of the page that know no curves.
func linear() []string {
	var out []string
	for _, c := range columns {
		if c.head != "boosting" {
			out = append(out, c.methods...)
		}
	}
	return out
}

// curved are those that do.
var curved = []struct {
	head    string
	methods []string
}{
	{"splines", []string{"spline: intercept", "spline: intercept, slope", "spline: intercept, slope, square"}},
	{"boosting", []string{"boosting"}},
}

// A real table, as real.csv describes it, and what was measured: medians over the seeds of errors over
// those of the best linear method, and how many of all intervals hold their row.
type realTable struct {
	description
	away     bool // from every decision
	own      float64
	splines  float64
	boosting float64
	best     string // the linear method that is most often the best
	covered  float64
}

// readReal reads what real.csv, real-peers.csv and real-fit.csv say.
func readReal(folder string) ([]realTable, error) {
	r := results{}
	for _, name := range []string{"real-peers.csv", "real-fit.csv"} {
		if err := r.read(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	rows, err := readCSV(filepath.Join(folder, "real.csv"))
	if err != nil {
		return nil, err
	}
	var tables []realTable
	for _, row := range rows[1:] {
		t := realTable{description: description{row[0], row[1], row[2]}, away: row[3] == "away"}
		if r.measure(&t) {
			tables = append(tables, t)
		}
	}
	slices.SortStableFunc(tables, func(a, b realTable) int { return cmp.Compare(b.own, a.own) }) // losses first
	return tables, nil
}

// measure fills in what was measured of a table, and reports whether that is anything.
func (r results) measure(t *realTable) bool {
	var own, splines, boosting []float64
	wins, covered, seeds := map[string]int{}, 0.0, 0.0
	for _, seed := range slices.Sorted(maps.Keys(r[t.name])) {
		least, method := r.best(t.name, seed, linear())
		e, ok := r[t.name][seed][ours]
		if !ok || method == "" {
			continue
		}
		wins[method]++
		if wins[method] > wins[t.best] || t.best == "" {
			t.best = method
		}
		over := func(methods []string) float64 {
			v, _ := r.best(t.name, seed, methods)
			return v / least
		}
		own = append(own, e.rmse/least)
		splines, boosting = append(splines, over(curved[0].methods)), append(boosting, over(curved[1].methods))
		var share float64
		if _, err := fmt.Sscanf(e.note, "covers %g", &share); err == nil {
			covered, seeds = covered+share, seeds+1
		}
	}
	t.own, t.splines, t.boosting, t.covered = median(own), median(splines), median(boosting), covered/seeds
	return len(own) > 0
}

// realTables is the part of the page on real tables.
func realTables(tables []realTable) (rows, meaning string) {
	out := text.Table{{"table", "tasks x rows, features", "package: item", "`fit`", "splines", "boosting", "best linear method", "95 % intervals hold", "kept away"}}
	for _, t := range tables {
		away := ""
		if t.away {
			away = "yes"
		}
		out = append(out, []string{t.name, t.size, t.what, "**" + ratio(t.own) + "**", ratio(t.splines), ratio(t.boosting), t.best,
			fmt.Sprintf("%.1f", 100*t.covered), away})
	}
	for _, away := range []bool{true, false} {
		part := slices.DeleteFunc(slices.Clone(tables), func(t realTable) bool { return t.away != away })
		if len(part) > 0 {
			meaning += summary(part, map[bool]string{true: "Of those kept away", false: "Of the others"}[away])
		}
	}
	meaning += summary(tables, "Of all")
	return out.Markdown(), meaning
}

// summary says in a sentence how many tables are lost and won.
func summary(tables []realTable, of string) string {
	logs, worse, better, near, covered := 0.0, 0, 0, 0, 0
	curves := 0
	for _, t := range tables {
		logs += math.Log(t.own)
		if t.own > 1.02 {
			worse++
		}
		if t.own < 0.98 {
			better++
		}
		if t.splines < 0.95 {
			curves++
			if t.own <= 1.1*t.splines {
				near++
			}
		}
		if t.covered >= 0.92 && t.covered <= 0.97 {
			covered++
		}
	}
	n := len(tables)
	return fmt.Sprintf("%s (%d) `fit` has %.3f of the error of the best linear method in the geometric mean, is worse by more than 2 %% on %d and better by that on %d; "+
		"on %d of %d that are curved (a spline is better than every line by 5 %%) it is within 10 %% of the best spline model; 92 to 97 %% of the intervals hold on %d.\n",
		of, n, math.Exp(logs/float64(n)), worse, better, near, curves, covered)
}
