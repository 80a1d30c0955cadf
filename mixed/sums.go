package mixed

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
)

// Sums adds up the numbers of all owners who train together. Every choice follows from totals and from
// decisions, so that all owners make equal calls in one order.
type Sums interface {
	// Owners returns the number of owners.
	Owners() int
	// Add overwrites v with the total over all owners, which has equal bits at all owners. Between several
	// owners the magnitude of every number is below 2^64. The name describes the numbers. Where a decision
	// is given, all owners get the numbers of a single one.
	Add(ctx context.Context, name string, v []float64, d *Decision) error
	// Levels returns the different levels of a categorical column at all owners, in one order; own are those
	// of this one. It adds up by add, which is Add with a name.
	Levels(ctx context.Context, column string, own []string, add func(ctx context.Context, v []float64) error) (
		[]string, error)
}

// A Decision is numbers that follow from a total. All owners can compute them, but processors may round
// differently. So all owners take the numbers of a single owner.
type Decision struct {
	// Numbers become the numbers of the owner who decides. They are finite.
	Numbers []float64
	// Decide sets Numbers from a total. Add calls it once, at a single owner.
	Decide func(total []float64)
}

// Local is the Sums of a single owner, which leaves numbers as they are.
type Local struct{}

// Owners implements Sums.
func (Local) Owners() int { return 1 }

// Add implements Sums.
func (Local) Add(_ context.Context, _ string, v []float64, d *Decision) error {
	if d != nil {
		d.Decide(v)
	}
	return nil
}

// Levels implements Sums.
func (Local) Levels(_ context.Context, _ string, own []string, _ func(context.Context, []float64) error) (
	[]string, error) {
	return own, nil
}

// A taskSet is a set of tasks with training rows: the tasks of this owner, and the numbers of tasks and of
// their rows at all owners.
type taskSet struct {
	own         []int
	count, rows float64
}

// A total is a vector to add up over all owners.
type total struct {
	v     []float64
	order int                 // of the symmetric matrix at the front: its upper triangle is sent
	unit  func(i int) float64 // v[i] counts in this power of two, so that it is below 2^64; nil: in 1
	grows func(i int) bool    // no owner adds a negative number to v[i]; nil: that is not known of any
	own   []float64           // v of this owner, in units, if grows is set
	err   error               // nil or errNumeric
}

// anyNumber is the grows of totals that no owner adds a negative number to.
func anyNumber(int) bool { return true }

// add overwrites a vector with its total. An error of the vector at one owner is one of all owners. A total
// below the part of this owner, of a number that grows, is a contradiction.
func (r *rows) add(ctx context.Context, name string, t *total) error {
	if err := r.try(ctx, name, t); err != nil {
		return err
	}
	return t.err
}

// try is add for vectors that share a message, and whose errors the caller reads: a vector with an error at
// one owner has errNumeric at all of them.
func (r *rows) try(ctx context.Context, name string, list ...*total) error {
	return r.tryThen(ctx, name, nil, nil, list...)
}

// decide is add for several vectors, with numbers that follow from the totals: compute sets them, and all
// owners take the numbers of a single one. Where a vector has an error, compute is not called.
func (r *rows) decide(ctx context.Context, name string, numbers []float64, compute func(), list ...*total) error {
	failed := func() (err error) {
		for _, t := range list {
			err = cmp.Or(err, t.err)
		}
		return err
	}
	err := r.tryThen(ctx, name, numbers, func() {
		if failed() == nil {
			compute()
		}
	}, list...)
	return cmp.Or(err, failed())
}

