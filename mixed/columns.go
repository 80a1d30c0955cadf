package mixed

import (
	"context"
	"math"
)

// constantSD is the standard deviation, relative to the mean, below which a column counts as constant.
const constantSD = 1e-12

// A columnStat describes a column over the training rows of all owners.
type columnStat struct {
	level        bool    // a level of a categorical column
	unit         float64 // a power of two that no value exceeds, and 2^33 times the largest value at most
	rows, weight float64 // with a value: their number, and the sum of their weights
	mean         float64
	size         float64 // mean distance from the mean
	sd           float64
}

// few is the number of rows of an owner below which counts of two owners are coarse.
const few = 100

// describe sets what all owners know about their training rows.
func (r *rows) describe(ctx context.Context, o *Options) error {
	if err := r.listColumns(ctx); err != nil {
		return err
	}
	if r.guard != nil { // before the first total
		if err := r.guard.apply(ctx, o); err != nil {
			return err
		}
	}
	y, log, w := columnStat{}, columnStat{unit: 1024}, columnStat{}
	if err := r.introduce(ctx, o, &y, &w); err != nil {
		return err
	}
	r.compares = r.positive && !o.LogTarget && r.guard == nil
	columns := []*columnStat{&y, &log}
	for j := range r.stats {
		columns = append(columns, &r.stats[j])
	}
	if err := r.measure(ctx, columns, w.unit); err != nil {
		return err
	}
	if err := r.noteUnits(ctx, columns); err != nil {
		return err
	}
	r.raw = Target{Column: o.TargetColumn, Center: y.mean, Scale: y.scale()}
	r.logarithm = Target{Column: o.TargetColumn, Center: log.mean, Scale: log.scale(), Log: true}
	r.target = r.raw
	if o.LogTarget {
		r.target, y = r.logarithm, log
	}
	r.equal = y.sd == 0
	return nil
}

// listColumns sets the columns of all owners, after the guard has hidden levels and left out tasks.
func (r *rows) listColumns(ctx context.Context) error {
	if r.guard != nil {
		r.guard.settle(len(r.in.Table.Features()))
	}
	if err := r.agreeOnLevels(ctx); err != nil {
		return err
	}
	byColumn := r.schema.byColumn()
	for _, column := range r.schema.Columns {
		levels, ok := byColumn[column]
		features := 1
		if ok {
			features = len(levels)
		}
		for range features {
			r.stats = append(r.stats, columnStat{level: ok, unit: 1})
		}
	}
	return nil
}

// scale returns the standard deviation of a target, that of equal ones in their own size.
func (s *columnStat) scale() float64 {
	switch {
	case s.sd > 0:
		return s.sd
	case s.mean != 0:
		return math.Abs(s.mean)
	}
	return 1
}

// introduce counts owners, tasks and rows in one sum. It sets the units of columns, of the target and of
// weights, and how tasks share values: an owner marks the interval of exponents of its largest value.
func (r *rows) introduce(ctx context.Context, o *Options, y, w *columnStat) error {
	columns := []*columnStat{y, w}
	for j := range r.stats {
		if !r.stats[j].level {
			columns = append(columns, &r.stats[j])
		}
	}
	most, positive, err := r.largest(ctx, len(columns))
	if err != nil {
		return err
	}
	positive = positive && (r.guard == nil || o.LogTarget)
	crossings, err := r.crossings(ctx, !o.NoCurves)
	if err != nil {
		return err
	}
	r.tasks = r.ownTasks()
	number := map[bool]float64{true: 1}
	v := []float64{r.tasks.count, r.tasks.rows, number[r.tasks.rows < few], number[!positive]}
	head := len(v)
	v = append(v, make([]float64, intervals*len(columns))...)
	for j, x := range most {
		if x > 0 {
			v[head+j*intervals+interval(x)] = 1
		}
	}
	tail := len(v)
	v = append(v, r.sharingNumbers(crossings)...)
	if err := r.add(ctx, "tasks, rows, sizes", &total{v: v, grows: anyNumber}); err != nil {
		return err
	}
	if err := r.share(crossings, v[tail:]); err != nil {
		return err
	}
	if !r.arePossible(v[:tail]) {
		return contradiction("the numbers of tasks, rows or nodes")
	}
	r.tasks.count, r.tasks.rows, r.positive = v[0], v[1], v[3] == 0
	r.coarse = r.sums.Owners() == 2 && v[2] > 0
	for j, s := range columns {
		s.unit = 1
		for i, owners := range v[head+j*intervals:][:intervals] {
			if owners > 0 {
				s.unit = math.Ldexp(1, min(intervalWidth*(i+1)+leastExponent, 1023))
			}
		}
	}
	return nil
}

