package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// Numbers that are not finite, or so large that squares of them are not, are refused at every entry point
// with the place where they are, or lead to a result of finite numbers; nothing computes with them without an
// end.
func TestNumbersThatAreNotFinite(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	train := []string{"--task", "herd", "--target", "y", "--categorical", "kind"}
	good, others := herds(1), herds(2)
	for _, row := range others.rows {
		row[0] = "other " + row[0]
	}
	fit := []string{"fit", "--data", good.write(t, dir, "good.csv"), "--rank", "0",
		"--no-curves", "--model", at("m.npz")}
	must(t, append(fit, train...)...)
	for i, cell := range []string{"NaN", "nan", "Inf", "-inf", "+Infinity", "1e999", "-1e999", "1e308", "1e200"} {
		for _, column := range []int{1, 4} { // a feature and the target
			table := good.clone()
			table.rows[40][column] = cell
			own := at(fmt.Sprintf("%d-%d", i, column))
			path := table.write(t, own, "spoilt.csv")
			others.write(t, own, "others.csv")
			for _, args := range [][]string{
				slices.Concat([]string{"fit", "--data", path, "--rank", "1"}, train),
				slices.Concat([]string{"up", "--data", filepath.Join(own, "*.csv"), "--rank", "1"}, train),
				{"predict", "--model", at("m.npz"), "--data", path, "--out", at("p.csv"),
					"--standard-errors", "--missing", "refuse"},
				{"adapt", "--model", at("m.npz"), "--data", path, "--out", at("a.npz")},
			} {
				stdout, stderr, code := difaltCommand(t, args...)
				switch {
				case code == 0:
					if strings.Contains(stdout, "NaN") || strings.Contains(stdout, "Inf") {
						t.Errorf("%s in %s, %s: %s", cell, good.columns[column], args[0], stdout)
					}
					if args[0] == "predict" {
						for _, row := range records(t, at("p.csv")) {
							v := number(t, row["prediction"]) + number(t, row["stderr"])
							if math.IsNaN(v) || math.IsInf(v, 0) {
								t.Errorf("%s in %s: predicts %v", cell, good.columns[column], row)
							}
						}
					}
				case code != cli.ExitFailure:
					t.Errorf("%s in %s, %s: exit code %d: %s", cell, good.columns[column], args[0], code, stderr)
				default:
					for _, want := range []string{"spoilt.csv", `"` + good.columns[column] + `"`} {
						if !strings.Contains(stderr, want) {
							t.Errorf("%s in %s, %s: the message lacks %s: %s", cell, good.columns[column], args[0],
								want, stderr)
						}
					}
				}
			}
		}
	}
}

// Problem files with numbers that are not finite are refused with their place. A run on huge or tiny numbers
// ends, with finite numbers or with an error.
func TestProblemsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	const features, rows = 3, 20
	dir := t.TempDir()
	for name, c := range map[string]struct {
		x, y float64 // of one row
		want string  // of the message; empty for any end
	}{
		"NaN in X":      {math.NaN(), 1, `array "X": entry [7, 1] is NaN`},
		"Inf in X":      {math.Inf(-1), 1, `array "X": entry [7, 1] is -Inf`},
		"NaN in y":      {1, math.NaN(), `array "y": entry [7] is`},
		"Inf in y":      {1, math.Inf(1), `array "y": entry [7] is`},
		"huge X":        {1e300, 1, ""},
		"huge y":        {1, 1e300, ""},
		"huge X and y":  {1e200, -1e200, ""},
		"smallest X":    {5e-324, 1, ""},
		"smallest both": {5e-324, 5e-324, ""},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".npz")
		x, y := make([]float64, rows*features), make([]float64, rows)
		for i := range x {
			x[i] = math.Sin(float64(7 * i))
			y[i/features] += x[i]
		}
		x[7*features+1], y[7] = c.x, c.y
		writeProblem(t, path, x, y, 1)
		for _, method := range []string{"dif", "altgdmin", "dec", "dgd", "accelerated"} {
			out := filepath.Join(dir, method+".npz")
			stdout, stderr, code := difaltCommand(t, "run", "--data", path, "--rank", "1", "--nodes", "1",
				"--method", method,
				"--any-features", "--iterations", "50", "--out", out)
			switch {
			case c.want != "" && (code != cli.ExitFailure || !strings.Contains(stderr, c.want)):
				t.Errorf("%s, %s: exit code %d, %s, want %s", name, method, code, stderr, c.want)
			case code == 0 || code == cli.ExitUnconverged:
				if strings.Contains(stdout, "NaN") || !finite(array(t, out, "U")) || !finite(array(t, out, "B")) {
					t.Errorf("%s, %s: the result is not finite: %s", name, method, stdout)
				}
			case code != cli.ExitFailure || !strings.Contains(stderr, "difalt: "):
				t.Errorf("%s, %s: exit code %d, %s", name, method, code, stderr)
			}
		}
	}
}
