package fit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// A design is a table with the scaling of its training rows.
type design struct {
	model.Scaling
	*nodes.Group
	t      *dataset.Table
	layout dataset.Layout // tasks of the hosted nodes
	rows   [][]int        // of every task
	train  []bool
	owners bool  // nodes are those of the data
	fold   []int // of every training row; -1 for the others
	folds  int
	total  int       // training rows of all nodes
	weight []float64 // of every row, 1 in the mean over training rows; nil is 1 for all
	// directions, p x features row by row, are orthonormal: what the fit works on in place
	// of more features than it can; nil keeps them all. See reduce.
	directions []float64
	degenerate
	// progress is told how far what looks at all rows is; nil is silent.
	progress func(stage string, done, total int)
}

// locked lets several goroutines tell how far they are.
func locked(progress func(stage string, done, total int)) func(stage string, done, total int) {
	var mu sync.Mutex
	return func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		progress(stage, done, total)
	}
}

// show tells how far a stage is.
func (d *design) show(stage string, done, total int) {
	if d.progress != nil {
		d.progress(stage, done, total)
	}
}

// A degenerate is what is unusual about training rows: a target that is equal in all of them, features that do not vary,
// features that look like numbers of rows, and how many more rows there were that lie far from all others, of all nodes.
type degenerate struct {
	equalTarget   bool
	constant, ids []int
	left          int
}

// newDesign lets the nodes agree on what they are about to do, and on the scaling.
func newDesign(ctx context.Context, t *dataset.Table, c *Config) (*design, error) {
	d, err := introduced(ctx, t, c)
	if err != nil {
		return nil, err
	}
	d.LogTarget = c.logTarget()
	return d, d.takeRows(ctx, c)
}

// introduced returns a design of which the nodes have exchanged their names, and compared their columns and settings, and the names of their tasks: these are
// of one node each. Nothing of it depends on rows.
func introduced(ctx context.Context, t *dataset.Table, c *Config) (*design, error) {
	d := &design{Group: &nodes.Group{Net: c.Network}, t: t, train: c.Train, weight: c.Weights, folds: cmp.Or(c.Folds, defaultFolds), owners: c.Owners, progress: locked(c.progress)}
	layout, err := t.Layout()
	if err == nil {
		err = c.check(t)
	}
	if err := d.Check(ctx, err); err != nil {
		return nil, err
	}
	d.show("names of tasks", 0, 1)
	d.layout = layout
	own, tasks := make([][]byte, len(layout)), make([][]string, len(layout))
	for i, list := range layout {
		own[i] = []byte(t.Nodes()[i])
		for _, k := range list {
			tasks[i] = append(tasks[i], t.Tasks()[k])
		}
	}
	names, err := d.Gather(ctx, own)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		d.Names = append(d.Names, string(name))
	}
	if err := d.CheckAlike(ctx, c.settings(t)); err != nil {
		return nil, err
	}
	return d, d.CheckDistinct(ctx, tasks)
}

// takeRows chooses training rows without outliers, their scaling and their folds.
func (d *design) takeRows(ctx context.Context, c *Config) (err error) {
	d.trainOnAll()
	d.groupRows(nil)
	if !c.Plain {
		if d.left, err = d.leaveOutliers(ctx, c, parallel.Workers(c.Options.Workers)); err != nil {
			return err
		}
	}
	if err := d.scaleBy(ctx, c); err != nil {
		return err
	}
	if most := max(d.total, commonFolds); d.folds > most {
		return fmt.Errorf("the number of folds is %d: want at most %d for so few training rows", d.folds, most)
	}
	d.fold = d.t.Folds(d.train, d.folds, c.Options.Seed)
	return nil
}

// trainOnAll makes all rows training rows if nobody has said which are.
func (d *design) trainOnAll() {
	if d.train != nil {
		return
	}
	d.train = make([]bool, d.t.Rows())
	for i := range d.train {
		d.train[i] = true
	}
}

// groupRows lists the rows of every task, without those that are left out; nil are none.
func (d *design) groupRows(left func(i int) bool) {
	d.rows = make([][]int, len(d.t.Tasks()))
	for i := range d.train {
		if k := d.t.Task(i); left == nil || !left(i) {
			d.rows[k] = append(d.rows[k], i)
		}
	}
}