// largest returns the largest sizes of the own targets, weights and features of numbers, and whether all
// targets are positive.
func (r *rows) largest(ctx context.Context, columns int) (most []float64, positive bool, err error) {
	most, positive = make([]float64, columns), true
	note := func(column int, v float64) {
		if v = math.Abs(v); v > most[column] { // false for NaN
			most[column] = v
		}
	}
	r.mean = 1
	err = r.each(ctx, func(row int, x []float64, weight float64) {
		positive = positive && r.in.Table.Y(row) > 0
		note(0, r.in.Table.Y(row))
		note(1, weight)
		at := 2
		for j := range x {
			if !r.stats[j].level {
				note(at, x[j])
				at++
			}
		}
	})
	return most, positive, err
}

// ownTasks returns the tasks of this owner that are in totals, with the numbers of tasks and of rows.
func (r *rows) ownTasks() *taskSet {
	own := &taskSet{}
	for _, k := range r.list {
		if r.guard == nil || !r.guard.left[k] {
			own.own = append(own.own, k)
			own.count++
			own.rows += float64(len(r.of(k)))
		}
	}
	return own
}

// arePossible reports whether numbers of tasks and of rows of all owners can be, and the numbers of owners
// behind them.
func (r *rows) arePossible(v []float64) bool {
	owners := float64(r.sums.Owners())
	possible := v[0] >= owners && v[1] >= v[0] && v[1] <= mostRows
	for i, n := range v {
		possible = possible && n == math.Trunc(n) && (i < 2 || n <= owners)
	}
	return possible
}

// Intervals of exponents of float64.
const (
	intervalWidth = 32
	intervals     = 66
	leastExponent = -1088
)

// mostRows bounds the rows of all owners.
const mostRows = 1 << 40

// interval returns the interval of exponents of a positive number.
func interval(v float64) int { return (math.Ilogb(v) - leastExponent) / intervalWidth }

// measure sets means and deviations of the target, of its logarithm, and of the features, and the mean
// weight. It takes three sums of numbers of a known size.
func (r *rows) measure(ctx context.Context, columns []*columnStat, weightUnit float64) error {
	if err := r.addValues(ctx, columns, weightUnit); err != nil {
		return err
	}
	if err := r.addDistances(ctx, columns); err != nil {
		return err
	}
	return r.addSquares(ctx, columns)
}

// addValues sets the rows, weights and means of columns, and the mean weight, from the sums of weights and of
// values in their units.
func (r *rows) addValues(ctx context.Context, columns []*columnStat, weightUnit float64) error {
	n := len(columns)
	r.mean = weightUnit
	v, err := r.values(ctx, 3*n+1, func(part []float64, j int, x, weight float64) {
		part[3*j]++
		part[3*j+1] += weight
		part[3*j+2] += float64(weight * (x / columns[j].unit))
		if j == 0 { // once a row
			part[3*n] += weight
		}
	})
	if err != nil {
		return err
	}
	grows := func(i int) bool { return i%3 < 2 } // the last is the weight of all rows
	if err := r.add(ctx, "values of columns", &total{v: v, grows: grows}); err != nil {
		return err
	}
	for j := range columns {
		if c := v[3*j:][:3]; !(c[0] <= r.tasks.rows && c[1] <= v[3*n]*(1+slack) && math.Abs(c[2]) <= c[1]*(1+slack)) {
			return contradiction("the values of a column")
		}
	}
	r.mean = v[3*n] / r.tasks.rows * weightUnit
	for j, s := range columns {
		s.rows, s.weight = v[3*j], v[3*j+1]/v[3*n]*r.tasks.rows
		if s.weight > 0 {
			s.mean = v[3*j+2] / v[3*j+1] * s.unit
		}
	}
	return nil
}

