package fit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// A design is a table with the scaling of its training rows.
type design struct {
	model.Scaling
	*nodes.Group
	t      *dataset.Table
	layout dataset.Layout // tasks of the hosted nodes
	rows   taskRows
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
	d := &design{Group: &nodes.Group{Net: c.Network}, t: t, train: c.Train, weight: c.Weights, folds: c.Folds, owners: c.Owners, progress: locked(c.progress)}
	layout, err := t.Layout()
	if err == nil {
		err = c.check(t)
	}
	if err := d.Check(ctx, err); err != nil {
		return nil, err
	}
	d.show("names of tasks", 0, 1)
	if err := d.introduce(ctx, layout, c); err != nil {
		return nil, err
	}
	d.layout = layout
	if d.folds == 0 {
		d.folds = defaultFolds
	}
	d.LogTarget = c.logTarget()
	return d, d.takeRows(ctx, c)
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

// introduce exchanges the names of the nodes, and refuses to go on unless all have the
// same columns and settings, and tasks of their own.
func (d *design) introduce(ctx context.Context, layout dataset.Layout, c *Config) error {
	own, tasks := make([][]byte, len(layout)), make([][]string, len(layout))
	for i, list := range layout {
		own[i] = []byte(d.t.Nodes()[i])
		for _, k := range list {
			tasks[i] = append(tasks[i], d.t.Tasks()[k])
		}
	}
	names, err := d.Gather(ctx, own)
	if err != nil {
		return err
	}
	for _, name := range names {
		d.Names = append(d.Names, string(name))
	}
	if err := d.CheckAlike(ctx, c.settings(d.t)); err != nil {
		return err
	}
	return d.CheckDistinct(ctx, tasks)
}

// taskRows are the rows of every task, one task after the other.
type taskRows struct {
	end  []int // of those of a task
	list []int
}

// of returns those of a task.
func (r *taskRows) of(k int) []int {
	if k == 0 {
		return r.list[:r.end[0]]
	}
	return r.list[r.end[k-1]:r.end[k]]
}

// groupRows lists the rows of every task, without those that are left out; nil are none.
func (d *design) groupRows(left func(i int) bool) {
	end := make([]int, len(d.t.Tasks())) // at first how many, then where they begin
	for i := range d.train {
		if left == nil || !left(i) {
			end[d.t.Task(i)]++
		}
	}
	n := 0
	for k, rows := range end {
		end[k] = n
		n += rows
	}
	list := make([]int, n)
	for i := range d.train {
		if k := d.t.Task(i); left == nil || !left(i) {
			list[end[k]] = i
			end[k]++
		}
	}
	d.rows = taskRows{end, list}
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
		for _, i := range d.rows.of(k) {
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

// sufficientRows returns the tasks of every node as the estimator needs them: weighted, and of no more rows than
// coefficients.
func (d *design) sufficientRows(ctx context.Context, workers int) (*evidence.Rows, error) {
	if d.owners { // who have something to hide from one another
		d.Secrets = d.secrets()
	}
	out := make([][]*mixedmodel.Task, len(d.layout))
	w, plain := d.width(), d.directions == nil && d.Transforms == nil // rows are as fast to read as to copy
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
	return evidence.NewRows(ctx, d.Group, out, d, w, d.total, workers)
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