// secrets returns a hash of the training rows of every hosted node.
func (d *design) secrets() []nodes.Secret {
	list := make([]nodes.Secret, len(d.layout))
	row, word := make([]float64, d.width()+1), make([]byte, 8)
	for g, tasks := range d.layout {
		hash := sha256.New()
		d.eachTraining(tasks, func(i int) {
			row[d.width()] = d.row(row[:d.width()], i)
			for _, v := range row {
				binary.LittleEndian.PutUint64(word, math.Float64bits(v))
				hash.Write(word)
			}
		})
		list[g] = nodes.Secret(hash.Sum(nil))
	}
	return list
}

// eachTraining calls visit for every training row of the given tasks.
func (d *design) eachTraining(tasks []int, visit func(i int)) {
	for _, k := range tasks {
		for _, i := range d.rows[k] {
			if d.train[i] {
				visit(i)
			}
		}
	}
}

// sumTraining returns the sum over the training rows of all nodes of n numbers, to which add adds those of row i.
func (d *design) sumTraining(ctx context.Context, n int, add func(i int, out []float64)) ([]float64, error) {
	z, done := d.Zeros(n), 0
	for g, tasks := range d.layout {
		for at := range tasks {
			d.show("sums of rows", done, len(d.t.Tasks()))
			done++
			if ctx.Err() != nil { // the sum says who leaves
				break
			}
			d.eachTraining(tasks[at:at+1], func(i int) { add(i, z[g]) })
		}
	}
	return d.Sum(ctx, z)
}

// weightOf is the weight of a row.
func (d *design) weightOf(i int) float64 {
	if d.weight == nil {
		return 1
	}
	return d.weight[i]
}

// scaledTarget returns that of a row.
func (d *design) scaledTarget(i int) float64 { return d.ScaleTarget(d.t.Y(i)) }

// width is the number of entries of row.
func (d *design) width() int {
	if d.directions == nil {
		return d.Width()
	}
	return len(d.directions)/len(d.Center) + 1
}

// sufficientRows returns the tasks of every node as the estimator needs them.
func (d *design) sufficientRows(ctx context.Context, workers int) (*evidence.Rows, error) {
	if d.owners { // who have something to hide from one another
		d.Secrets = d.secrets()
	}
	return evidence.NewRows(ctx, d.Group, d.compressed(ctx, workers), d, d.width(), d.total, workers)
}

// compressed returns the tasks of every node, weighted, and of no more rows than coefficients; nil are those whose rows are as fast to read as to copy.
func (d *design) compressed(ctx context.Context, workers int) [][]*mixedmodel.Task {
	out := make([][]*mixedmodel.Task, len(d.layout))
	w, plain := d.width(), d.directions == nil && d.Transforms == nil
	compressors, first := make([]*mixedmodel.Compressor, workers), 0
	for g, tasks := range d.layout {
		out[g] = make([]*mixedmodel.Task, len(tasks))
		parallel.For(ctx, workers, len(tasks), func(worker, at int) {
			d.show("reading rows", first+at, len(d.t.Tasks()))
			if compressors[worker] == nil {
				compressors[worker] = mixedmodel.NewCompressor(w)
			}
			if plain && d.Samples(g, at) <= w {
				return
			}
			c := compressors[worker]
			d.eachTraining(tasks[at:at+1], func(i int) {
				row := c.Next()
				row[w] = d.row(row[:w], i)
				if d.weight != nil {
					floats.Scale(math.Sqrt(d.weight[i]), row)
				}
			})
			out[g][at] = c.Task()
		})
		first += len(tasks)
	}
	return out
}

// Samples returns the number of training rows of task i of hosted node g.
func (d *design) Samples(g, i int) (n int) {
	d.eachTraining(d.layout[g][i:i+1], func(int) { n++ })
	return n
}

// Read sets z and y to these rows, as sufficientRows has them.
func (d *design) Read(g, i int, z, y []float64) {
	w := d.width()
	d.eachTraining(d.layout[g][i:i+1], func(i int) {
		root := math.Sqrt(d.weightOf(i))
		y[0] = d.row(z[:w], i) * root
		floats.Scale(root, z[:w])
		z, y = z[w:], y[1:]
	})
}
