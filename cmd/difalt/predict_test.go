package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// On request, no name of a task is a formula in a spreadsheet; without, names are as
// they are, and numbers always.
func TestSpreadsheetSafe(t *testing.T) {
	names := []string{"=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "-3", "+4.5e1", "plain", "a=b", "'quoted"}
	var b strings.Builder
	b.WriteString("t;x;y\n")
	for i := range 72 {
		b.WriteString(names[i%len(names)] + ";" + string(rune('0'+i%7)) + ";" + string(rune('0'+i%5)) + "\n")
	}
	dir := t.TempDir()
	table, model, out := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.npz"), filepath.Join(dir, "p.csv")
	if err := os.WriteFile(table, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", table, "--task", "t", "--target", "y", "--rank", "1", "--iterations", "5", "--ridge", "1", "--model", model); code != 0 {
		t.Fatal(stderr)
	}
	safe := map[string]string{"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)"}
	for _, flag := range []string{"--spreadsheet-safe=false", "--spreadsheet-safe"} {
		if _, stderr, code := difaltCommand(t, "predict", "--model", model, "--data", table, "--out", out, flag); code != 0 {
			t.Fatal(stderr)
		}
		for i, row := range records(t, out) {
			want := names[i%len(names)]
			if s, ok := safe[want]; ok && flag == "--spreadsheet-safe" {
				want = s
			}
			if row["task"] != want {
				t.Errorf("%s: task %q, want %q", flag, row["task"], want)
			}
		}
	}
	if got := withoutFormula("\tx"); got != "'\tx" {
		t.Errorf("a cell that begins with a tab becomes %q", got)
	}
}

// A table of tasks that the model does not know is predicted by what tasks share, and says so row by row; the width of intervals is wider
// than that of known tasks, and 95 in 100 hold their target: of 18 rows three at most may be outside (probability .002 of more).
func TestPredictNewTasks(t *testing.T) {
	inFull(t)
	model, out := clinicModel(t), filepath.Join(t.TempDir(), "p.csv")
	stdout, stderr, code := difaltCommand(t, "predict", "--model", model, "--data", newClinics, "--out", out, "--standard-errors")
	if code != 0 || !strings.Contains(stdout, "18 rows of tasks or levels that the model does not know") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	scores := records(t, newClinics)
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	outside := 0
	for i, row := range records(t, out) {
		if row["known"] != "false" || row["task"] != scores[i]["clinic"] {
			t.Errorf("row %d: %v", i, row)
		}
		if d := number(row["prediction"]) - number(scores[i]["score"]); math.Abs(d) > 1.96*number(row["sample_stderr"]) {
			outside++
		}
	}
	if outside > 3 {
		t.Errorf("%d of 18 scores are outside of their intervals", outside)
	}
}

// The extension of --out says how predictions are written, and one that cannot be honoured is refused before anything is read.
func TestPredictFormats(t *testing.T) {
	inFull(t)
	model, dir := clinicModel(t), t.TempDir()
	predict := func(out string, more ...string) (string, int) {
		_, stderr, code := difaltCommand(t, append([]string{"predict", "--model", model, "--data", clinics, "--out", out}, more...)...)
		return stderr, code
	}
	for _, name := range []string{"p.csv", "p.parquet", "p.jsonl", "p.npy"} {
		if stderr, code := predict(filepath.Join(dir, name), "--standard-errors"); code != 0 {
			t.Fatal(stderr)
		}
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
	for i, row := range records(t, filepath.Join(dir, "p.csv")) {
		if v, err := strconv.ParseFloat(row["prediction"], 64); err != nil || lines[i] != (line{row["task"], v, row["known"] == "true"}) {
			t.Fatalf("row %d is %v in CSV and %v in Parquet", i, row, lines[i])
		}
	}
	if n := strings.Count(string(readFile(t, filepath.Join(dir, "p.jsonl"))), "\n"); n != len(lines) {
		t.Errorf("%d lines of JSON for %d rows", n, len(lines))
	}
	if !strings.Contains(string(readFile(t, filepath.Join(dir, "p.npy"))[:200]), "('task', '<U3'), ('prediction', '<f8'), ('stderr', '<f8'), ('sample_stderr', '<f8'), ('known', '|b1')") {
		t.Error("the array of NumPy has other fields")
	}
	for _, name := range []string{"p.json", "p.xlsx", "p.csv.gz"} {
		if stderr, code := predict(filepath.Join(dir, name)); code != exitUsage || !strings.Contains(stderr, "--out") || !strings.Contains(stderr, name) {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
	if stderr, code := predict(filepath.Join(dir, "p.npy"), "--spreadsheet-safe"); code != exitUsage || !strings.Contains(stderr, "is for CSV") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	for _, args := range [][]string{
		{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--model", filepath.Join(dir, "m.csv")},
		{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--trace", filepath.Join(dir, "t.parquet")},
		{"adapt", "--model", model, "--data", newClinics, "--out", filepath.Join(dir, "m.json")},
		{"simulate", "--out", dir, "--export", filepath.Join(dir, "x.npy")},
	} {
		if _, stderr, code := difaltCommand(t, args...); code != exitUsage || !strings.Contains(stderr, "want a name that ends in") {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 4 {
		t.Errorf("files are %v", entries)
	}
}

// Rows that are far beyond all training rows are counted, with the columns in which they are.
func TestPredictFarRows(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("t,x,z,y\n")
	for i := range 60 {
		b.WriteString(string(rune('a'+i%3)) + "," + strconv.Itoa(i%10) + "," + strconv.Itoa(i%7) + "," + strconv.Itoa(i%10+i%4) + "\n")
	}
	table, far, model, out := filepath.Join(dir, "t.csv"), filepath.Join(dir, "far.csv"), filepath.Join(dir, "m.npz"), filepath.Join(dir, "p.csv")
	if err := errors.Join(os.WriteFile(table, []byte(b.String()), 0o666), os.WriteFile(far, []byte("t,x,z\na,19,1\na,12,1\nb,1e9,1\nc,1,-8\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := difaltCommand(t, "fit", "--data", table, "--task", "t", "--target", "y", "--model", model, "--test-fraction", "0"); code != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, code := difaltCommand(t, "predict", "--model", model, "--data", far, "--out", out)
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), `3 rows far beyond all training rows in column "x", "z"`) {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if stdout, _, _ = difaltCommand(t, "predict", "--model", model, "--data", table, "--out", out); strings.Contains(stdout, "beyond") {
		t.Errorf("training rows: %s", stdout)
	}
}

func TestPredictionsAreCSV(t *testing.T) {
	inFull(t)
	path, _ := fitClinics(t, "--iterations", "5", "--rank", "1")
	out := filepath.Join(t.TempDir(), "p.csv")
	if _, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", clinics, "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	text, records := string(readFile(t, out)), records(t, out)
	if !strings.HasPrefix(text, "task,prediction") || len(records) != 798 || records[0]["task"] != "C01" {
		t.Errorf("%d records of %.100q", len(records), text)
	}
}

// The features of a problem file have names too: a model of others does not take them for its own, however many they are.
func TestPredictOtherFeatures(t *testing.T) {
	t.Parallel()
	for _, features := range []string{"8", "5"} { // clinics have 8
		dir := t.TempDir()
		problem, out := filepath.Join(dir, "p.npz"), filepath.Join(dir, "p.csv")
		if _, stderr, code := difaltCommand(t, "simulate", "--nodes", "3", "--tasks", "6", "--features", features, "--rank", "2", "--samples", "8", "--graph", "ring",
			"--trials", "1", "--iterations", "1", "--out", filepath.Join(dir, "s"), "--export", problem); code != 0 {
			t.Fatal(stderr)
		}
		for _, missing := range []string{"refuse", "mean"} {
			_, stderr, code := difaltCommand(t, "predict", "--model", clinicModel(t), "--data", problem, "--out", out, "--missing", missing)
			if _, err := os.Stat(out); code != 1 || err == nil || !strings.Contains(stderr, `"x0"`) || !strings.Contains(stderr, `"age"`) {
				t.Errorf("%s features: exit code %d: %s", features, code, stderr)
			}
		}
	}
}
