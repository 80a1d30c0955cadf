package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A table is samples of tasks: features, target, and whether the row is held out.
type table struct {
	header []string // task, features, target, held
	rows   [][]string
}

// Names of the columns that every table has.
const (
	taskColumn   = "task"
	targetColumn = "y"
	heldColumn   = "held" // 1: only for judging
)

func newTable(features int) *table {
	t := &table{header: []string{taskColumn}}
	for j := range features {
		t.header = append(t.header, fmt.Sprintf("x%d", j+1))
	}
	t.header = append(t.header, targetColumn, heldColumn)
	return t
}

// add appends a row of numbers with six significant digits.
func (t *table) add(task string, x []float64, y float64, held bool) {
	row := []string{task}
	for _, v := range append(x[:len(x):len(x)], y) {
		row = append(row, strconv.FormatFloat(v, 'g', 6, 64))
	}
	t.rows = append(t.rows, append(row, mark(held)))
}

func mark(held bool) string {
	if held {
		return "1"
	}
	return "0"
}

// write writes the table as one file with the column held, and as two without it.
func (t *table) write(dir, name string) error {
	path := filepath.Join(dir, name)
	if err := writeCSV(path+".csv", append([][]string{t.header}, t.rows...)); err != nil {
		return err
	}
	return t.split(path+".train.csv", path+".test.csv")
}

// split writes the rows for training and those for judging, without the column held.
func (t *table) split(train, test string) error {
	last := len(t.header) - 1
	parts := map[string][][]string{"0": {t.header[:last]}, "1": {t.header[:last]}}
	for _, row := range t.rows {
		parts[row[last]] = append(parts[row[last]], row[:last])
	}
	if err := writeCSV(train, parts["0"]); err != nil {
		return err
	}
	return writeCSV(test, parts["1"])
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(rows); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func readCSV(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return rows, nil
}

// existing reads a table of which the first column is the task and the last the
// target, leaves out the columns named, and holds out rows of every task at random:
// all but train of them, or a quarter (at least one, and never all) if train is 0, or
// half if it is half.
func existing(path string, rng *rand.Rand, train int, drop ...string) (*table, error) {
	rows, err := readCSV(path)
	if err != nil {
		return nil, err
	}
	t, keep := &table{}, []int{}
	for j, name := range rows[0] {
		if !slices.Contains(drop, name) {
			keep = append(keep, j)
			t.header = append(t.header, name)
		}
	}
	t.header[0], t.header[len(t.header)-1] = taskColumn, targetColumn
	t.header = append(t.header, heldColumn)
	of := map[string][]int{}
	var order []string
	for i, row := range rows[1:] {
		if of[row[0]] == nil {
			order = append(order, row[0])
		}
		of[row[0]] = append(of[row[0]], i+1)
	}
	for _, task := range order {
		own := of[task]
		rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		n := trainRows(len(own), train)
		for k, i := range own {
			var row []string
			for _, j := range keep {
				row = append(row, rows[i][j])
			}
			t.rows = append(t.rows, append(row, mark(k >= n)))
		}
	}
	return t, nil
}

// half asks for half of the rows of every task.
const half = -1

func trainRows(rows, train int) int {
	switch train {
	case 0:
		return max(1, rows-max(1, rows/4))
	case half:
		return max(1, rows/2)
	}
	return min(train, rows)
}
