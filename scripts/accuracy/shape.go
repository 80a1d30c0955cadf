package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A shape says how tasks are drawn: y = 3 + a_t + x'(shared + own_t + low rank_t) + noise.
// Standard deviations are those of single entries.
type shape struct {
	tasks, features int
	train, most     int     // rows of a task to train on: train, or log-uniform from train to most
	factors         int     // that many common factors explain most of the features
	intercept       float64 // standard deviation of a_t
	shared          float64 // of the shared slopes
	slopes          float64 // of own_t, all independent
	rank, clusters  int     // low rank_t lies in so many directions, or is one of so many vectors
	low             float64 // of low rank_t
	noise           float64
	uneven          float64 // standard deviation of the logarithm of a task's own noise, about that of noise
	law             law
}

// A law is how what the strengths above leave open is drawn.
type law int

const (
	normal law = iota
	heavy      // noise has Student's t distribution with 3 degrees of freedom
	growth     // levels and slopes over years, in place of all strengths: see drawGrowth
)

// heldRows is the number of rows of a task held out of drawn tables: many, so that
// errors say little about chance.
const heldRows = 40

// A population is a shape with what all of its tasks share.
type population struct {
	shape
	rng                          *rand.Rand
	shared, loadings, directions []float64
	drawn                        int // tasks
}

// A task is what one task has of its own.
type task struct {
	level, noise float64
	slopes       []float64
}

func (s shape) population(rng *rand.Rand) *population {
	p := &population{shape: s, rng: rng}
	p.shared = p.normals(s.features, s.shared)
	p.loadings = p.normals(s.features*s.factors, 1)
	p.directions = p.normals(s.features*max(s.rank, s.clusters), s.low)
	return p
}

func (p *population) normals(n int, deviation float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = deviation * p.rng.NormFloat64()
	}
	return v
}

func (p *population) task() task {
	t := task{level: 3 + p.intercept*p.rng.NormFloat64(), noise: p.noise, slopes: p.normals(p.features, p.slopes)}
	b := p.normals(p.rank, 1)
	for i := range b {
		b[i] /= math.Sqrt(float64(p.rank))
	}
	if p.clusters > 0 {
		b = make([]float64, p.clusters)
		b[p.drawn%p.clusters] = 1
	}
	for j := range t.slopes {
		t.slopes[j] += p.shared[j]
		for i, v := range b {
			t.slopes[j] += v * p.directions[i*p.features+j]
		}
	}
	if p.uneven > 0 {
		t.noise *= math.Exp(p.uneven * p.rng.NormFloat64())
	}
	p.drawn++
	return t
}

// sample draws a row of a task: features, the expected target, and the target.
func (p *population) sample(t task) (x []float64, mean, y float64) {
	x = p.normals(p.features, 1)
	mean = t.level
	f := p.normals(p.factors, 1)
	for j := range x {
		for c, v := range f {
			x[j] += v * p.loadings[c*p.features+j]
		}
		mean += x[j] * t.slopes[j]
	}
	e := p.rng.NormFloat64()
	if p.law == heavy {
		square := 0.0
		for range 3 {
			v := p.rng.NormFloat64()
			square += v * v
		}
		e /= math.Sqrt(square / 3)
	}
	return x, mean, mean + t.noise*e
}

// size says how many tasks there are, and their rows for training and features.
func (s shape) size() string {
	rows := strconv.Itoa(s.train)
	if s.most > 0 {
		rows = fmt.Sprintf("%d to %d", s.train, s.most)
	}
	return fmt.Sprintf("%d x %s, %d", s.tasks, rows, s.features)
}

// generate draws a table.
func (s shape) generate(rng *rand.Rand) *table {
	if s.law == growth {
		return s.drawGrowth(rng)
	}
	t, p := newTable(s.features), s.population(rng)
	for k := range s.tasks {
		n := s.train
		if s.most > 0 {
			n = int(math.Round(float64(s.train) * math.Pow(float64(s.most)/float64(s.train), float64(k)/float64(s.tasks-1))))
		}
		own := p.task()
		for i := range n + heldRows {
			x, _, y := p.sample(own)
			t.add(fmt.Sprintf("t%03d", k+1), x, y, i >= n)
		}
	}
	return t
}

// drawGrowth draws yearly measurements of people who start and grow differently: a person's
// level at the start and growth are correlated. A quarter of the years is held out.
func (s shape) drawGrowth(rng *rand.Rand) *table {
	t := &table{header: []string{taskColumn, "year", "dose", "weight", targetColumn, heldColumn}}
	for k := range s.tasks {
		level := rng.NormFloat64()
		growth := 0.6*level + 0.8*rng.NormFloat64()
		years := s.train * 4 / 3
		held := make([]bool, years)
		for _, i := range rng.Perm(years)[:years-s.train] {
			held[i] = true
		}
		for i := range years {
			dose, weight := 20+5*rng.NormFloat64(), 75+12*rng.NormFloat64()
			y := 50 + 4*level + (0.8+0.7*growth)*float64(i) + 0.1*dose - 0.05*weight + 2*rng.NormFloat64()
			t.add(fmt.Sprintf("p%02d", k+1), []float64{float64(2010 + i), dose, weight}, y, held[i])
		}
	}
	return t
}

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

// readCSV reads a file with at least a header. If columns are given the header must be these, and is left out.
func readCSV(path string, columns ...string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case len(rows) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case columns == nil:
		return rows, nil
	case !slices.Equal(rows[0], columns):
		return nil, fmt.Errorf("%s has the columns %q: want %q", path, rows[0], columns)
	}
	return rows[1:], nil
}

// numbers returns those of cells, NaN where there is none.
func numbers(cells []string) ([]float64, error) {
	v := make([]float64, len(cells))
	for i, s := range cells {
		if v[i] = math.NaN(); s == "" {
			continue
		}
		var err error
		if v[i], err = strconv.ParseFloat(s, 64); err != nil {
			return nil, err
		}
	}
	return v, nil
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
