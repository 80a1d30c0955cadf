package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/google/go-cmp/cmp"
)

const (
	clinics    = "../../examples/clinics.csv"
	newClinics = "../../examples/new-clinics.csv"
)

var update = flag.Bool("update", false, "write the golden files of this package")

var here, _ = os.Getwd() // the folder of this package

// fixtureFolder is removed at the end of all tests.
var fixtureFolder string

// A trained is one training that many tests look at: the paths of its table, model and report.
type trained struct{ table, model, report string }

// shops returns a table with a curve, a category, missing values and a column of a long name, of shops of
// which some numbers are left out.
func shops() string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("shop,price,weekday,a column with quite a long name of more than forty characters,note,sales\n")
	for i := range 12 {
		level, slope := 3*r.NormFloat64(), 1+.5*r.NormFloat64()
		for k := range 30 {
			price, other, day := 10*r.Float64(), r.NormFloat64(), []string{"mon", "sat", "sun"}[k%3]
			y := 20 + level + 8*math.Sin(price/2) + slope*other + 2*float64(k%3) + .5*r.NormFloat64()
			cell := fmt.Sprintf("%.3f", price)
			if k == 7 {
				cell = ""
			}
			fmt.Fprintf(&b, "shop %d,%s,%s,%.3f,n%d,%.3f\n", i, cell, day, other, k, y)
		}
	}
	return b.String()
}

// fitShops are the flags of a fit to that table.
var fitShops = []string{"--task", "shop", "--target", "sales", "--drop", "note", "--categorical", "weekday",
	"--missing", "mean",
	"--common-noise"}

var train = sync.OnceValues(func() (*trained, error) {
	dir, err := os.MkdirTemp("", "difalt")
	if err != nil {
		return nil, err
	}
	fixtureFolder = dir
	x := &trained{table: filepath.Join(dir, "shops.csv"), model: filepath.Join(dir, "m.npz"),
		report: filepath.Join(dir, "report")}
	if err := os.WriteFile(x.table, []byte(shops()), 0o666); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	args := slices.Concat([]string{"fit", "--data", x.table}, fitShops,
		[]string{"--model", x.model, "--report", x.report})
	if code := run(context.Background(), args, io.Discard, &stderr); code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, stderr.String())
	}
	return x, nil
})

