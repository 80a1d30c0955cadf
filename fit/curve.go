package fit

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
)

// CurveConfig says how LearningCurve measures. The zero value is the default.
type CurveConfig struct {
	// Samples are the numbers of training rows to try, ascending; by default 1, 2, 3, 5,
	// 8, ... up to half of the rows that the median task has.
	Samples []int
	// Repeats is the number of random choices of training rows, 5 by default.
	Repeats int
	// Node is the node whose basis the new tasks use.
	Node int
	// Ridge is the strength of the ridge on b_t; nil takes that of the model.
	Ridge *float64
	// Seed of the choices.
	Seed uint64
	// Workers is the number of threads; 0 means GOMAXPROCS.
	Workers int
}

// A CurvePoint holds the errors on held-out rows of new tasks after training on a
// number of rows of each: of the model adapted to them, of its shared mean, which is
// pooled ridge regression on the tasks it was trained on, and of one ridge
// regression per task, of the strength that cross-validation on the same training
// rows chooses.
type CurvePoint struct {
	Samples              int
	Ours, Pooled, Single Errors
}

// LearningCurve measures how well the model does on tasks that it has never seen,
// against the number of their rows that it adapts to. For every repeat the rows of
// a task are put in random order: the first are for training, and those after the
// largest number of training rows are held out, the same for all points. Tasks
// without a row to hold out are left out; leftOut names them. Pooled is zero, with no
// rows, for a model without a shared mean.
func (m *Model) LearningCurve(t *dataset.Table, c CurveConfig) (points []CurvePoint, leftOut []string, err error) {
	if err := m.checkCurve(t, &c); err != nil {
		return nil, nil, err
	}
	most := c.Samples[len(c.Samples)-1]
	var tasks []int
	for k, n := range t.Samples(nil) {
		if n > most {
			tasks = append(tasks, k)
		} else {
			leftOut = append(leftOut, fmt.Sprintf("%q (%d rows)", t.Tasks()[k], n))
		}
	}
	if tasks == nil {
		return nil, nil, fmt.Errorf("no task has more than %d rows, so that some remain to be held out", most)
	}
	sums := make([]curveSums, len(c.Samples))
	for repeat := range c.Repeats {
		r := rand.New(rand.NewPCG(c.Seed, uint64(repeat)))
		if err := m.curveRepeat(t, tasks, &c, r, sums); err != nil {
			return nil, nil, err
		}
	}
	for i, n := range c.Samples {
		s := &sums[i]
		p := CurvePoint{Samples: n, Ours: s.ours.errors(s.spread), Single: s.single.errors(s.spread)}
		if m.hasMean() {
			p.Pooled = s.pooled.errors(s.spread)
		}
		points = append(points, p)
	}
	return points, leftOut, nil
}

// hasMean reports whether the tasks share coefficients.
func (m *Model) hasMean() bool {
	return slices.ContainsFunc(m.mean, func(v float64) bool { return v != 0 })
}

// checkCurve checks a configuration and fills in the defaults.
func (m *Model) checkCurve(t *dataset.Table, c *CurveConfig) error {
	if err := m.checkNew(t, c.Node); err != nil {
		return err
	}
	if c.Ridge == nil {
		c.Ridge = &m.ridge
	}
	if c.Repeats == 0 {
		c.Repeats = 5
	}
	if c.Repeats < 0 {
		return fmt.Errorf("the number of repeats is %d: need at least 1", c.Repeats)
	}
	if c.Workers < 0 {
		return fmt.Errorf("the number of workers is %d: must not be negative", c.Workers)
	}
	if len(c.Samples) == 0 {
		rows := slices.Sorted(slices.Values(t.Samples(nil)))
		if len(rows) == 0 {
			return fmt.Errorf("the table has no rows")
		}
		for a, b := 1, 2; a <= max(1, rows[len(rows)/2]/2); a, b = b, a+b {
			c.Samples = append(c.Samples, a)
		}
	}
	for i, n := range c.Samples {
		if n < 1 || i > 0 && n <= c.Samples[i-1] {
			return fmt.Errorf("the numbers of rows to train on are %d: want ascending numbers from 1", c.Samples)
		}
	}
	return nil
}

// curveSums are the errors at one number of rows.
type curveSums struct {
	ours, pooled, single tally
	spread               float64
}

