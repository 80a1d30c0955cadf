package owners

import (
	"math"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A holding is the training data of one hosted node. Set f of its rows, f < folds, is those outside of fold
// f; the set number folds is all of them.
type holding struct {
	table int
	tasks []int                // tasks of the table with training rows
	rows  [][]int              // of the table, of every one of these tasks
	fold  []int                // of every row of the table
	parts [][]*mixedmodel.Task // design rows of [task][fold]
	// products are X'X (P x P, its upper triangle), X'y and y'y over the tasks, of every fold.
	products [][]float64
}

// hold applies the design to the training rows of all tables.
func (s *frame) hold() {
	for i, t := range s.tables {
		s.tick()
		train, rows := make([]bool, t.Rows()), make([][]int, len(t.Tasks()))
		for row := range train {
			if train[row] = s.c.trains(i, t, row); train[row] {
				rows[t.Task(row)] = append(rows[t.Task(row)], row)
			}
		}
		h := &holding{table: i, fold: t.Folds(train, s.c.Folds, s.c.Seed)}
		for task, own := range rows {
			if len(own) > 0 {
				h.tasks, h.rows = append(h.tasks, task), append(h.rows, own)
			}
		}
		h.parts = make([][]*mixedmodel.Task, len(h.tasks))
		_ = divide(s.workers(), len(h.tasks), func(from, to int) error {
			for k := from; k < to; k++ {
				h.parts[k] = s.foldParts(h, k)
			}
			return nil
		})
		h.multiply(s.workers(), s.c.Folds, s.design.Width())
		s.held = append(s.held, h)
	}
}

// multiply sets products.
func (h *holding) multiply(workers, folds, p int) {
	for f := range folds {
		sum, _ := total(workers, len(h.tasks), p*p+p+1, func(sum []float64, from, to int) error {
			all := &mixedmodel.Task{G: sum[:p*p], C: sum[p*p:][:p]}
			for t := from; t < to; t++ {
				rows := h.parts[t][f]
				if sum[p*p+p] += rows.YY; rows.G != nil {
					floats.Add(all.G, rows.G)
					floats.Add(all.C, rows.C)
				} else if rows.Rows > 0 {
					all.AddRows(rows.X, rows.Y)
				}
			}
			return nil
		})
		h.products = append(h.products, sum)
	}
}

// foldParts returns the rows of a task in every fold, or their products.
func (s *frame) foldParts(h *holding, task int) []*mixedmodel.Task {
	folds := s.c.Folds
	x, y, list := make([][]float64, folds), make([][]float64, folds), make([]*mixedmodel.Task, folds)
	d := s.newDesigner(h.table)
	for _, row := range h.rows[task] {
		f := h.fold[row]
		y[f] = append(y[f], d.weighted(row))
		x[f] = append(x[f], d.columns...)
	}
	for f := range list {
		list[f] = mixedmodel.NewTask(x[f], y[f], s.design.Width())
	}
	return list
}

// A designer maps rows of a table to the columns of the design and the standardised target.
type designer struct {
	*frame
	table                  int
	own, features, columns []float64
}

func (s *frame) newDesigner(table int) *designer {
	own := make([]float64, len(s.tables[table].Features()))
	return &designer{s, table, own, make([]float64, len(s.level)), make([]float64, s.design.Width())}
}

// apply sets columns to those of a row, and returns its target.
func (d *designer) apply(row int) float64 {
	t := d.tables[d.table]
	d.agreed(d.features, t.X(d.own, row), d.table)
	d.design.Apply(d.columns, d.features)
	return d.target.Standardize(t.Y(row))
}

// weighted is apply with both times the square root of the row's weight.
func (d *designer) weighted(row int) float64 {
	y := d.apply(row)
	if w := d.tables[d.table].Weights(); w != nil {
		floats.Scale(math.Sqrt(w[row]), d.columns)
		y *= math.Sqrt(w[row])
	}
	return y
}

// all returns the rows of a task in all folds, or their products.
func (h *holding) all(task, width int) *mixedmodel.Task {
	all := &mixedmodel.Task{}
	for _, part := range h.parts[task] {
		all.Rows += part.Rows
		all.YY += part.YY
	}
	products := all.Rows >= width
	if products {
		all.G, all.C = make([]float64, width*width), make([]float64, width)
	}
	for _, part := range h.parts[task] {
		switch {
		case !products:
			all.X, all.Y = append(all.X, part.X...), append(all.Y, part.Y...)
		case part.G == nil:
			all.AddRows(part.X, part.Y)
		default:
			floats.Add(all.G, part.G)
			floats.Add(all.C, part.C)
		}
	}
	return all
}

// linear returns the rows of a set for package difalt: the linear columns of the design, and y - X mu, of
// which the intercept a_t with ridge l0 is eliminated: for n rows (of weight 1)
//
//	min_a |v - a 1|^2 + l0 a^2 = |v - c 1 1'v|^2,   c = (1 - sqrt(l0 / (n + l0))) / n.
//
// A task without rows in the set has one row of zeros.
func (s *frame) linear(h *holding, set int, mu []float64, l0 float64) *kernel.Tasks {
	d, samples := len(s.design.Scale), make([]int, len(h.tasks))
	for k, rows := range h.rows {
		for _, row := range rows {
			if h.fold[row] != set {
				samples[k]++
			}
		}
		samples[k] = max(samples[k], 1)
	}
	b := kernel.NewBuilder(d, samples, kernel.Float64)
	_ = divide(s.workers(), len(h.tasks), func(from, to int) error {
		design, p := s.newDesigner(h.table), s.design.Width()
		for k := from; k < to; k++ {
			var rows [][]float64 // columns and, last, residual
			along, n := make([]float64, p+1), 0.0
			for _, row := range h.rows[k] {
				if h.fold[row] == set {
					continue
				}
				y := design.weighted(row)
				v := append(append(make([]float64, 0, p+1), design.columns...), y-floats.Dot(design.columns, mu))
				rows = append(rows, v)
				floats.AddScaled(along, v[0], v)
				n += v[0] * v[0]
			}
			if rows == nil {
				b.SetRow(k, 0, make([]float64, d), 0)
			}
			for i, v := range rows {
				floats.AddScaled(v, -v[0]*(1-math.Sqrt(l0/(n+l0)))/n, along)
				for j, e := range v { // the range of package difalt; what is left of an exact fit is rounding
					if v[j] = min(max(e, -1e6), 1e6); math.Abs(e) < 1e-6 {
						v[j] = 0
					}
				}
				b.SetRow(k, i, v[1:1+d], v[p])
			}
		}
		return nil
	})
	return b.Tasks()
}
