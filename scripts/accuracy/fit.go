package main

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ours is the name of difalt fit among the methods.
const ours = "difalt fit"

// resultHeader are the columns of a file of results, as peers.py writes them too.
var resultHeader = []string{"table", "seed", "method", "rmse", "ev", "seconds", "note"}

// fitTables fits every table of a folder with the defaults, and writes the errors on
// the rows held out.
func fitTables(args []string) error {
	flags := flag.NewFlagSet("fit", flag.ExitOnError)
	tables := flags.String("tables", "", "the folder of tables")
	program := flags.String("difalt", "bin/difalt", "the program")
	out := flags.String("out", "", "the file of results")
	only := flags.String("only", "", "names of tables, with commas (default all)")
	flags.Parse(args)
	rows := [][]string{resultHeader}
	err := eachTable(*tables, *only, func(name, seed, train, test string) error {
		row := []string{name, seed, ours}
		if e, err := fitTable(*program, train, test); err != nil {
			lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
			row = append(row, "", "", "", lines[len(lines)-1])
		} else {
			row = append(row, number(e.rmse), number(e.ev), strconv.FormatFloat(e.seconds, 'f', 3, 64), e.note)
		}
		rows = append(rows, row)
		fmt.Println(strings.Join(row, "\t"))
		return nil
	})
	if err != nil {
		return err
	}
	return writeCSV(*out, rows)
}

// eachTable calls do with the name, seed and files of every table of a folder, or of
// those whose names are given, with commas.
func eachTable(folder, only string, do func(name, seed, train, test string) error) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.train.csv"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no tables in %q: %w", folder, fs.ErrNotExist)
	}
	for _, path := range paths {
		base := strings.TrimSuffix(path, ".train.csv")
		name, seed, ok := cutLast(filepath.Base(base))
		if !ok || only != "" && !slices.Contains(strings.Split(only, ","), name) {
			continue
		}
		if err := do(name, seed, path, base+".test.csv"); err != nil {
			return err
		}
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// cutLast cuts a name at its last hyphen, if it has one.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	return s[:max(i, 0)], s[i+1:], i >= 0
}

type outcome struct {
	rmse, ev, seconds float64
	note              string
}

// warned matches what fit says first when it did not converge.
var warned = regexp.MustCompile(`(?i)not converged|did not converge|diverged`)

// fitTable trains on one file and judges on another.
func fitTable(program, train, test string) (*outcome, error) {
	dir, err := os.MkdirTemp("", "accuracy-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	model := filepath.Join(dir, "model.npz")
	begin := time.Now()
	said, err := runProgram(program, "fit", "--data", train, "--task", taskColumn, "--target", targetColumn,
		"--test-fraction", "0", "--model", model)
	if err != nil {
		return nil, err
	}
	e := &outcome{seconds: time.Since(begin).Seconds(), note: warned.FindString(said)}
	predictions, err := predict(program, model, test, dir)
	if err != nil {
		return nil, err
	}
	rows, err := readCSV(test)
	if err != nil {
		return nil, err
	}
	var y, p []float64
	covered := 0
	for i, row := range rows[1:] {
		v, err := numbers(row[len(row)-1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", test, err)
		}
		y, p = append(y, v[0]), append(p, predictions[i].y)
		if math.Abs(v[0]-predictions[i].y) <= 1.96*predictions[i].single {
			covered++
		}
	}
	e.rmse, e.ev = judge(y, p)
	e.note = strings.TrimSpace(fmt.Sprintf("covers %.3f %s", float64(covered)/float64(len(y)), e.note))
	return e, nil
}

// judge returns the root mean square error of predictions, and the variance explained.
func judge(y, p []float64) (rmse, ev float64) {
	rmse = floats.Distance(y, p, 2) / math.Sqrt(float64(len(y)))
	return rmse, 1 - rmse*rmse/stat.PopVariance(y, nil)
}

// runProgram runs the program and returns what it said.
func runProgram(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// A prediction is one with the standard errors of the expected target and of a single
// one: NaN if the program gave none.
type prediction struct{ y, mean, single float64 }

// predict returns the predictions of a model for all rows of a table.
func predict(program, model, table, dir string) ([]prediction, error) {
	path := filepath.Join(dir, "predictions.csv")
	if _, err := runProgram(program, "predict", "--model", model, "--data", table, "--out", path, "--standard-errors"); err != nil {
		return nil, err
	}
	rows, err := readCSV(path, "task", "prediction", "stderr", "sample_stderr", "known")
	if err != nil {
		return nil, err
	}
	var out []prediction
	for i, row := range rows {
		v, err := numbers(row[1:4])
		if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", path, i+1, err)
		}
		out = append(out, prediction{v[0], v[1], v[2]})
	}
	return out, nil
}
