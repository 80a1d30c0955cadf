package main

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// Names of tasks are not formulas in a spreadsheet if that is asked for, and unchanged otherwise; numbers
// never change.
func TestSpreadsheetSafe(t *testing.T) {
	names := []string{"=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "-3", "+4.5e1", "plain", "a=b", "'quoted"}
	var b strings.Builder
	b.WriteString("t;x;y\n")
	for i := range 72 {
		b.WriteString(names[i%len(names)] + ";" + strconv.Itoa(i%7) + ";" + strconv.Itoa(i%5) + "\n")
	}
	dir := t.TempDir()
	table, model, out := write(t, dir, "t.csv", b.String()), filepath.Join(dir, "m.npz"), filepath.Join(dir, "p.csv")
	must(t, "fit", "--data", table, "--task", "t", "--target", "y", "--rank", "0", "--no-curves", "--model", model)
	safe := map[string]string{"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)"}
	for _, flag := range []string{"--spreadsheet-safe=false", "--spreadsheet-safe"} {
		must(t, "predict", "--model", model, "--data", table, "--out", out, flag)
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

// Tasks and levels that the model does not have are predicted from the mean of all tasks, marked row by
// row, and counted.
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
	refuses(t, exitFailure, `new.csv: line 2, column "weekday": the level "fri"`, "predict", "--model", x.model, "--data", data,
		"--out", out, "--known-only")
}

// Missing features are replaced, and columns outside the range of a curve are named.
func TestPredictUnusualRows(t *testing.T) {
	x := fixture(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "p.csv")
	const header = "weekday,a column with quite a long name of more than forty characters,shop,price\n"
	data := write(t, dir, "new.csv", header+"sat,0,shop 1,400\nsat,,shop 2,5\nsat,0,shop 1,100\n")
	refuses(t, exitFailure, "--missing mean fills in", "predict", "--model", x.model, "--data", data, "--out", out)
	has(t, must(t, "predict", "--model", x.model, "--data", data, "--out", out, "--missing", "mean"),
		`2 rows far from the training rows in column "price"`, `1 in "a column with`, "predictions for 3 rows of 2 tasks")
	rows := records(t, out)
	if rows[0]["prediction"] == "" || rows[1]["prediction"] == "" {
		t.Errorf("predictions are %v", rows)
	}
}

// 95 % intervals of single targets hold them: of 18 rows of new clinics at most three may be outside
// (probability .002 of more).
func TestPredictIntervals(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m.npz"), filepath.Join(dir, "p.csv")
	must(t, fitClinics("--model", model, "--rank", "2", "--no-curves")...)
	must(t, "predict", "--model", model, "--data", newClinics, "--out", out, "--standard-errors")
	scores, outside := records(t, newClinics), 0
	for i, row := range records(t, out) {
		if math.Abs(number(t, row["prediction"])-number(t, scores[i]["score"])) > 1.96*number(t, row["sample_stderr"]) {
			outside++
		}
	}
	if outside > 3 {
		t.Errorf("%d of 18 scores are outside of their intervals", outside)
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
	refuses(t, exitUsage, "is for CSV", predict("p.parquet", "--spreadsheet-safe")...)
	refuses(t, exitUsage, "expected a name that ends in .npz", "adapt", "--model", x.model, "--data", x.table, "--out",
		filepath.Join(dir, "m.json"))
	refuses(t, exitUsage, "expected a name that ends in", "model", "show", x.model, "--out", filepath.Join(dir, "e.json"))
	if n := len(folder(t, dir)); n != 2 {
		t.Errorf("%d files, want 2", n)
	}
}

// Effects are a file in the columns of broom.
func TestEffectsFile(t *testing.T) {
	x := fixture(t)
	out := filepath.Join(t.TempDir(), "e.csv")
	must(t, "model", "show", x.model, "--out", out)
	rows := records(t, out)
	kinds := map[string]int{}
	for _, row := range rows {
		kinds[row["effect"]]++
		if !(number(t, row["conf_low"]) < number(t, row["conf_high"])) {
			t.Errorf("%v: the interval is empty", row)
		}
	}
	if kinds["level"] != 1 || kinds["contrast"] != 2 || kinds["slope"] != 2 || kinds["bend"] < 1 {
		t.Errorf("effects are %v", kinds)
	}
	refuses(t, exitUsage, "--out would overwrite", "model", "show", x.model, "--out", x.model)
}
