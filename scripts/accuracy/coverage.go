package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/difalt/difalt/internal/text"
	"gonum.org/v1/gonum/stat"
)

// normal95 is the 97.5 % quantile of the normal distribution.
const normal95 = 1.959964

// coverageShapes are what intervals are judged on; each with 12, 40 and 200 tasks and 5
// and 20 features.
var coverageShapes = []struct {
	name string
	shape
}{
	{"intercepts", shape{train: 15, intercept: 1, shared: 0.4, noise: 1}},
	{"rank 2", shape{train: 20, intercept: 1, shared: 0.4, rank: 2, low: 0.5, noise: 1}},
	{"own slopes", shape{train: 25, intercept: 1, shared: 0.4, slopes: 0.4, noise: 1}},
}

const (
	newTasks  = 20 // that are added to a model, once with each number of rows
	judgeRows = 10 // rows a task on which intervals are judged
)

var newRows = []int{4, 12}

// coverageHeader are the columns of the file of coverages: shares of rows whose
// expected target (mean) or target (single) lies within the 95 % interval, their
// standard errors over repeats, the share of rows without an interval, and the root mean
// square errors of predictions and of the tasks' means.
var coverageHeader = []string{"shape", "tasks", "features", "rows", "which", "mean", "mean_error", "single", "single_error", "without",
	"rmse", "task_mean_rmse"}

