//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// predictions returns the rows of predictions, the header first.
func predictions(t *testing.T, args ...string) (header []string, rows [][]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "p.csv")
	must(t, append([]string{"predict", "--out", out}, args...)...)
	list, err := csv.NewReader(bytes.NewReader(readFile(t, out))).ReadAll()
	if err != nil || len(list) == 0 {
		t.Fatalf("%v: %v", list, err)
	}
	return list[0], list[1:]
}

// headOfShops is the header of tables for predictions of the model of shops.
const headOfShops = "id,\"note, free\",shop,price,weekday," +
	"a column with quite a long name of more than forty characters\n"

// newShops are rows for predictions, most of which lack a value.
var newShops = []string{
	`0012,"a ""b""",shop 1,4,sat,0`,
	` 7 ,,shop 1,,sat,0`,
	`x,y,,4,sat,0`,
	`,,,,,`,
	`8,z,shop 1,4,,0`,
	`9,z,shop 99,NA,sun,0`,
	`10,z,shop 2,4,none,-0.0`,
}

// writeNewShops writes these rows as new.csv in a folder.
func writeNewShops(t *testing.T, dir string) string {
	t.Helper()
	return write(t, dir, "new.csv", headOfShops+strings.Join(newShops, "\n")+"\n")
}

// A row comes out for every row that goes in: with the columns that are kept as they are,
// and empty where there is no prediction.
func TestPredictEveryRow(t *testing.T) {
	x := fixture(t)
	table := writeNewShops(t, t.TempDir())
	for missing, empty := range map[string][]int{"drop": {1, 2, 3, 4, 5}, "mean": {2, 3}} {
		header, rows := predictions(t, "--model", x.model, "--missing", missing,
			"--standard-errors", "--keep", `id,"note, free"`, table)
		columns := strings.Join(header, "|")
		if columns != "id|note, free|task|prediction|stderr|sample_stderr|low|high|known" {
			t.Errorf("columns %s", columns)
		}
		if len(rows) != len(newShops) {
			t.Fatalf("%s: %d rows of %d", missing, len(rows), len(newShops))
		}
		for i, row := range rows {
			if none := slices.Contains(empty, i); (row[3] == "") != none || strings.Join(row[3:8], "") == "" != none {
				t.Errorf("%s: row %d is %q", missing, i, row)
			}
		}
		if rows[0][0] != "0012" || rows[1][0] != " 7 " || rows[0][1] != `a "b"` || rows[0][2] != "shop 1" ||
			rows[0][8] != "true" || rows[6][8] != "false" {
			t.Errorf("%s: rows %q", missing, rows)
		}
		for i, row := range rows {
			var v [5]float64
			for k := range v {
				v[k], _ = strconv.ParseFloat(row[3+k], 64)
			}
			if far := 1.959963984540054 * v[2]; math.Abs(v[3]-(v[0]-far)) > 1e-9 || math.Abs(v[4]-(v[0]+far)) > 1e-9 {
				t.Errorf("row %d: limits of %q", i, row)
			}
		}
	}
}

// TestPredictReports: columns to keep, missing values and other spellings.
func TestPredictReports(t *testing.T) {
	x, dir := fixture(t), t.TempDir()
	table := writeNewShops(t, dir)
	refuses(t, 1, "there are missing values", "predict", "--model", x.model, "--missing", "refuse", table)
	refuses(t, 2, `"prediction" has the name`, "predict", "--model", x.model, "--keep", "prediction", table)
	refuses(t, 2, `"id" is named twice`, "predict", "--model", x.model, "--keep", "id,id", table)
	refuses(t, 1, `no column "di"`, "predict", "--model", x.model, "--keep", "di", table)

	// The task may be kept by its own name; the output has it once.
	header, _ := predictions(t, "--model", x.model, "--keep", "shop,id", table)
	if got := strings.Join(header, "|"); got != "shop|id|task|prediction|known" {
		t.Errorf("columns %s", got)
	}

	spelled := write(t, dir, "spelled.csv", headOfShops+"1,,SHOP 01,4,sat,0\n2,,shop 1,4,sat,0\n")
	has(t, must(t, "predict", "--model", x.model, "--out", filepath.Join(dir, "s.csv"), spelled),
		`another spelling: "SHOP 01" is "shop 1".`)
	// A task that adapt adds may be one that the model has.
	added := must(t, "adapt", "--model", x.model, "--target", "id", "--out", filepath.Join(dir, "s.npz"),
		"--missing", "mean", spelled)
	has(t, added, "1 task added and 1 updated", `another spelling: "SHOP 01" is "shop 1".`)

	// The report says how many rows have none, and where the first one is.
	out := filepath.Join(dir, "p.csv")
	has(t, must(t, "predict", "--model", x.model, "--out", out, table), "7 rows", "5 rows without a prediction",
		"new.csv, line 3",
		"1 row with levels or values of periods that the model does not have")
	var r struct{ Rows, Empty, Unknown int }
	err := json.Unmarshal([]byte(must(t, "predict", "--json", "--model", x.model, "--out", out, table)), &r)
	if err != nil || r.Rows != 7 ||
		r.Empty != 5 || r.Unknown != 1 {
		t.Errorf("the report in JSON has %+v, %v", r, err)
	}
}

