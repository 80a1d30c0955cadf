package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// Numbers have digits by the size of another number, and at most nine; small ones that need more have a power
// of ten.
func TestFixed(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		of, value float64
		want      string
	}{
		{0, 1, "1.00"}, {inf, 2, "2.00"}, {nan, 3, "3.00"}, {1, 1.2345, "1.23"}, {10, 1.25, "1.2"},
		{.1, 1.25, "1.250"}, {-999, 1, "1"}, {1e9, 12, "12"}, {1e-20, 1, "1.000000000"}, {1, nan, "-"},
		{1, inf, "-"}, {1, -inf, "-"}, {1, -.001, "0.00"}, {1, 2e9, "2.000e+09"},
		// An effect of 1e-12 for a column of 1e9, with a standard error of 5e-14.
		{5.05e-14, 9.8208e-13, "9.821e-13"}, {5.05e-14, -5.05e-14, "-5.05e-14"}, {5.05e-14, 1e-18, "1e-18"},
		{5.05e-14, 0, "0.000000000"},
		{2e-9, 4e-9, "4.00e-09"}, {2e-7, 4e-9, "0.000000004"},
	} {
		if got := fixed(c.value, decimals(c.of, 2)); got != c.want {
			t.Errorf("%v with the digits of %v is %q, want %q", c.value, c.of, got, c.want)
		}
	}
}

// A long table is cut behind its first rows, and a sentence counts the others. The heading is no row.
func TestAtMost(t *testing.T) {
	for rows, want := range map[int]struct {
		shown    int
		sentence string
	}{
		0: {0, ""}, 2: {2, ""}, 3: {3, ""}, 4: {3, "Not shown: 1 row."}, 9: {3, "Not shown: 6 rows."},
	} {
		s := section{rows: text.Table{{"heading"}}, words: []string{"last"}}
		for range rows {
			s.rows = append(s.rows, []string{"row"})
		}
		words := []string{"last"}
		if want.sentence != "" {
			words = []string{want.sentence, "last"}
		}
		cut := s.atMost(3)
		if len(cut.rows) != want.shown+1 || !slices.Equal(cut.words, words) || len(s.rows) != rows+1 {
			t.Errorf("%d rows: %d are shown, %q", rows, len(cut.rows)-1, cut.words)
		}
	}
}

