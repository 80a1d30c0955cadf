package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/stat"
)

// fitClinics are the arguments of a fit to the example table.
func fitClinics(more ...string) []string {
	return append([]string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient"}, more...)
}

func load(t *testing.T, path string) *model.Model {
	t.Helper()
	m, err := model.Load(path)
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
	}{{clinics, "m.npz", "true", 60, .5}, {newClinics, "m.npz", "false", 3, -1}, {newClinics, "m2.npz", "true", 3, .5}} {
		must(t, "predict", "--model", at(c.model), "--data", c.table, "--out", at("p.csv"), "--standard-errors")
		var residuals, targets []float64
		rows, predictions, outside := records(t, c.table), records(t, at("p.csv")), 0
		for i, row := range rows {
			y, p := number(t, row["score"]), predictions[i]
			if row["clinic"] != p["task"] || p["known"] != c.known {
				t.Fatalf("row %d: %v, %v", i, row, p)
			}
			residuals, targets = append(residuals, y-number(t, p["prediction"])), append(targets, y)
			if math.Abs(residuals[i]) > 1.96*number(t, p["sample_stderr"]) {
				outside++
			}
		}
		if explained := 1 - stat.Variance(residuals, nil)/stat.Variance(targets, nil); explained < c.explained || outside > c.outside {
			t.Errorf("%s of %s: %d of %d scores are outside of their intervals; predictions explain %.2f of the variance", c.model, c.table,
				outside, len(rows), explained)
		}
	}
	if n := len(folder(t, dir)); n != 4 {
		t.Errorf("%d files, want 4", n)
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
		stdout := must(t, append([]string{"fit", "--data", filepath.Join(dir, name), "--model", path, "--rank", "0", "--no-curves"},
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
	fit := func(more ...string) model.Parameters {
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
	if p := fit("--rank", "0", "--no-curves", "--log-target", "--test-fraction",
		".5"); !p.Target.Log || p.Tasks.Samples[0] != 15 || p.Prior.Rank != 0 {
		t.Errorf("log %v, %d rows of the first task, rank %d", p.Target.Log, p.Tasks.Samples[0], p.Prior.Rank)
	}
	if a, b := fit("--rank", "0", "--no-curves", "--seed", "2"), fit("--rank", "0", "--no-curves", "--workers",
		"1"); a.Mean[0] == b.Mean[0] {
		t.Error("the seed does not choose other rows")
	}
}

// Without held-out rows the words explain no error on them, and their errors are null in JSON.
func TestFitWithoutHeldOutRows(t *testing.T) {
	for share, want := range map[string]bool{"0": false, ".2": true} {
		args := []string{"fit", "--data", fixture(t).table, "--rank", "0", "--no-curves", "--test-fraction", share}
		if stdout := must(t, append(args, fitShops...)...); strings.Contains(stdout, "held-out RMSE") != want || !strings.Contains(stdout, "RMSE: root") {
			t.Errorf("%s of the rows are held out: %s", share, stdout)
		}
	}
	var r struct {
		Verdict struct{ Gain *float64 }
		Methods []struct {
			HeldOut struct{ RMSE *float64 } `json:"held_out"`
			Train   struct{ RMSE *float64 }
		}
	}
	args := []string{"fit", "--data", fixture(t).table, "--rank", "0", "--no-curves", "--test-fraction", "0", "--json"}
	if err := json.Unmarshal([]byte(must(t, append(args, fitShops...)...)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Gain != nil || r.Methods[0].HeldOut.RMSE != nil || r.Methods[0].Train.RMSE == nil {
		t.Errorf("errors on held-out rows should be null: %+v", r)
	}
}

func TestFitDataErrors(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, dir, "bad.csv", "t,n,a,m,y\nx,p,1,q,2\nx,q,2,r,3\n")
	gap := write(t, dir, "gap.csv", "t,a,y\nx,1,2\nx,,3\nz,2,4\n")
	comma := write(t, dir, "comma.csv", "t;a;y\nx;1,5;2\nx;2,5;3\nz;2;4\n")
	short := write(t, dir, "short.npz", "PK\x03\x04")
	table := func(path string, more ...string) []string {
		return append([]string{"fit", "--data", path, "--task", "t", "--target", "y"}, more...)
	}
	for want, args := range map[string][]string{
		"no.csv: no such file":                  table(filepath.Join(dir, "no.csv")),
		`use --categorical n,m for categories`:  table(bad),
		`there is no column "z" for the target`: {"fit", "--data", bad, "--task", "t", "--target", "z"},
		"--missing drop leaves such rows out":   table(gap),
		"--decimal ,":                           table(comma),
		`there is no column "nothing"`:          fitClinics("--holdout", "nothing"),
		`column "age"`:                          fitClinics("--holdout", "age"),
		"--model: cannot write":                 fitClinics("--model", filepath.Join(dir, "no", "m.npz")),
		"--rank is 99: it must be from 0 to 9":  fitClinics("--rank", "99"),
		"a model is a file that \"difalt fit":   {"predict", "--model", clinics, "--data", clinics, "--out", filepath.Join(dir, "p.csv")},
		"short.npz: not a complete .npz file":   {"model", "show", short},
		"--out: cannot write": {"predict", "--model", "m.npz", "--data", clinics, "--out", filepath.Join(dir,
			"no", "p.csv")},
		"m.npz: no such file": {"adapt", "--model", "m.npz", "--data", clinics, "--out", filepath.Join(dir, "m2.npz")},
	} {
		if _, stderr, code := difaltCommand(t, args...); code == 0 || code > exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, message %q, want %q", args, code, stderr, want)
		}
	}
	if n := len(folder(t, dir)); n != 4 {
		t.Errorf("the failed commands left files: %d", n)
	}
}

// The terminal and the JSON have the same errors.
func TestTextAndJSONAgree(t *testing.T) {
	x := fixture(t)
	var r struct {
		Methods []struct {
			Name    string
			HeldOut struct{ RMSE float64 } `json:"held_out"`
		}
	}
	if err := json.Unmarshal([]byte(x.json), &r); err != nil || len(r.Methods) < 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, m := range r.Methods {
		if row := fmt.Sprintf("%-21s  %13.3f", m.Name, m.HeldOut.RMSE); !strings.Contains(x.text, row) {
			t.Errorf("the text lacks %q", row)
		}
	}
}

// A page that cannot be written leaves the model as it was.
func TestFailedReportKeepsModel(t *testing.T) {
	dir := t.TempDir()
	old := write(t, dir, "m.npz", "old")
	if err := os.MkdirAll(filepath.Join(dir, "report/tasks.csv/x"), 0o777); err != nil {
		t.Fatal(err)
	}
	refuses(t, exitFailure, "folder", append([]string{"fit", "--data", fixture(t).table, "--model", old, "--report",
		filepath.Join(dir, "report"), "--rank", "0", "--no-curves"}, fitShops...)...)
	if left := folder(t, dir); len(left) != 1 || string(left[old]) != "old" {
		t.Errorf("%d files are there, the model is %.20q", len(left), left[old])
	}
}

// Tasks and levels that the model does not have are predicted from the mean of all tasks, marked row by
// row, and counted. Missing features are replaced.
func TestPredictUnknown(t *testing.T) {
	x := fixture(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "p.csv")
	const long = "a column with quite a long name of more than forty characters"
	data := write(t, dir, "new.csv", "weekday,"+long+",shop,price\nfri,0,shop 1,4\nsat,0,shop 1,4\nsat,0,shop 99,4\n")
	has(t, must(t, "predict", "--model", x.model, "--data", data, "--out", out, "--standard-errors"),
		"2 rows of tasks or levels that the model does not have")
	rows := records(t, out)
	width := func(i int) float64 { return number(t, rows[i]["stderr"]) }
	if rows[0]["known"] != "false" || rows[1]["known"] != "true" || rows[2]["known"] != "false" || !(width(0) > width(1) && width(2) > width(1)) {
		t.Errorf("a new level, known, a new task: %v", rows)
	}
	data = write(t, dir, "new.csv", "weekday,"+long+",shop,price\nsat,0,shop 1,400\nsat,,shop 2,5\n")
	refuses(t, exitFailure, "--missing mean fills in", "predict", "--model", x.model, "--data", data, "--out", out)
	has(t, must(t, "predict", "--model", x.model, "--data", data, "--out", out, "--missing", "mean"), `1 in "a column with`,
		"predictions for 2 rows of 2 tasks")
	if rows := records(t, out); rows[0]["prediction"] == "" || rows[1]["prediction"] == "" {
		t.Errorf("predictions are %v", rows)
	}
}

// The extension of --out chooses the format, and another one is refused before anything is read.
func TestPredictFormats(t *testing.T) {
	x := fixture(t)
	dir := t.TempDir()
	predict := func(name string, more ...string) []string {
		return append([]string{"predict", "--model", x.model, "--data", x.table, "--missing", "mean", "--out", filepath.Join(dir,
			name)}, more...)
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
	for _, name := range []string{"p.json", "p.jsonl", "p.npy", "p.csv.gz"} {
		refuses(t, exitUsage, "expected a name that ends in .csv, .parquet", predict(name)...)
	}
	refuses(t, exitUsage, "expected a name that ends in .npz", "adapt", "--model", x.model, "--data", x.table, "--out",
		filepath.Join(dir, "m.json"))
	refuses(t, exitUsage, "expected a name that ends in", "model", "show", x.model, "--out", filepath.Join(dir, "e.json"))
	if n := len(folder(t, dir)); n != 2 {
		t.Errorf("%d files, want 2", n)
	}
}

// Effects are a file in the columns of broom, the same as beside the page.
func TestEffectsFile(t *testing.T) {
	x := fixture(t)
	out := filepath.Join(t.TempDir(), "e.csv")
	must(t, "model", "show", x.model, "--out", out)
	kinds := map[string]int{}
	for _, row := range records(t, out) {
		if kinds[row["effect"]]++; !(number(t, row["conf_low"]) < number(t, row["conf_high"])) {
			t.Errorf("%v: the interval is empty", row)
		}
	}
	if diff := cmp.Diff(map[string]int{"level": 1, "contrast": 2, "slope": 2, "bend": 2}, kinds); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(readFile(t, out), readFile(t, x.report, "effects.csv")) {
		t.Error("the page has other effects")
	}
}