// A row whose numbers overflow keeps what is finite of its prediction, and all other rows have theirs.
func TestPredictOverflow(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	lines.WriteString("g,x,y\n")
	for i := range 60 {
		fmt.Fprintf(&lines, "t%d,%d,%v\n", i%6, i%7, math.Exp(float64(i%6)+.3*float64(i%7)+.1*float64(i%5)))
	}
	table := write(t, dir, "table.csv", lines.String())
	far := write(t, dir, "far.csv", "g,x\nt0,1\nt1,1e7\nt9,1e149\nt2,3\n")
	for _, flag := range []string{"--log-target", "--log-target=false"} {
		model := filepath.Join(dir, "m.npz")
		must(t, "fit", "--task", "g", "--target", "y", flag, "--model", model, table)
		_, plain := predictions(t, "--model", model, far)
		_, rows := predictions(t, "--model", model, "--standard-errors", far)
		if len(rows) != 4 || len(plain) != 4 {
			t.Fatalf("%d and %d rows of 4", len(rows), len(plain))
		}
		for i, row := range rows {
			overflows := flag == "--log-target" && (i == 1 || i == 2)
			if row[1] != plain[i][1] || row[1] == "" || row[6] != plain[i][2] ||
				(strings.Join(row[2:6], "") == "") != overflows {
				t.Errorf("%s: row %d is %q with errors and %q without", flag, i, row, plain[i])
			}
		}
		said := must(t, "predict", "--model", model, "--standard-errors", "--out", filepath.Join(dir, "p.csv"), far)
		const words = "2 rows with numbers so large that the prediction or its errors overflow"
		if flag == "--log-target" {
			has(t, said, words, "far.csv,", "line 3.")
		} else if strings.Contains(said, "overflow") {
			t.Errorf("%s: %s", flag, said)
		}
	}
}

// Numbers in another unit than in training, and levels that the model lacks, are said with their places.
func TestFarFromTraining(t *testing.T) {
	x, dir := fixture(t), t.TempDir()
	const long = "a column with quite a long name of more than forty characters"
	head := "shop,price,weekday," + long + ",sales\n"
	usual := write(t, dir, "usual.csv", head+"shop 1,4,sat,0,5\nshop 1,5,sat,1,5\n")
	far := write(t, dir, "far.csv", head+"shop 1,4,sat,0,5\nshop 1,4000,sat,0,5\nshop 2,-999,sat,0,5\n")
	levels := write(t, dir, "levels.csv", head+"shop 1,4,SAT,0,5\nshop 1,4,holiday,0,5\n")
	out := func(name string) []string { return []string{"--model", x.model, "--out", filepath.Join(dir, name)} }
	for _, command := range []string{"predict", "adapt"} {
		args := append([]string{command},
			out("o"+map[bool]string{true: ".csv", false: ".npz"}[command == "predict"])...)
		if said := must(t, append(args, usual)...); strings.Contains(said, "far from") {
			t.Errorf("%s says %s", command, said)
		}
		has(t, must(t, append(args, far)...), `2 values of "price" are far from those of the training rows`,
			"The first is 4000", "line 3)")
	}
	units := write(t, dir, "units.csv", head+"shop 1,4,sat,0,5000\nshop 1,5,sat,1,-7000\n")
	has(t, must(t, append(append([]string{"adapt"}, out("o.npz")...), units)...),
		`2 values of "sales" are far from those of the training rows`, "The first is 5000", "line 2)")
	if said := must(t, append(append([]string{"predict"}, out("o.csv")...), units)...); strings.Contains(said, "far") {
		t.Errorf("predict says %s, although it reads no target", said)
	}
	var r struct{ Remarks []string }
	said := must(t, append(append([]string{"predict", "--json"}, out("o.csv")...), levels)...)
	if err := json.Unmarshal([]byte(said), &r); err != nil || len(r.Remarks) != 2 {
		t.Fatalf("remarks %q, %v", r.Remarks, err)
	}
	has(t, strings.Join(r.Remarks, "\n"), `Column "weekday" has levels that the model does not have: "SAT", "holiday".`,
		`another spelling: "SAT" is "sat"`)
	others := write(t, dir, "others.csv", head+"shop 99,4,sat,0,5\nshop 1,4,holiday,0,5\n")
	has(t, must(t, append([]string{"predict"}, append(out("o.csv"), others)...)...),
		`1 row of tasks that the model does not have, such as "shop 99"`,
		"1 row with levels or values of periods that the model does not have")
}

