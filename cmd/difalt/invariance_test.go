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

	"github.com/difalt/difalt/mixed"
)

// A tableText is a table as rows of cells, with the names of its columns.
type tableText struct {
	columns []string
	rows    [][]string
}

// herds returns a table of tasks that differ by an intercept and a slope, with a category.
func herds(seed uint64) *tableText {
	rng := rand.New(rand.NewPCG(seed, 31))
	t := &tableText{columns: []string{"herd", "year", "dose", "kind", "y"}}
	for herd := range 14 {
		level, slope := 2*rng.NormFloat64(), .5*rng.NormFloat64()
		for i := range 18 {
			year, dose, kind := rng.IntN(30), rng.NormFloat64(), i%3
			y := 10 + level + (.3+slope/10)*float64(year) + (1+slope)*dose + 2*float64(kind) + .4*rng.NormFloat64()
			t.rows = append(t.rows, []string{fmt.Sprintf("herd %02d", herd), strconv.Itoa(year), number64(dose),
				[]string{"a", "b", "c"}[kind], number64(y)})
		}
	}
	return t
}

func number64(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// clone returns a copy with its own cells.
func (t *tableText) clone() *tableText {
	c := &tableText{columns: slices.Clone(t.columns)}
	for _, row := range t.rows {
		c.rows = append(c.rows, slices.Clone(row))
	}
	return c
}

// rescale changes a column of numbers to factor v + offset.
func (t *tableText) rescale(column string, factor, offset float64) {
	j := slices.Index(t.columns, column)
	for _, row := range t.rows {
		v, _ := strconv.ParseFloat(row[j], 64)
		row[j] = number64(factor*v + offset)
	}
}

func (t *tableText) write(test *testing.T, dir, name string) string {
	var b strings.Builder
	for _, row := range append([][]string{t.columns}, t.rows...) {
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	return write(test, dir, name, b.String())
}

// Predictions, their standard errors and the choice of the model do not depend on the form in which a table
// comes: the order of its rows, tasks and columns, its cut into files, and the units of its columns and of
// the target.
func TestFitDoesNotDependOnForm(t *testing.T) {
	t.Parallel()
	inFull(t)
	shuffled := func(t *tableText) {
		rand.New(rand.NewPCG(7, 7)).Shuffle(len(t.rows), func(i, k int) { t.rows[i], t.rows[k] = t.rows[k], t.rows[i] })
	}
	cases := map[string]struct {
		change func(t *tableText)
		unit   float64 // of the target, in units of the first table
		offset float64 // of the target, in its own units
	}{
		"rows in another order": {shuffled, 1, 0},
		"rows sorted by target": {func(t *tableText) {
			slices.SortFunc(t.rows, func(a, b []string) int { return strings.Compare(a[4], b[4]) })
		}, 1, 0},
		"rows from last to first": {func(t *tableText) { slices.Reverse(t.rows) }, 1, 0},
		"columns in another order": {func(t *tableText) {
			for _, row := range append([][]string{t.columns}, t.rows...) {
				row[0], row[1], row[2], row[3], row[4] = row[4], row[3], row[0], row[2], row[1]
			}
		}, 1, 0},
		"other names": {func(t *tableText) {
			herd := slices.Index(t.columns, "herd")
			for _, row := range t.rows {
				row[herd] = strings.ReplaceAll(strings.ReplaceAll(row[herd], "0", "x"), "1", "a")
			}
		}, 1, 0},
		"large units":     {func(t *tableText) { t.rescale("dose", 1e-9, 0); t.rescale("year", 1e-6, 0) }, 1, 0},
		"small units":     {func(t *tableText) { t.rescale("dose", 1e12, 0); t.rescale("year", 1e6, 0) }, 1, 0},
		"another zero":    {func(t *tableText) { t.rescale("year", 1, 1990); t.rescale("dose", -10, 300) }, 1, 0},
		"target in milli": {func(t *tableText) { t.rescale("y", 1e3, 0) }, 1e3, 0},
		"target in giga":  {func(t *tableText) { t.rescale("y", 1e-9, 0) }, 1e-9, 0},
		"target from 0":   {func(t *tableText) { t.rescale("y", 1, -1e4) }, 1, -1e4},
	}
	flags := []string{"--task", "herd", "--target", "y", "--categorical", "kind", "--test-fraction", "0", "--model"}
	first, dir := herds(1), t.TempDir()
	x := [][]float64{{0, 0, 0}, {20, 1, 0}, {3, -2, 0}}
	predict := func(t *testing.T, path string, task string, at int, change func(*tableText)) mixed.Prediction {
		t.Helper()
		// The row goes through the same change as the table.
		one := &tableText{columns: slices.Clone(first.columns)}
		one.rows = [][]string{{task, number64(x[at][0]), number64(x[at][1]), "b", "0"}}
		change(one)
		m := load(t, path)
		row := make([]float64, len(m.Features()))
		for j, name := range m.Features() {
			switch k := slices.Index(one.columns, name); {
			case k >= 0:
				row[j] = number(t, one.rows[0][k])
			case name == "kind=b":
				row[j] = 1
			}
		}
		p, err := m.PredictError(one.rows[0][slices.Index(one.columns, "herd")], row)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	nothing := func(*tableText) {}
	base := filepath.Join(dir, "base.npz")
	must(t, slices.Concat([]string{"fit", "--data", first.write(t, dir, "base.csv")}, flags, []string{base})...)
	check := func(t *testing.T, path string, change func(*tableText), unit, offset float64) {
		t.Helper()
		a, b := load(t, base).Parameters(), load(t, path).Parameters()
		if a.Prior.Rank != b.Prior.Rank || len(a.Design.Curves) != len(b.Design.Curves) {
			t.Errorf("rank %d with %d curves, want %d with %d", b.Prior.Rank, len(b.Design.Curves), a.Prior.Rank,
				len(a.Design.Curves))
		}
		for _, task := range []string{"herd 00", "herd 07", "herd 13", "a new one"} {
			for at := range x {
				want, got := predict(t, base, task, at, nothing), predict(t, path, task, at, change)
				for what, v := range map[string][2]float64{
					"prediction":     {want.Value, (got.Value - offset) / unit},
					"standard error": {want.StandardError, got.StandardError / unit},
					"sample error":   {want.SampleError, got.SampleError / unit},
				} {
					if !(math.Abs(v[1]-v[0]) <= 1e-5*max(math.Abs(v[0]), want.SampleError)) {
						t.Errorf("%s of task %q at %v: %v, want %v", what, task, x[at], v[1], v[0])
					}
				}
			}
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := t.TempDir()
			table, path := first.clone(), filepath.Join(own, "m.npz")
			c.change(table)
			must(t, slices.Concat([]string{"fit", "--data", table.write(t, own, "t.csv")}, flags, []string{path})...)
			check(t, path, c.change, c.unit, c.offset)
		})
	}
	t.Run("effects of large units", func(t *testing.T) {
		own := t.TempDir()
		table := first.clone()
		table.rescale("dose", 1e12, 0)
		fit := []string{"fit", "--data", table.write(t, own, "t.csv")}
		text := must(t, slices.Concat(fit, flags, []string{filepath.Join(own, "m.npz")})...)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "dose ") && !strings.Contains(line, "e-1") {
				t.Errorf("an effect of about 1e-12 is printed as %s", line)
			}
		}
	})
	for name, more := range map[string][]string{"one thread": {"--workers", "1"}, "seven threads": {"--workers", "7"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.npz")
			must(t, slices.Concat([]string{"fit", "--data", filepath.Join(dir, "base.csv")}, flags, []string{path},
				more)...)
			if string(readFile(t, path)) != string(readFile(t, base)) {
				t.Error("another model")
			}
		})
	}
	t.Run("three files", func(t *testing.T) {
		own := t.TempDir()
		path := filepath.Join(own, "m.npz")
		for i, to := range []int{50, 51, len(first.rows)} {
			part := &tableText{first.columns, first.rows[[]int{0, 50, 51}[i]:to]}
			part.write(t, own, fmt.Sprintf("t-%d.csv", i))
		}
		must(t, slices.Concat([]string{"fit", "--data", filepath.Join(own, "t-*.csv")}, flags, []string{path})...)
		if string(readFile(t, path)) != string(readFile(t, base)) {
			t.Error("another model than that of one file")
		}
	})
}
