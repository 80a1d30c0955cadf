package mixed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

// rows are the training rows of positive weight of a table, and what all owners know about theirs.
type rows struct {
	*rowList
	sums     Sums
	in       *Input
	whole    *rowList  // these rows, and the held-out ones of positive weight
	schema   *Schema   // the common schema of all owners
	guard    *guard    // nil for a table of one owner
	refits   bool      // the held-out rows join the training rows in the end
	fewKnots bool      // an owner has voted for curves with few knots
	workers  int       // goroutines that compute, 0 for all processors
	shared   []sharing // one for each column of numbers; nil without periods
	features int       // number of features of this owner's table, as it may take long to name them
	places   []place   // places of the features in this owner's table; nil: in their order

	totals   []Total  // totals so far
	tasks    *taskSet // all tasks
	mean     float64  // mean weight of the training rows of all owners
	coarse   bool     // counts of rows are coarse: there are two owners, and one has few rows
	positive bool     // all targets are positive
	stats    []columnStat
	units    []string // sentences on columns that may be in another unit than at other owners
	// target is raw, or logarithm if the model is of that.
	target, raw, logarithm Target
	equal                  bool // all targets have one value
	compares               bool // the logarithm is compared with raw
}

// newRows describes the training rows of all owners, in four sums.
func newRows(ctx context.Context, in *Input, o *Options) (*rows, error) {
	owners := 1
	if o.Sums != nil {
		owners = o.Sums.Owners()
	}
	whole, err := rowsByTask(ctx, in, owners)
	if err != nil {
		return nil, err
	}
	return describeRows(ctx, in, o, whole)
}

// describeRows is newRows with the list of the rows of positive weight of the table.
func describeRows(ctx context.Context, in *Input, o *Options, whole *rowList) (*rows, error) {
	r := newRowsOf(in, o, whole)
	return r, r.describe(ctx, o)
}

// newRowsOf returns rows with their list alone, and with the guard of one of several owners.
func newRowsOf(in *Input, o *Options, whole *rowList) *rows {
	r := &rows{in: in, whole: whole, sums: o.Sums, refits: o.Refit, workers: o.Workers}
	r.features = len(in.Table.Features())
	if r.sums == nil {
		r.sums = Local{}
	}
	r.rowList = r.whole.only(in.trains)
	if r.sums.Owners() > 1 {
		r.guard = newGuard(r, o)
	}
	return r
}

// counts reports whether a row is a training row of positive weight that the rules have not left out by
// itself.
func (r *rows) counts(row int) bool {
	return r.in.trains(row) && r.in.weight(row) > 0 && r.guard.keeps(row)
}

// weight returns the weight of a row divided by the mean weight of training rows.
func (r *rows) weight(row int) float64 { return r.guard.bound(r.in.weight(row)) / r.mean }

// value returns the target of a row or its logarithm.
func (r *rows) value(row int, log bool) float64 {
	if log {
		return rounded.Log(r.in.Table.Y(row)) + r.guard.logMove(row)
	}
	return r.in.Table.Y(row)
}

// standardized returns the standardised target of a row, or the standardised logarithm of the target.
func (r *rows) standardized(row int, log bool) float64 {
	if log {
		return r.logarithm.Standardize(r.in.Table.Y(row)) + r.guard.logMove(row)/r.logarithm.Scale
	}
	return r.raw.Standardize(r.in.Table.Y(row))
}

// rowsAtOnce is the number of rows between two checks of the context.
const rowsAtOnce = 4096

// each calls f with every training row that is in totals, in their order, its features and its weight; x is
// valid until f returns. The error comes from a context that ends.
func (r *rows) each(ctx context.Context, f func(row int, x []float64, weight float64)) error {
	return r.eachOf(ctx, 0, len(r.order), f)
}

// eachOf is each for the rows from a place in the order to another one.
func (r *rows) eachOf(ctx context.Context, from, to int, f func(row int, x []float64, weight float64)) error {
	read := r.newReader()
	for list := range slices.Chunk(r.order[from:to], rowsAtOnce) {
		if err := ctx.Err(); err != nil {
			return err
		}
		read.each(list, func(at int, x []float64) {
			if row := int(list[at]); r.guard.counts(row) {
				f(row, x, r.weight(row))
			}
		})
	}
	return nil
}