// A target is far from those of a model of the logarithm where its logarithm is.
func TestFarLogarithm(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m.npz"), filepath.Join(dir, "out.npz")
	must(t, fitClinics("--rank", "0", "--no-curves", "--log-target", "--model", model)...)
	lines := strings.Split(strings.TrimSpace(string(readFile(t, newClinics))), "\n")
	with := func(name, score string) string {
		row := lines[1][:strings.LastIndex(lines[1], ",")+1] + score
		return write(t, dir, name, lines[0]+"\n"+row+"\n")
	}
	said := must(t, "adapt", "--model", model, "--out", out, with("near.csv", "120"))
	if strings.Contains(said, "far") {
		t.Errorf("120: %s", said)
	}
	has(t, must(t, "adapt", "--model", model, "--out", out, with("far.csv", ".01")),
		`1 value of "score" is far from those of the training rows`, "(both of the logarithm)", "The first is 0.01")
}

// A row has the prediction that it has alone, in every order of rows, in several files, and in every format.
func TestPredictSubsets(t *testing.T) {
	x, dir := fixture(t), t.TempDir()
	args := []string{"--model", x.model, "--missing", "mean", "--standard-errors"}
	all := strings.Split(strings.TrimSpace(string(readFile(t, x.table))), "\n")
	_, want := predictions(t, append(args, x.table)...)
	if len(want) != len(all)-1 {
		t.Fatalf("%d predictions for %d rows", len(want), len(all)-1)
	}
	for _, i := range []int{0, 7, 100, len(want) - 1} {
		one := write(t, dir, "one.csv", all[0]+"\n"+all[i+1]+"\n")
		if _, got := predictions(t, append(args, one)...); len(got) != 1 || !slices.Equal(got[0], want[i]) {
			t.Errorf("row %d alone is %q, want %q", i, got, want[i])
		}
	}
	first := write(t, dir, "part-1.csv", strings.Join(all[:100], "\n")+"\n")
	second := write(t, dir, "part-2.csv", all[0]+"\n"+strings.Join(all[100:], "\n")+"\n")
	for _, files := range [][]string{{first, second}, {"--data", filepath.Join(dir, "part-*.csv")}} {
		if _, got := predictions(t, append(args, files...)...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: other predictions", files)
		}
	}
	packed := filepath.Join(dir, "p.parquet")
	must(t, append([]string{"predict", "--keep", "price,weekday", "--out", packed}, append(args, x.table)...)...)
	// Predictions in Parquet are a table like another one.
	said := must(t, "check", "--task", "task", "--target", "prediction", packed)
	has(t, said, "360 rows", "price", "sample_stderr")
}

// Without --out the rows go to the standard output, and the report elsewhere.
func TestPredictToStandardOutput(t *testing.T) {
	inFull(t)
	x := fixture(t)
	p := launch(t, "", "", "predict", "--missing", "mean", "--model", x.model, x.table)
	code := p.code(t)
	if code != 0 || strings.Count(p.out.String(), "\n") != 361 ||
		!strings.HasPrefix(p.out.String(), "task,prediction,known\nshop 0,") {
		t.Errorf("exit code %d, output %.200q", code, p.out.String())
	}
	has(t, p.err.String(), "the standard output: 360 rows")
}

