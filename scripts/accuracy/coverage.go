package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
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

// A tally has the shares of covered rows of every repeat.
type tally struct{ mean, single, without, squares, meanSquares []float64 }

func (t *tally) cells() []string {
	var cells []string
	for _, v := range [][]float64{t.mean, t.single} {
		m, e := meanError(v)
		cells = append(cells, strconv.FormatFloat(m, 'f', 4, 64), strconv.FormatFloat(e, 'f', 4, 64))
	}
	without, _ := meanError(t.without)
	squares, _ := meanError(t.squares)
	meanSquares, _ := meanError(t.meanSquares)
	for _, v := range []float64{without, math.Sqrt(squares), math.Sqrt(meanSquares)} {
		cells = append(cells, strconv.FormatFloat(v, 'f', 4, 64))
	}
	return cells
}

func meanError(v []float64) (mean, standardError float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	square := 0.0
	for _, x := range v {
		square += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(square / (n - 1) / n)
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

func (t *tally) add(program, model, test, dir string, judged []target) error {
	predictions, err := predict(program, model, test, dir)
	if err != nil {
		return err
	}
	mean, single, without, squares, meanSquares := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, p := range predictions {
		squares += (judged[i].y - p.y) * (judged[i].y - p.y)
		meanSquares += (judged[i].y - judged[i].taskMean) * (judged[i].y - judged[i].taskMean)
		switch {
		case math.IsNaN(p.mean) || math.IsNaN(p.single):
			without++
		default:
			if math.Abs(judged[i].mean-p.y) <= normal95*p.mean {
				mean++
			}
			if math.Abs(judged[i].y-p.y) <= normal95*p.single {
				single++
			}
		}
	}
	n := float64(len(judged))
	for _, v := range []struct {
		to  *[]float64
		sum float64
	}{{&t.mean, mean}, {&t.single, single}, {&t.without, without}, {&t.squares, squares}, {&t.meanSquares, meanSquares}} {
		*v.to = append(*v.to, v.sum/n)
	}
	return nil
}