// fixture returns the training that tests share.
func fixture(t *testing.T) *trained {
	t.Helper()
	x, err := train()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// golden compares an output with a file in testdata: numbers to 3 digits, since other processors have other
// last digits, and all else exactly.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(here, "testdata", name)
	got = filepath.ToSlash(got) // the names of files
	if *update {
		write(t, filepath.Dir(path), filepath.Base(path), got)
		return
	}
	want := string(readFile(t, path))
	if diff := cmp.Diff(linesOf(want), linesOf(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// linesOf returns the lines of an output.
func linesOf(s string) (list []line) {
	for l := range strings.Lines(s) {
		list = append(list, line(strings.TrimRight(l, "\n")))
	}
	return list
}

// A line of an output equals another one whose numbers are near.
type line string

var numberInText = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)

// Equal implements the interface of go-cmp.
func (l line) Equal(other line) bool {
	words := func(text line) string {
		return strings.Join(strings.Fields(numberInText.ReplaceAllString(string(text), "#")), " ")
	}
	if words(l) != words(other) {
		return false
	}
	a, b := numberInText.FindAllString(string(l), -1), numberInText.FindAllString(string(other), -1)
	return slices.EqualFunc(a, b, func(x, y string) bool {
		v, _ := strconv.ParseFloat(x, 64)
		w, _ := strconv.ParseFloat(y, 64)
		_, first, _ := strings.Cut(x, ".")
		_, second, _ := strings.Cut(y, ".")
		digits := min(len(first), len(second))
		return math.Abs(v-w) <= 1e-6*max(math.Abs(v), math.Abs(w))+
			1.5*math.Pow(10, -float64(digits))*float64(min(digits, 1))
	})
}

func TestGoldenNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b line
		same bool
	}{
		{"x 1.234", "x  1.235", true}, {"x 1.234", "x 1.239", false}, {"rank 1", "rank 2", false},
		{"a 3 b", "a 3 c", false},
		{"12345.6", "12345.7", true}, {"1.234567", "1.234667", false},
	} {
		if c.a.Equal(c.b) != c.same {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
}

var picture = regexp.MustCompile(`(?s)<svg.*?<desc>(.*?)</desc>.*?</svg>`)

// The text, the JSON and the page of one training, and the files beside the page. The names of files are
// relative: lines of text break at 80 columns, wherever temporary files are.
func TestGoldenReports(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "shops.csv", shops())
	fit := slices.Concat([]string{"fit", "--data", "shops.csv"}, fitShops)
	golden(t, "fit.txt", must(t, append(fit, "--model", "m.npz", "--report", "report")...))
	golden(t, "fit.json", strings.ReplaceAll(must(t, append(fit, "--json")...), cli.Version(), "VERSION"))
	page := string(readFile(t, "report", "index.html"))
	page = picture.ReplaceAllString(page, "[$1]")
	_, page, _ = strings.Cut(page, "</style>")
	golden(t, "page.html", strings.ReplaceAll(page, cli.Version(), "VERSION"))
	golden(t, "effects.csv", string(readFile(t, "report", "effects.csv")))
	golden(t, "show.txt", must(t, "model", "show", "m.npz"))
}

// visits returns a table with dates, along which the target follows a curve.
func visits() string {
	r := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("clinic,visited,dose,score\n")
	for i := range 20 {
		level := r.NormFloat64()
		for range 25 {
			day, dose := r.IntN(1400), r.NormFloat64()
			y := level + dose + 3*math.Sin(float64(day)/220) + .3*r.NormFloat64()
			date := time.Date(2020, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			fmt.Fprintf(&b, "c%d,%s,%.3f,%.3f\n", i, date, dose, y)
		}
	}
	return b.String()
}

var (
	drawn     = regexp.MustCompile(`(?s)<figure id="(.*?)">.*?</figure>`)
	drawnText = regexp.MustCompile(`<text [^>]*>(.*?)</text>`)
)

// The page of a training along dates: its figures have dates, and no numbers of days, on their axes and in
// their descriptions.
func TestGoldenDates(t *testing.T) {
	t.Chdir(t.TempDir())
	content := visits()
	table := write(t, ".", "visits.csv", content)
	must(t, "fit", "--task", "clinic", "--target", "score", "--dates", "ymd", "--report", "report", table)
	text := ""
	for _, figure := range drawn.FindAllStringSubmatch(string(readFile(t, "report", "index.html")), -1) {
		text += figure[1] + "\n"
		if words := picture.FindStringSubmatch(figure[0]); words != nil {
			text += words[1] + "\n"
		}
		for _, label := range drawnText.FindAllStringSubmatch(figure[0], -1) {
			text += "    " + label[1] + "\n"
		}
	}
	golden(t, "dates.txt", text)
	dates := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindAllString(content, -1)
	slices.Sort(dates)
	_, curve, _ := strings.Cut(text, "curve-1\n")
	has(t, curve, "at "+dates[0]+",", "at "+dates[len(dates)-1]+".") // a curve goes as far as the rows
}

// A model keeps which columns are dates: what shows it, and what compares rows with it, has dates and no
// numbers of days. Models of owners and of adapt do, too.
func TestModelsKeepDates(t *testing.T) {
	t.Chdir(t.TempDir())
	header, rows, _ := strings.Cut(visits(), "\n")
	lines := strings.SplitAfter(rows, "\n")
	write(t, ".", "a.csv", header+"\n"+strings.Join(lines[:250], ""))
	write(t, ".", "b.csv", header+"\n"+strings.Join(lines[250:], ""))
	write(t, ".", "far.csv", header+"\nc0,2099-12-31,0,1\nnew,2021-01-01,0,1\n")
	columns := []string{"--task", "clinic", "--target", "score", "--dates", "ymd"}
	must(t, append(columns, "fit", "--model", "one.npz", "a.csv", "b.csv")...)
	must(t, append(columns, "up", "--model", "owners.npz", "a.csv", "b.csv")...)
	said := must(t, "adapt", "--dates", "ymd", "--model", "one.npz", "--out", "adapted.npz", "far.csv")
	has(t, said, "The first is 2099-12-31 (line 2)", " days.")
	day := regexp.MustCompile(`curve +visited, from 20(19|20)-\d\d-\d\d to 202[34]-\d\d-\d\d with`)
	for _, model := range []string{"one.npz", "owners.npz", "adapted.npz"} {
		if shown := must(t, "model", "show", model); !day.MatchString(shown) {
			t.Errorf("%s:\n%s", model, shown)
		}
		said := must(t, "predict", "--dates", "ymd", "--model", model, "--out", "p.csv", "far.csv")
		has(t, said, `1 value of "visited" is far from those of the training rows, whose mean is 202`,
			"The first is 2099-12-31 (")
	}
}

// smallTable returns a table of tasks with columns t, x0, x1, ... and y.
func smallTable(r *rand.Rand, tasks, rows, features int) []byte {
	var b bytes.Buffer
	b.WriteString("t")
	for j := range features {
		fmt.Fprintf(&b, ",x%d", j)
	}
	b.WriteString(",y\n")
	for i := range tasks * rows {
		fmt.Fprintf(&b, "task %d", i%tasks)
		sum := float64(i % tasks)
		for j := range features {
			v := r.NormFloat64()
			sum += v * float64(j)
			fmt.Fprintf(&b, ",%.4f", v)
		}
		fmt.Fprintf(&b, ",%.4f\n", sum+r.NormFloat64()/10)
	}
	return b.Bytes()
}
