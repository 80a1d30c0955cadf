package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// records reads a CSV file as maps from column to cell.
func records(t *testing.T, path string) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(readFile(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for j, name := range rows[0] {
			m[name] = row[j]
		}
		out = append(out, m)
	}
	return out
}

func cellNumber(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		t.Fatalf("column %s of %v: %v", column, row, err)
	}
	return v
}

// The page must be whole, need no network, and name every feature; the tables must
// add up to one another.
func TestReport(t *testing.T) {
	t.Parallel()
	inFull(t)
	dir := filepath.Join(t.TempDir(), "a", "report")
	fitClinics(t, "--train-rows-per-task", "8", "--iterations", "60", "--report", dir)
	text := string(readFile(t, dir, "index.html"))
	for _, want := range []string{"Predicting score", "<svg", "viewBox", "Error per task", "Tasks along a column", "Levels of tasks", "Residuals", "Effects in the units", "Convergence", "What tasks differ by", "Evidence for the rank",
		"pressure", "glucose", model.ConstantFeature, "axis 1", "</html>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(text, "<svg") != 7 {
		t.Errorf("the page has %d figures, want 7", strings.Count(text, "<svg"))
	}
	for _, bad := range []string{"<script", "<link", "src=", "@import", "url(", "NaN", "ZgotmplZ", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	squares, errors := map[string]float64{}, map[string]map[string]float64{}
	for _, row := range records(t, filepath.Join(dir, "tasks.csv")) {
		if row["set"] == "test" {
			if errors[row["task"]] == nil {
				errors[row["task"]] = map[string]float64{}
			}
			errors[row["task"]][row["method"]] = cellNumber(t, row, "rmse")
		}
		n, rmse := cellNumber(t, row, "rows"), cellNumber(t, row, "rmse")
		squares[row["method"]+row["set"]] += n * rmse * rmse
	}
	scores := records(t, filepath.Join(dir, "scores.csv"))
	other, least, better := "", 0.0, 0
	for _, row := range scores {
		if row["set"] == "test" && row["method"] != fit.Ours && (other == "" || cellNumber(t, row, "rmse") < least) {
			other, least = row["method"], cellNumber(t, row, "rmse")
		}
	}
	for _, of := range errors {
		if of[fit.Ours] < of[other] {
			better++
		}
	}
	if want := fmt.Sprintf("the smaller error, which holds for %d of %d tasks", better, len(errors)); !strings.Contains(text, want) || better == 0 {
		t.Errorf("the page does not say %q", want)
	}
	if len(scores) != 12 {
		t.Errorf("%d scores, want those of 6 methods on 2 sets", len(scores))
	}
	for _, row := range scores {
		n, rmse := cellNumber(t, row, "rows"), cellNumber(t, row, "rmse")
		if got := squares[row["method"]+row["set"]]; math.Abs(got-n*rmse*rmse) > 1e-9*got {
			t.Errorf("%v: squared errors of the tasks are %v, of all %v", row, got, n*rmse*rmse)
		}
	}
	if tried := records(t, filepath.Join(dir, "evidence.csv")); len(tried) < 4 || tried[1]["log_evidence"] != "0" {
		t.Errorf("candidates are %v", tried)
	}
	for _, name := range []string{"evidence", "tasks", "lines", "levels", "residuals"} {
		checkPicture(t, filepath.Join(dir, name))
	}
}

// checkPicture asserts that name.png and name.svg are images.
func checkPicture(t *testing.T, name string) {
	t.Helper()
	if _, err := png.Decode(bytes.NewReader(readFile(t, name+".png"))); err != nil {
		t.Error(err)
	}
	d := xml.NewDecoder(bytes.NewReader(readFile(t, name+".svg")))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// Without anything held out or tuned, and of a problem file, there is a page too.
func TestPlainReport(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	problem, report := filepath.Join(dir, "p.npz"), filepath.Join(dir, "r")
	if _, stderr, code := difaltCommand(t, "simulate", "--nodes", "3", "--features", "12", "--tasks", "9", "--samples", "10", "--rank", "2",
		"--trials", "1", "--iterations", "3", "--out", filepath.Join(dir, "s"), "--export", problem); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", problem, "--rank", "2", "--iterations", "30", "--report", report); code != 0 {
		t.Fatal(stderr)
	}
	text := string(readFile(t, report, "index.html"))
	if strings.Count(text, "<svg") != 3 || !strings.Contains(text, "distance to the truth") || strings.Contains(text, "NaN") {
		t.Error("the page of a problem file is not right")
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", problem, "--rank", "2", "--report", problem); code == 0 || !strings.Contains(stderr, "--report: ") {
		t.Errorf("a report into a file: %q", stderr)
	}
}

func TestLearningCurveCommand(t *testing.T) {
	inFull(t)
	path, _ := fitClinics(t, "--iterations", "60", "--rank", "2")
	dir := filepath.Join(t.TempDir(), "curve")
	args := []string{"adapt", "--model", path, "--data", newClinics, "--learning-curve", dir}
	stdout, stderr, code := difaltCommand(t, args...)
	if code != 0 {
		t.Fatal(stderr)
	}
	rows := records(t, filepath.Join(dir, "learning-curve.csv"))
	// 6 rows a clinic: 1, 2, 3 to train on, and 3 of each to test on, 5 times.
	if len(rows) != 12 || rows[0]["samples"] != "1" || rows[11]["samples"] != "3" || rows[0]["rows"] != strconv.Itoa(5*3*3) {
		t.Errorf("the curve is %v", rows)
	}
	if !strings.Contains(stdout, "3 tasks that the model has not seen") || !strings.Contains(stdout, "rows of a    ours") {
		t.Errorf("output %q", stdout)
	}
	checkPicture(t, filepath.Join(dir, "learning-curve"))
	_, stderr, code = difaltCommand(t, append(args, "--out", "m.npz")...)
	if code != exitUsage || !strings.Contains(stderr, "need one of --out FILE and --learning-curve DIR") {
		t.Errorf("exit code %d, message %q", code, stderr)
	}
}

func TestPredictStandardErrors(t *testing.T) {
	inFull(t)
	path, _ := fitClinics(t, "--iterations", "60", "--rank", "2")
	out := filepath.Join(t.TempDir(), "p.csv")
	if _, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", clinics, "--out", out, "--standard-errors"); code != 0 {
		t.Fatal(stderr)
	}
	m, err := model.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := records(t, out)
	if len(rows) != 798 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		e, sample := cellNumber(t, row, "stderr"), cellNumber(t, row, "sample_stderr")
		noise, err := m.TaskNoise(row["task"])
		if err != nil || !(e > 0) || math.Abs(sample*sample-e*e-noise*noise) > 1e-9*sample*sample {
			t.Fatalf("row %v, noise %v, %v", row, noise, err)
		}
	}
}

func TestModelShow(t *testing.T) {
	inFull(t)
	path, _ := fitClinics(t, "--iterations", "30", "--rank", "2")
	stdout, stderr, code := difaltCommand(t, "model", "show", path)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"version 6, trained by accelerated", `"score"`, `"clinic"`, `40: "C01", "C02"`, "8, and a constant", "axis 2", "pressure", model.ConstantFeature, "Standard deviations"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output lacks %q:\n%s", want, stdout)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"model", "show"}, exitUsage, "takes one model file, but got 0 arguments"},
		{[]string{"model", "list"}, exitUsage, `unknown command "model list"`},
		{[]string{"model", "show", clinics}, exitFailure, "clinics.csv: not a complete .npz file"},
		{[]string{"model", "show", "none.npz"}, exitFailure, "none.npz: no such file"},
	} {
		_, stderr, code := difaltCommand(t, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, message %q, want %q", c.args, code, stderr, c.want)
		}
	}
}