// curveRepeat adds the errors of one choice of rows.
func (m *Model) curveRepeat(t *dataset.Table, tasks []int, c *CurveConfig, r *rand.Rand, sums []curveSums) error {
	rows := make([][]int, len(t.Tasks()))
	for i := range t.Rows() {
		rows[t.Task(i)] = append(rows[t.Task(i)], i)
	}
	for _, k := range tasks {
		r.Shuffle(len(rows[k]), func(i, j int) { rows[k][i], rows[k][j] = rows[k][j], rows[k][i] })
	}
	most := c.Samples[len(c.Samples)-1]
	mean, n := 0.0, 0
	for _, k := range tasks {
		for _, i := range rows[k][most:] {
			mean += t.Y(i)
			n++
		}
	}
	mean /= float64(n)
	for at := range sums {
		for _, k := range tasks {
			for _, i := range rows[k][most:] {
				sums[at].spread += (t.Y(i) - mean) * (t.Y(i) - mean)
			}
		}
		if err := m.curvePoint(t, tasks, rows, c, c.Samples[at], most, &sums[at]); err != nil {
			return fmt.Errorf("%d rows a task: %w", c.Samples[at], err)
		}
	}
	return nil
}

// curvePoint adds the errors of training on the first n rows of every task on those
// from most.
func (m *Model) curvePoint(t *dataset.Table, tasks []int, rows [][]int, c *CurveConfig, n, most int, s *curveSums) error {
	d := m.curveDesign(t, tasks, rows, n, most)
	u := m.u[c.Node]
	packed := t.Pack(dataset.Layout{tasks}, d.train, m.width(), func(z []float64, i int) float64 {
		return d.row(z, i) - dot(z, m.mean)
	})[0]
	b, _, err := difalt.Adapt(u, packed, *c.Ridge)
	if err != nil {
		return err
	}
	z := make([]float64, m.width())
	for at, k := range tasks {
		for _, i := range rows[k][most:] {
			e := d.row(z, i) - dot(z, m.mean)
			s.pooled.add(e)
			for j, v := range b[at*m.rank:][:m.rank] {
				e -= v * dot(z, u.Col(j))
			}
			s.ours.add(e)
		}
	}
	all := make([]int, len(d.rows))
	for k := range all {
		all[k] = k
	}
	for _, k := range d.fitSingle(all, decades(-2, 6, d.localUnit()), workersFor(c.Workers)).tallies {
		s.single.rows += k[1].rows
		s.single.squares += k[1].squares
		s.single.absolute += k[1].absolute
	}
	return nil
}

// curveDesign holds the first n rows of every task for training, in folds, and
// those from most for the test.
func (m *Model) curveDesign(t *dataset.Table, tasks []int, rows [][]int, n, most int) *design {
	d := &design{
		scaling: m.scaling, t: t, train: make([]bool, t.Rows()), fold: make([]int, t.Rows()),
		folds: max(2, min(defaultFolds, n)), total: n * len(tasks),
	}
	for i := range d.fold {
		d.fold[i] = -1
	}
	for _, k := range tasks {
		for j, i := range rows[k][:n] {
			d.train[i] = true
			d.fold[i] = (j + k) % d.folds
		}
		d.rows = append(d.rows, slices.Concat(rows[k][:n], rows[k][most:]))
	}
	return d
}

// localUnit is what unit is, for a design that is not spread over nodes.
func (d *design) localUnit() float64 {
	row := make([]float64, d.width())
	sum := 0.0
	for i, on := range d.train {
		if on {
			d.row(row, i)
			sum += dot(row, row)
		}
	}
	if sum == 0 {
		return 1
	}
	return sum / float64(d.total*d.width())
}

// checkNew checks a table of new tasks for a node of the model.
func (m *Model) checkNew(t *dataset.Table, node int) error {
	if err := m.checkFeatures(t); err != nil {
		return err
	}
	if !t.HasTarget() {
		return fmt.Errorf("the table has no target column")
	}
	if node < 0 || node >= len(m.nodes) {
		return fmt.Errorf("node %d: the model has nodes 0 to %d", node, len(m.nodes)-1)
	}
	for _, name := range t.Tasks() {
		if k, ok := m.index[name]; ok {
			return fmt.Errorf("the model knows task %q already: it was trained on %d rows", name, m.samples[k])
		}
	}
	return nil
}
