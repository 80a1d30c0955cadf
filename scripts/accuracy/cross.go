package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/schema"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// Ways to choose among the same models.
const (
	byEvidence = "evidence"
	byFolds    = "cross-validation"
	byOneError = "one standard error"
)

// crossHeader are the columns of the file of comparisons: what it took to choose is rounds, bytes sent by all nodes, and
// user seconds of the processor.
var crossHeader = []string{"table", "seed", "choice", "rmse", "rank", "rounds", "bytes", "seconds"}

// crossNodes is the number of nodes, as fit has them by default, or of tasks if there are fewer.
const crossNodes = 10

// crossTables chooses a model for every table of a folder by its evidence, and by cross-validation, and judges both on the
// rows held out.
func crossTables(args []string) error {
	flags := flag.NewFlagSet("cross", flag.ExitOnError)
	tables := flags.String("tables", "", "the folder of tables")
	out := flags.String("out", "", "the file of results")
	only := flags.String("only", "", "names of tables, with commas (default all)")
	flags.Parse(args)
	rows := [][]string{crossHeader}
	return eachTable(*tables, *only, func(name, seed, train, test string) error {
		lines, err := cross(train, test)
		if err != nil {
			return fmt.Errorf("%s: %w", train, err)
		}
		for _, line := range lines {
			row := append([]string{name, seed}, line...)
			rows = append(rows, row)
			fmt.Println(strings.Join(row, "\t"))
		}
		return writeCSV(*out, rows) // as it stands: it takes long
	})
}

// readTable reads a file as a table of features, with the target.
func readTable(path string, schema *schema.Schema) (*dataset.Table, error) {
	return dataset.ReadFiles([]string{path}, dataset.TableOptions{Task: taskColumn, Target: targetColumn, Schema: schema})
}

// cross compares the choices on one table.
func cross(train, test string) ([][]string, error) {
	ctx := context.Background()
	t, err := readTable(train, nil)
	if err != nil {
		return nil, err
	}
	if err := t.AssignBlocks(min(crossNodes, len(t.Tasks()))); err != nil {
		return nil, err
	}
	net, err := network(len(t.Nodes()))
	if err != nil {
		return nil, err
	}
	o := fit.DefaultOptions(0)
	o.Seed, o.Workers = 1, 1
	begin := used()
	m, report, err := fit.Fit(ctx, t, fit.Config{Network: net, Options: o, Starts: starts})
	if err != nil {
		return nil, err
	}
	cost := used() - begin
	p := m.Parameters()
	held, err := readTable(test, &p.Schema)
	if err != nil {
		return nil, err
	}
	rmse, err := ownError(m, held)
	if err != nil {
		return nil, err
	}
	lines := [][]string{{byEvidence, number(rmse), strconv.Itoa(report.Chosen.Rank),
		fmt.Sprint(report.Traffic.Rounds), fmt.Sprint(report.Traffic.Bytes), seconds(cost)}}
	before, begin := net.Traffic(), used()
	f, err := newFolds(net, t, &p, 1)
	if err != nil {
		return nil, err
	}
	s := &search{folds: f}
	best, sparing, err := s.choose(ctx)
	if err != nil {
		return nil, err
	}
	for k, choice := range []*trial{best, sparing} {
		theta, err := f.whole(ctx, choice)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			cost = used() - begin
		}
		if rmse, err = f.heldError(theta, t, held, &p); err != nil {
			return nil, err
		}
		sent := net.Traffic().Minus(before)
		lines = append(lines, []string{[]string{byFolds, byOneError}[k], number(rmse),
			strconv.Itoa(choice.rank), fmt.Sprint(sent.Rounds), fmt.Sprint(sent.Bytes), seconds(cost)})
	}
	return lines, nil
}

func seconds(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// network is the one that fit has by default.
func network(nodes int) (*consensus.Network, error) {
	g, err := topology.Parse("er:0.5", nodes, 1)
	if err != nil {
		return nil, err
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return nil, err
	}
	return consensus.New(w, nil)
}

// used returns the user seconds of this process.
func used() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return math.NaN()
	}
	return float64(r.Utime.Sec) + float64(r.Utime.Usec)/1e6
}

// ownError returns the root mean square error of a model.
func ownError(m *model.Model, held *dataset.Table) (float64, error) {
	predicted, err := m.PredictTable(held)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, y := range predicted {
		sum += (held.Y(i) - y) * (held.Y(i) - y)
	}
	return math.Sqrt(sum / float64(held.Rows())), nil
}

// whole fits the member of a trial to all rows, and returns the coefficients of every node and task.
func (f *folds) whole(ctx context.Context, t *trial) ([][][]float64, error) {
	m, priors, parts := t.member, []*mixedmodel.Prior{nil}, []part{f.all}
	var u *kernel.Basis
	if m.rank > 0 {
		found, err := f.find(ctx, t.found, parts, nil)
		if err != nil {
			return nil, err
		}
		u = found[0]
	}
	priors[0] = m.prior(f.w, u)
	fits, err := f.fit(ctx, priors, parts)
	if err != nil {
		return nil, err
	}
	var theta [][][]float64
	for g, tasks := range f.all.train {
		theta = append(theta, nil)
		for i := range tasks {
			theta[g] = append(theta[g], fits[0].theta(g, i))
		}
	}
	return theta, nil
}

// heldError returns the root mean square error of coefficients by node and task of the table for training.
func (f *folds) heldError(theta [][][]float64, train, held *dataset.Table, p *model.Parameters) (float64, error) {
	layout, err := train.Layout()
	if err != nil {
		return 0, err
	}
	of := map[string][]float64{}
	for g, tasks := range layout {
		for i, k := range tasks {
			of[train.Tasks()[k]] = theta[g][i]
		}
	}
	sum, z := 0.0, make([]float64, f.w)
	for i := range held.Rows() {
		scaledRow(z, held.X(make([]float64, len(held.Features())), i), p)
		y := floats.Dot(z, of[held.Tasks()[held.Task(i)]])*p.Scaling.TargetScale + p.Scaling.Target
		sum += (held.Y(i) - y) * (held.Y(i) - y)
	}
	return math.Sqrt(sum / float64(held.Rows())), nil
}