// coverage writes how often 95 % intervals cover, on data that are drawn.
func coverage(args []string) error {
	flags := flag.NewFlagSet("coverage", flag.ExitOnError)
	program := flags.String("difalt", "bin/difalt", "the program")
	out := flags.String("out", "", "the file of coverages")
	repeats := flags.Int("repeats", 20, "the number of data sets a line")
	seed := flags.Uint64("seed", 71, "the seed")
	flags.Parse(args)
	dir, err := os.MkdirTemp("", "coverage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rows := [][]string{coverageHeader}
	for i, c := range coverageShapes {
		for _, tasks := range []int{12, 40, 200} {
			for _, features := range []int{5, 20} {
				s := c.shape
				s.tasks, s.features = tasks, features
				s.low /= math.Sqrt(float64(features) / 5)
				s.slopes /= math.Sqrt(float64(features) / 5)
				lines := make([]tally, 1+len(newRows))
				for r := range *repeats {
					rng := rand.New(rand.NewPCG(*seed, uint64(((i*1000+tasks)*100+features)*1000+r)))
					if err := s.cover(*program, dir, rng, lines); err != nil {
						return err
					}
				}
				for k := range lines {
					which, n := "known", s.train
					if k > 0 {
						which, n = "new", newRows[k-1]
					}
					row := append([]string{c.name, strconv.Itoa(tasks), strconv.Itoa(features), strconv.Itoa(n), which}, lines[k].cells()...)
					rows = append(rows, row)
					fmt.Println(row)
				}
			}
		}
	}
	return writeCSV(*out, rows)
}

// A tally has, for every repeat, the shares of rows whose expected target and whose target
// are covered and of those without an interval, and the mean squares of the errors of
// predictions and of the tasks' means.
type tally [5][]float64

func (t *tally) cells() []string {
	var cells []string
	add := func(v float64) { cells = append(cells, strconv.FormatFloat(v, 'f', 4, 64)) }
	for _, shares := range t[:2] {
		mean, deviation := stat.MeanStdDev(shares, nil)
		add(mean)
		add(stat.StdErr(deviation, float64(len(shares))))
	}
	add(stat.Mean(t[2], nil))
	for _, squares := range t[3:] {
		add(math.Sqrt(stat.Mean(squares, nil)))
	}
	return cells
}

// cover draws one data set, fits it, adds new tasks to the model, and appends a repeat
// to the tallies: known tasks, then new ones for every number of rows.
func (s shape) cover(program, dir string, rng *rand.Rand, lines []tally) error {
	p := s.population(rng)
	path := func(name string) string { return filepath.Join(dir, name) }
	known, err := p.draw(path("train.csv"), path("test.csv"), s.tasks, s.train)
	if err != nil {
		return err
	}
	if _, err := runProgram(program, "fit", "--data", path("train.csv"), "--task", taskColumn, "--target", targetColumn,
		"--test-fraction", "0", "--model", path("model.npz")); err != nil {
		return err
	}
	if err := lines[0].add(program, path("model.npz"), path("test.csv"), dir, known); err != nil {
		return err
	}
	for k, n := range newRows {
		fresh, err := p.draw(path("new.csv"), path("newtest.csv"), newTasks, n)
		if err != nil {
			return err
		}
		if _, err := runProgram(program, "adapt", "--model", path("model.npz"), "--data", path("new.csv"), "--out", path("model2.npz")); err != nil {
			return err
		}
		if err := lines[k+1].add(program, path("model2.npz"), path("newtest.csv"), dir, fresh); err != nil {
			return err
		}
	}
	return nil
}

// A target is what a prediction is judged by, and the mean of its task's rows for
// training.
type target struct{ mean, y, taskMean float64 }

// draw writes rows of new tasks for training and for judging, and returns the targets
// of the latter.
func (p *population) draw(train, test string, tasks, rows int) ([]target, error) {
	t, judged := newTable(p.features), []target{}
	for range tasks {
		own := p.task()
		name, sum := fmt.Sprintf("t%04d", p.drawn), 0.0
		for i := range rows + judgeRows {
			x, mean, y := p.sample(own)
			t.add(name, x, y, i >= rows)
			if i < rows {
				sum += y
			} else {
				judged = append(judged, target{mean, y, sum / float64(rows)})
			}
		}
	}
	return judged, t.split(train, test)
}

// add appends a repeat: what the predictions of a model say about the targets.
func (t *tally) add(program, model, test, dir string, judged []target) error {
	predictions, err := predict(program, model, test, dir)
	if err != nil {
		return err
	}
	var sum [5]float64
	for i, p := range predictions {
		at := judged[i]
		switch {
		case math.IsNaN(p.mean) || math.IsNaN(p.single):
			sum[2]++
		default:
			if math.Abs(at.mean-p.y) <= normal95*p.mean {
				sum[0]++
			}
			if math.Abs(at.y-p.y) <= normal95*p.single {
				sum[1]++
			}
		}
		sum[3] += (at.y - p.y) * (at.y - p.y)
		sum[4] += (at.y - at.taskMean) * (at.y - at.taskMean)
	}
	for k, v := range sum {
		t[k] = append(t[k], v/float64(len(judged)))
	}
	return nil
}

// coverageTable returns one line for every kind of data, of the lines for known tasks and
// for new ones, and a sentence on all of them.
func coverageTable(path string) (table, sentence string, err error) {
	rows, err := readCSV(path, coverageHeader...)
	if err != nil {
		return "", "", err
	}
	head := []string{"data", "tasks", "features", "known: expected", "known: single"}
	for _, n := range newRows {
		head = append(head, fmt.Sprintf("new, %d rows: expected", n), "single", "RMSE", "of the mean")
	}
	percent := func(share float64) string { return fmt.Sprintf("%.1f", 100*share) }
	t := text.Table{head}
	least, most, largest := 1.0, 0.0, 0.0
	for group := range slices.Chunk(rows, 1+len(newRows)) {
		cells := slices.Clone(group[0][:3])
		for j, row := range group {
			v, err := numbers(row[5:])
			if err != nil {
				return "", "", fmt.Errorf("%s: %q: %w", path, row, err)
			}
			cells = append(cells, percent(v[0]), percent(v[2]))
			if j > 0 {
				cells = append(cells, fmt.Sprintf("%.2f", v[5]), fmt.Sprintf("%.2f", v[6]))
			}
			least, most, largest = min(least, v[0], v[2]), max(most, v[0], v[2]), max(largest, v[1], v[3])
		}
		t = append(t, cells)
	}
	return t.Markdown(), fmt.Sprintf("From %s to %s %%; the standard errors over the data sets drawn are at most %s %%.",
		percent(least), percent(most), percent(largest)), nil
}