// sumRows returns the sum over the training rows that are in totals of the numbers that f adds to part, which
// has the given size; x is valid until f returns. f runs in several goroutines; the bits of the sum do not
// depend on their number. The error comes from a context that ends.
func (r *rows) sumRows(ctx context.Context, size int,
	f func(part []float64, row int, x []float64, weight float64)) ([]float64, error) {
	return sumParts(r.workers, len(r.order), size, func(part []float64, from, to int) error {
		return r.eachOf(ctx, from, to, func(row int, x []float64, weight float64) { f(part, row, x, weight) })
	})
}

// fill sets x, n x P by rows, to the design of training rows that a reader reads.
func (r *rows) fill(x []float64, read *reader, d *Design, list []int32) {
	p, moves := d.Width(), []float64(nil)
	read.each(list, func(at int, features []float64) {
		moves = r.guard.moves(moves, int(list[at]), features)
		d.applyMoved(x[at*p:][:p], features, moves)
	})
}

// agreeOnLevels sets the schema of all owners: categorical columns have the levels of all tables, and
// columns, which the tables may have in any order, come in the order of their names. A category without
// levels has no column. A single owner keeps its order.
func (r *rows) agreeOnLevels(ctx context.Context) error {
	own := r.in.Table.Schema()
	ownLevels, most := own.byColumn(), mostOf(commonFeatures, featureShare, r.features)
	r.schema = &Schema{Columns: own.Columns, Dates: own.Dates}
	// Places in the table; features of all owners.
	first, at, features := map[string]int{}, 0, len(own.Columns)
	for _, column := range own.Columns {
		levels, coded := ownLevels[column]
		first[column] = at
		if at++; coded {
			at += len(levels) - 1
		}
	}
	if r.sums.Owners() > 1 {
		r.schema.Columns = slices.Sorted(slices.Values(own.Columns))
	}
	columns := r.schema.Columns
	r.schema.Columns = nil
	r.places = []place{} // all columns may be hidden
	for _, column := range columns {
		levels, coded := ownLevels[column]
		if !coded {
			r.schema.Columns = append(r.schema.Columns, column)
			r.places = append(r.places, place{first[column], -1})
			continue
		}
		all, err := r.levels(ctx, column, r.guard.shown(column, levels))
		if err != nil {
			return err
		}
		if len(all) == 0 { // all are hidden, at all owners
			continue
		}
		r.schema.Columns = append(r.schema.Columns, column)
		if features += max(len(all)-1, 0); features > most {
			const format = "all owners have %d features, and this one has %d"
			return contradiction(fmt.Sprintf(format, features, r.features))
		}
		for _, level := range all {
			p := place{slices.Index(levels, level), -1}
			if p.own >= 0 {
				p.own += first[column]
			} else if len(levels) > 0 {
				p.missing = first[column]
			}
			r.places = append(r.places, p)
		}
		r.schema.Categories = append(r.schema.Categories, Category{Column: column, Levels: all})
	}
	same := len(r.places) == at
	for j, p := range r.places {
		same = same && p.own == j
	}
	if same {
		r.places = nil
	}
	return nil
}

// weigh multiplies rows of the design by the square roots of their weights.
func (r *rows) weigh(x []float64, list []int32) {
	if r.in.Table.Weights() == nil && r.mean == 1 {
		return
	}
	p := len(x) / max(len(list), 1)
	for k, i := range list {
		floats.Scale(math.Sqrt(r.weight(int(i))), x[k*p:][:p])
	}
}

// fillTargets sets y to the standardised targets of training rows, or to the standardised logarithms of
// these, multiplied by the square roots of the weights.
func (r *rows) fillTargets(y []float64, list []int32, log bool) {
	for k, i := range list {
		y[k] = r.standardized(int(i), log) * math.Sqrt(r.weight(int(i)))
	}
}