// tryThen is try with numbers that follow from the totals: once the totals are there, compute sets them, and
// all owners take the numbers of a single one. Without numbers, compute may be nil.
func (r *rows) tryThen(ctx context.Context, name string, numbers []float64, compute func(), list ...*total) error {
	var message []float64
	for _, t := range list {
		if t.err != nil && !errors.Is(t.err, errNumeric) {
			return t.err
		}
		message = t.pack(message, r.mostSum())
	}
	var d *Decision
	var fault error
	done := false
	take := func(message []float64) {
		done = true
		for _, t := range list {
			message = t.unpack(message)
			if t.shrinks() {
				fault = contradiction("a total of " + name + " is below the part of this node")
			}
		}
		if compute != nil && fault == nil {
			compute()
		}
	}
	if len(numbers) > 0 {
		d = &Decision{Numbers: make([]float64, len(numbers))}
		d.Decide = func(total []float64) {
			take(total)
			copy(d.Numbers, numbers)
		}
	}
	if err := r.sums.Add(ctx, name, message, d); err != nil {
		return err
	}
	r.record(name, len(message))
	if !done {
		take(message)
	}
	if d != nil {
		copy(numbers, d.Numbers)
	}
	return fault
}

// shrinks reports whether a number that grows is below the part of this owner, in units, beyond rounding.
func (t *total) shrinks() bool {
	const rounding = 1e-9
	if t.err != nil || t.own == nil {
		return false
	}
	for i, own := range t.own {
		unit := 1.0
		if t.unit != nil {
			unit = t.unit(i)
		}
		if t.grows(i) && !(t.v[i]/unit >= own-float64(rounding*own)-0x1p-100) {
			return true
		}
	}
	return false
}

// levels returns the different levels of a column at all owners.
func (r *rows) levels(ctx context.Context, column string, own []string) ([]string, error) {
	const name = "levels"
	return r.sums.Levels(ctx, column, own, func(ctx context.Context, v []float64) error {
		if err := r.sums.Add(ctx, name, v, nil); err != nil {
			return err
		}
		r.record(name, len(v))
		return nil
	})
}

// record counts a total.
func (r *rows) record(name string, numbers int) {
	i := slices.IndexFunc(r.totals, func(t Total) bool { return t.Name == name })
	if i < 0 {
		i = len(r.totals)
		r.totals = append(r.totals, Total{Name: name})
	}
	r.totals[i].Sums++
	r.totals[i].Numbers += numbers
}

// pack appends the numbers and, last, 1 in place of all of them where there is an error. A number beyond the
// largest one is an error.
func (t *total) pack(message []float64, largest float64) []float64 {
	from := len(message)
	if t.err == nil {
		t.scale(func(v, unit float64) float64 { return v / unit })
		if t.grows != nil {
			t.own = slices.Clone(t.v)
		}
	}
	message = slices.Grow(message, dense.Triangle(t.order)+len(t.v)-t.order*t.order+1)
	message = dense.Pack(message, t.order, t.v)
	message = append(append(message, t.v[t.order*t.order:]...), 0)
	if t.err == nil && slices.ContainsFunc(message[from:], func(v float64) bool { return !(math.Abs(v) <= largest) }) {
		t.err = errTotals
	}
	if t.err != nil {
		clear(message[from:])
		message[len(message)-1] = 1
	}
	return message
}

// mostSum returns the largest number that an owner adds. Totals of 1,000 owners stay below 2^64. A single
// owner has no masks, and no bound.
func (r *rows) mostSum() float64 {
	if r.sums.Owners() == 1 {
		return math.MaxFloat64
	}
	return 1 << 54
}

// unpack takes the total from the front of a message, and returns what is behind it.
func (t *total) unpack(message []float64) []float64 {
	square := t.order * t.order
	last := dense.Triangle(t.order) + len(t.v) - square
	if message[last] != 0 {
		if t.err == nil {
			t.err = errTotals
		}
		return message[last+1:]
	}
	dense.Unpack(t.v[:square], t.order, message)
	copy(t.v[square:], message[dense.Triangle(t.order):last])
	t.scale(func(v, unit float64) float64 { return v * unit })
	return message[last+1:]
}

func (t *total) scale(f func(v, unit float64) float64) {
	if t.unit == nil {
		return
	}
	for i, v := range t.v {
		t.v[i] = f(v, t.unit(i))
	}
}

// powerOfTwo returns the power of two next below a positive number, a unit that costs no digit; 1 for other
// numbers.
func powerOfTwo(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, e-1)
}
