package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
)

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