// Errors about the standard input name it.
func TestStandardInputHasAName(t *testing.T) {
	usual := os.Stdin
	t.Cleanup(func() { os.Stdin = usual })
	model := filepath.Join(t.TempDir(), "m.npz")
	write(t, filepath.Dir(model), "t.csv", "task,x,y\na,1,1\na,2,3\nb,1,0\nb,2,1\n")
	must(t, "fit", "--task", "task", "--target", "y", "--rank", "0", "--test-fraction", "0",
		"--model", model, filepath.Join(filepath.Dir(model), "t.csv"))
	for name, c := range map[string]struct {
		table, want string
		args        []string
	}{
		"a line": {"task,x,y\na,1\n", "the standard input: line 2 has 2 cells", []string{"check"}},
		"missing values": {"task,x,y\na,1,\n", "the standard input: there are missing values",
			[]string{"fit", "--task", "task", "--target", "y"}},
		"no rows": {"task,x,y\n", "the standard input: the table has zero rows",
			[]string{"predict", "--model", model}},
		"one task": {"task,x,y\na,1,1e200\n", "the standard input: line 2",
			[]string{"adapt", "--model", model, "--out", model + ".npz"}},
	} {
		f, err := os.Open(write(t, t.TempDir(), "in", c.table))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdin = f
		_, said, code := difaltCommand(t, append(c.args, "-")...)
		f.Close()
		if code != 1 || !strings.HasPrefix(said, "difalt: "+c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
}

// predict and adapt say how they read a table, in words and in JSON, and adapt also what looks wrong in it.
func TestNotesOfAppliedModels(t *testing.T) {
	t.Chdir(t.TempDir())
	table := ",t,day,x,y\n"
	for i := range 60 {
		x := fmt.Sprint(i * i % 11)
		if i%9 == 0 {
			x = "-999"
		}
		table += fmt.Sprintf("%d,a%d,2024-03-%02d,%s,%d\n", i, i%4, 1+i%28, x, 1+i%7+i%3)
	}
	write(t, ".", "a.csv", table)
	write(t, ".", "b.csv", strings.ReplaceAll(table, ",a", ",b"))
	must(t, "fit", "--task", "t", "--target", "y", "--dates", "ymd", "--rank", "0", "--no-curves", "--model", "m.npz",
		"a.csv")
	for command, remarks := range map[string]int{"predict --out p.csv": 0, "adapt --out n.npz": 1} {
		args := append(strings.Fields(command), "--model", "m.npz", "--dates", "ymd", "b.csv")
		stdout, stderr, _ := difaltCommand(t, args...)
		var r struct{ Notes, Remarks []string }
		if err := json.Unmarshal([]byte(must(t, append(args, "--json")...)), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Notes) == 0 || len(r.Remarks) < remarks {
			t.Errorf("%s: %+v", command, r)
		}
		for _, sentence := range append(r.Notes, r.Remarks...) {
			has(t, stdout+stderr, sentence)
		}
	}
}

// A datedRow is a row with a date, which Parquet holds as days.
type datedRow struct {
	Task string  `parquet:"task"`
	Day  int32   `parquet:"day,date"`
	Y    float64 `parquet:"y"`
}

// Dates that are kept are dates in the output, of every format from every format.
func TestKeptDates(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var rows []datedRow
	lines := "task,day,y\n,,\n"
	for i := range 40 {
		day := 19783 + i*3%50 // from 2024-03-01 on
		y := float64(i%4) + float64(day%7)/10
		rows = append(rows, datedRow{fmt.Sprint("a", i%4), int32(day), y})
		lines += fmt.Sprintf("a%d,%s,%v\n", i%4, time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly), y)
	}
	if err := parquet.WriteFile(at("in.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "in.csv", lines)
	must(t, "fit", "--task", "task", "--target", "y", "--rank", "0",
		"--no-curves", "--model", at("m.npz"), at("in.parquet"))
	for _, in := range []string{"in.csv", "in.parquet"} {
		for _, out := range []string{"out.csv", "out.parquet"} {
			must(t, "predict", "--model", at("m.npz"), "--dates", "ymd", "--keep", "day", "--out", at(out), at(in))
			var r checkReport
			if err := json.Unmarshal([]byte(must(t, "check", "--json", "--dates", "ymd", at(out))), &r); err != nil {
				t.Fatal(err)
			}
			day := r.Columns[0]
			if day.Name != "day" || day.ReadAs != "date" || *day.Least != 19783 ||
				strings.Contains(r.Notes[0], `dates in "day"`) != (out == "out.parquet") {
				t.Errorf("%s to %s: %+v, %q", in, out, day, r.Notes)
			}
			if text := string(readFile(t, at(out))); out == "out.csv" && !strings.Contains(text, "\n2024-03-01,") {
				t.Errorf("%s to CSV: %.200s", in, text)
			}
		}
	}
}
