package mixed

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A countdown ends after so many questions.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends at any time ends the fit with its error.
func TestContextEndsAtAnyTime(t *testing.T) {
	d := drawing{tasks: 24, rows: 9, features: 2, levels: 1, noise: 1, uneven: 6, mean: []float64{5, 0}}
	table := d.table(t, 7)
	for left := int64(1); ; left += left/8 + 1 {
		ctx := &countdown{Context: context.Background()}
		ctx.left.Store(left)
		m, r, err := Fit(ctx, Input{Table: table}, Options{})
		if err == nil && left > 1000 && m.Parameters().Tasks.Noise != nil {
			return
		}
		if !errors.Is(err, context.Canceled) || m != nil || r != nil {
			t.Fatalf("after %d tasks: %v", left, err)
		}
	}
}

// A failing is a single owner whose call of this number fails, and no other one.
type failing struct {
	Local
	calls, at int
}

var errSum = errors.New("this sum has failed")

func (f *failing) call() error {
	if f.calls++; f.calls == f.at {
		return errSum
	}
	return nil
}

func (f *failing) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	return cmp.Or(f.call(), f.Local.Add(ctx, name, v, d))
}

func (f *failing) Levels(ctx context.Context, column string, own []string, add func(context.Context, []float64) error) (
	[]string, error) {
	list, _ := f.Local.Levels(ctx, column, own, add)
	return list, f.call()
}

// A sum that fails ends the fit with its error, whichever it is, although all sums after it would succeed.
func TestEverySumMayFail(t *testing.T) {
	in := mixture(t, 3, 12)
	for at := 1; ; at++ {
		if testing.Short() && at > 40 {
			at += 12
		}
		sums := &failing{at: at}
		m, r, err := Fit(t.Context(), in, Options{Sums: sums, Refit: true, Workers: 1})
		if sums.calls < at {
			check.FailIf(t, err != nil || at < 100, "of %d sums none fails: %v", sums.calls, err)
			return
		}
		check.FailIf(t, !errors.Is(err, errSum) || m != nil || r != nil, "the sum %d of the fit fails: %v", at, err)
	}
}

// A counter counts the questions whether it has ended, and ends after so many.
type counter struct {
	context.Context
	asked, most atomic.Int64
}

func (c *counter) Err() error {
	if c.asked.Add(1) > c.most.Load() {
		return context.Canceled
	}
	return nil
}

// A fit asks the context within the rows of a single large task, and within a task of many columns, and stops
// soon after the context has ended: no goroutine asks for long after that.
func TestLargeTasksAreInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		in    Input
		least int64
	}{
		"rows": {Input{Table: drawing{tasks: 2, rows: 12 * batch, features: 1, levels: 1, noise: 1}.table(t, 1)},
			12 * 2 * 5},
		"columns": {Input{Table: drawing{tasks: 2, rows: 215, features: 205, levels: 1, noise: 1}.table(t, 2)},
			2 * 4 * 4},
	} {
		ctx, rank := &counter{Context: t.Context()}, 0
		ctx.most.Store(math.MaxInt64)
		o := Options{Rank: &rank, NoCurves: true, Workers: 2}
		_, _, err := Fit(ctx, c.in, o)
		check.Done(err)
		all := ctx.asked.Load()
		check.FailIf(t, all < c.least, "%s: %d questions in a fit, want %d", name, all, c.least)
		for k := range int64(4) {
			ctx := &counter{Context: t.Context()}
			most := 1 + all*k/4
			ctx.most.Store(most)
			_, _, err := Fit(ctx, c.in, o)
			if more := ctx.asked.Load() - most; !errors.Is(err, context.Canceled) || more > 50 {
				t.Errorf("%s: ended at question %d of %d, and asked %d times more: %v", name, most, all, more, err)
			}
		}
	}
}