// A long name keeps its beginning, its end and the mark of a curve.
func TestShortTerm(t *testing.T) {
	for name, want := range map[string]string{
		"age": "age", "price (curve)": "price (curve)", "exactly twenty-four char": "exactly twenty-four char",
		"a column with quite a long name of more than forty characters":         "a column wi…y characters",
		"a column with quite a long name of more than forty characters (curve)": "a colum…aracters (curve)",
		"département de résidence=Seine-Saint-Denis":                            "département…-Saint-Denis",
		"département de résidence=Saint-Pierre":                                 "département…Saint-Pierre",
	} {
		if got := shortTerm(name); got != want || utf8.RuneCountInString(got) > 24 {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// The largest effects come first: slopes by the spread of their features, levels and curves with their
// column.
func TestLargestFirst(t *testing.T) {
	var terms []string
	for _, e := range largestFirst(curvedModel(t)) {
		terms = append(terms, string(e.Kind)+" "+e.Term)
	}
	want := []string{"intercept (intercept)", "slope c", "curve c", "contrast k=q", "slope b", "slope a"}
	if !slices.Equal(terms, want) {
		t.Errorf("effects %q, want %q", terms, want)
	}
}

// curvedModel returns a model of the features a, b, k=p, k=q and c, with a curve in c.
func curvedModel(t *testing.T) *mixed.Model {
	t.Helper()
	knots := []float64{0, 1, 2, 3}
	p := mixed.Parameters{
		Schema: mixed.Schema{Columns: []string{"a", "b", "k", "c"},
			Categories: []mixed.Category{{Column: "k", Levels: []string{"p", "q"}}}},
		Design: mixed.Design{
			Fill: make([]float64, 5), Center: make([]float64, 5), Scale: []float64{.001, 100, .5, .5, 2},
			Curves: []mixed.Curve{{Feature: 4, Knots: knots, Values: []float64{0, 1, -1, 0}}},
		},
		Target: mixed.Target{Scale: 1},
		// The slope of a is 100 per unit, that of b .001 per unit, but a has a spread of .001.
		Mean: []float64{5, .01, .1, 0, .2, 1, .5}, MeanCovariance: make([]float64, 28),
		Prior: mixed.Prior{Deviations: make([]float64, 7), Noise: mixed.Noise{Variance: 1}},
		Tasks: mixed.Tasks{Names: []string{"one"}, Samples: []int{3}, Theta: make([]float64, 7)},
	}
	for i, at := 0, 0; i < 7; i++ {
		p.MeanCovariance[at] = .01
		at += 7 - i
	}
	m, err := mixed.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Outliers are named by the lines of their files, the first five of them.
func TestOutliers(t *testing.T) {
	dir := t.TempDir()
	text := "t,a,y\n"
	for range 9 {
		text += "x,1,2\n,,\n"
	}
	path := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	table, err := dataset.ReadFiles([]string{path}, dataset.TableOptions{Task: "t", Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Result: &Result{}, sources: []Source{{}, {Table: table}}}
	for row := range 7 {
		r.Outliers = append(r.Outliers, mixed.Outlier{Task: "x", Table: 1, Row: row, Deviations: 9.5 - float64(row)/10})
	}
	got := r.describeOutliers()
	if len(got) != 1 || !strings.Contains(got[0], `line 2, task "x" (9.5); line 4, task "x" (9.4);`) ||
		!strings.Contains(got[0], "; and 2 more. Check") {
		t.Errorf("%q", got)
	}
}

// A difference that rounds to 0 has no minus sign.
func TestDifference(t *testing.T) {
	for want, v := range map[string][2]float64{"+0.0": {1, 1.01}, "-0.1": {1, 1.1}, "+2.5": {3, .5}} {
		if got := difference(v[0], v[1]); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// The table of errors is written in pieces, however many tasks there are.
func TestTasksFileStreams(t *testing.T) {
	const tasks = 30_000
	errors := []mixed.Errors{{Rows: 3, RMSE: 1.0 / 3}, {Rows: 3, RMSE: 2.0 / 3}}
	r := &Report{Result: &Result{
		Scores: []mixed.Score{{Method: mixed.Ours}, {Method: mixed.Pooled}},
		tasks: func(yield func(mixed.TaskScore) bool) {
			for k := range tasks {
				if !yield(mixed.TaskScore{Task: "task " + strconv.Itoa(k), Train: errors, Test: errors}) {
					return
				}
			}
		},
	}}
	var w pieces
	if err := r.tables()["tasks.csv"](&w); err != nil {
		t.Fatal(err)
	}
	if w.lines != 1+tasks*4 || w.longest > 1<<17 {
		t.Errorf("%d lines, pieces of up to %d bytes", w.lines, w.longest)
	}
}

// Pieces counts the lines that are written, and the bytes of the longest piece.
type pieces struct{ lines, longest int }

func (p *pieces) Write(b []byte) (int, error) {
	p.lines += bytes.Count(b, []byte("\n"))
	p.longest = max(p.longest, len(b))
	return len(b), nil
}

// The caption of the compared models says what has decided: the penalised evidence of the table, the noise by
// task, which prefers a lower rank, or the user, who has given the rank.
func TestCandidateWords(t *testing.T) {
	of := func(rank int, curves bool, penalised float64, chosen bool) mixed.Candidate {
		return mixed.Candidate{Rank: rank, Curves: curves, Penalised: penalised, Chosen: chosen}
	}
	for _, c := range []struct {
		want string
		list []mixed.Candidate
	}{
		{"The largest penalised evidence decides",
			[]mixed.Candidate{of(0, false, 1, false), of(1, false, 9, true), of(2, false, 4, false)}},
		{"The largest penalised evidence decides", []mixed.Candidate{of(0, false, 5, true), of(0, true, 7, false)}},
		{"The largest penalised evidence decides", []mixed.Candidate{of(0, false, 5, false), of(0, true, 9, true)}},
		{"With noise by task the lower rank", []mixed.Candidate{of(0, false, 5, true), of(1, false, 9, false)}},
		{"With noise by task the lower rank",
			[]mixed.Candidate{of(0, false, 5, true), of(1, false, 4, false), of(2, false, 9, false)}},
		{"The rank is given",
			[]mixed.Candidate{of(0, false, 9, false), of(1, false, 5, false), of(2, false, 4, true),
				of(2, true, 6, false)}},
		{"for each curve beyond 10. ", []mixed.Candidate{of(0, false, 5, false)}},
	} {
		r := &Report{Result: &Result{Evidence: c.list}}
		if got := r.candidateWords(); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.list, got, c.want)
		}
	}
}
