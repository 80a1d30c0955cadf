package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/model"
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

// The documented round trip: fit, predict, adapt to new tasks, predict them.
func TestFitPredictAdapt(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, fitClinics("--model", at("m.npz"))...)
	has(t, must(t, "adapt", "--model", at("m.npz"), "--data", newClinics, "--out", at("m2.npz")),
		"3 tasks added and 0 updated from 18 rows; the model has 43 tasks now")
	has(t, must(t, "adapt", "--model", at("m2.npz"), "--data", newClinics, "--out", at("p.npz")),
		"0 tasks added and 3 updated from 18 rows; the model has 43 tasks now")
	for table, model := range map[string]string{clinics: "m.npz", newClinics: "m2.npz"} {
		must(t, "predict", "--model", at(model), "--data", table, "--out", at("p.csv"))
		var sse, sum, squares, n float64
		rows, predictions := records(t, table), records(t, at("p.csv"))
		if len(rows) != len(predictions) {
			t.Fatalf("%d predictions for %d rows", len(predictions), len(rows))
		}
		for i, row := range rows {
			y, p := number(t, row["score"]), number(t, predictions[i]["prediction"])
			if row["clinic"] != predictions[i]["task"] || predictions[i]["known"] != "true" {
				t.Fatalf("row %d: %v, %v", i, row, predictions[i])
			}
			sse, sum, squares, n = sse+(y-p)*(y-p), sum+y, squares+y*y, n+1
		}
		if explained := 1 - sse/(squares-sum*sum/n); explained < .5 {
			t.Errorf("%s: the predictions explain %.2f of the variance", table, explained)
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
		"--rank is 99: must be from 0 to":       fitClinics("--rank", "99"),
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

// The terminal and the JSON have the same numbers, and no line is wider than a terminal.
func TestTextAndJSONAgree(t *testing.T) {
	x := fixture(t)
	var r struct {
		Verdict   struct{ Text string }
		Converged bool
		Methods   []struct {
			Name    string
			HeldOut struct{ RMSE float64 } `json:"held_out"`
		}
		Effects []struct{ Term string }
	}
	if err := json.Unmarshal([]byte(x.json), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Converged || len(r.Methods) < 4 {
		t.Errorf("%+v", r)
	}
	has(t, x.text, r.Verdict.Text)
	for _, m := range r.Methods {
		shown := regexp.MustCompile("(?m)^" + m.Name + ` +(\S+)`).FindStringSubmatch(x.text)
		if shown == nil {
			t.Fatalf("the text has no line of %q", m.Name)
		}
		if v, err := strconv.ParseFloat(shown[1], 64); err != nil || math.Abs(v-m.HeldOut.RMSE) > 5e-4 {
			t.Errorf("%s: the text has %s, the JSON %v", m.Name, shown[1], m.HeldOut.RMSE)
		}
	}
	for _, e := range r.Effects {
		has(t, x.text, e.Term)
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