// addDistances sets the unit of distances from the mean, about their mean. It corrects the mean for the
// rounding of large values. Both follow from sums of distances and of their sizes in the units of values.
func (r *rows) addDistances(ctx context.Context, columns []*columnStat) error {
	v, err := r.values(ctx, 2*len(columns), func(part []float64, j int, x, weight float64) {
		d := (x - columns[j].mean) / columns[j].unit
		part[2*j] += float64(weight * d)
		part[2*j+1] += float64(weight * math.Abs(d))
	})
	if err != nil {
		return err
	}
	if err := r.add(ctx, "distances from means", &total{v: v, grows: odd}); err != nil {
		return err
	}
	for j, s := range columns {
		if s.weight > 0 && v[2*j+1] > 0 {
			// rounding has left a part of a spread that is small beside the mean
			s.mean += float64(v[2*j] / s.weight * s.unit)
			s.size = powerOfTwo(v[2*j+1] / s.weight * s.unit)
		}
	}
	return nil
}

// odd reports whether a number of pairs is the second one of its pair.
func odd(i int) bool { return i%2 == 1 }

// addSquares sets mean distances and deviations, from the sums of distances and of their squares in the unit
// of distances. All owners take the distances of a single owner.
func (r *rows) addSquares(ctx context.Context, columns []*columnStat) error {
	n := len(columns)
	v, err := r.values(ctx, 2*n, func(part []float64, j int, x, weight float64) {
		if s := columns[j]; s.size > 0 {
			d := (x - s.mean) / s.size
			part[2*j] += float64(weight * math.Abs(d))
			part[2*j+1] += float64(weight * d * d)
		}
	})
	if err != nil {
		return err
	}
	// Distance in mean distances, whose squares are at most that times their sum.
	longest := func(i int) float64 {
		if s := columns[i/2]; s.size > 0 && odd(i) {
			return powerOfTwo(2 * s.unit / s.size)
		}
		return 1
	}
	t, numbers := &total{v: v, grows: anyNumber, unit: longest}, make([]float64, 3*n)
	err = r.decide(ctx, "squares of distances from means", numbers, func() {
		for j, s := range columns {
			s.setSpread(v[2*j], v[2*j+1])
			copy(numbers[3*j:], []float64{s.mean, s.size, s.sd})
		}
	}, t)
	if err != nil {
		return err
	}
	for j, s := range columns {
		s.mean, s.size, s.sd = numbers[3*j], numbers[3*j+1], numbers[3*j+2]
		most := float64(s.unit * (1 + slack))
		varies := s.sd >= s.size*(1-slack) && s.sd <= 2*most
		if !(math.Abs(s.mean) <= most && s.size >= 0 && s.size <= 2*most && (s.sd == 0 || varies)) {
			return contradiction("the mean or the deviation of a column")
		}
	}
	return nil
}

// setSpread sets the mean distance from the mean, and the deviation. Its arguments are the sums of distances
// and of their squares, in units of about the mean distance.
func (s *columnStat) setSpread(distances, squares float64) {
	s.sd = s.size * math.Sqrt(squares/max(s.weight, 1e-300))
	s.size *= distances / max(s.weight, 1e-300)
	if !(s.sd > constantSD*math.Abs(s.mean)) {
		s.sd = 0
	}
}

// slack is the largest excess of a total over its bound, relative to the bound, that rounding explains.
const slack = 1e-6

// values returns the sums of the numbers that f adds to part for every value of a column in training rows: of
// the target, of its logarithm where all are positive, and of the features, without missing ones.
func (r *rows) values(ctx context.Context, size int,
	f func(part []float64, column int, x, weight float64)) ([]float64, error) {
	return r.sumRows(ctx, size, func(part []float64, row int, x []float64, weight float64) {
		f(part, 0, r.in.Table.Y(row), weight)
		if r.positive {
			f(part, 1, r.value(row, true), weight)
		}
		for j, v := range x {
			if !math.IsNaN(v) {
				f(part, 2+j, v, weight)
			}
		}
	})
}
