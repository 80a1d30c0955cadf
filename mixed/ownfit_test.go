package mixed

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// squaresOf returns the sums of squared errors of a model on the held-out rows of every task, and the number
// of these rows.
func squaresOf(t *testing.T, m *Model, in Input) (squares []float64, rows int) {
	t.Helper()
	table := in.Table.(*Data)
	squares = make([]float64, len(table.TaskNames))
	list := predictions(t, m, in)
	for i, held := range in.HeldOut {
		if held {
			e := table.Targets[i] - list[3*i]
			squares[table.TaskOf[i]] += e * e
			rows++
		}
	}
	return squares, rows
}

// Beside the shared model stands the fit that every owner has alone: the errors are those of the two models
// on the owner's held-out rows, and the interval is that of a verdict. Nothing is sent for it.
func TestOwnFits(t *testing.T) {
	list := cut(clinics(t), 3)
	for i := range list {
		list[i].Name = []string{"a.csv", "b.csv", "c.csv"}[i]
	}
	net := network("complete", 3)
	m, r, err := Together(t.Context(), list, net, open)
	check.Done(err)
	sums, traffic := r.Sums(), net.Traffic()
	fits := check.OK(r.OwnFits(t.Context()))
	check.FailIf(t, len(fits) != 3, "%d fits of 3 owners", len(fits))
	check.FailIf(t, net.Traffic() != traffic || r.Sums() != sums, "own fits were sent")
	for i, in := range list {
		f := fits[i]
		own, report := fitted(t, in.Table, Options{NoCurves: true}, in.HeldOut...) // as all rows have decided
		shared, rows := squaresOf(t, m, in)
		alone, _ := squaresOf(t, own, in)
		ours, theirs, spread := 0.0, 0.0, 0.0
		for k := range shared {
			ours, theirs = ours+shared[k], theirs+alone[k]
		}
		for k := range shared { // the delta method, by the shares of tasks
			spread += square(shared[k]/ours - alone[k]/theirs)
		}
		near := func(what string, got, want float64) {
			t.Helper()
			check.FailIf(t, !(math.Abs(got-want) <= 1e-9*math.Abs(want)),
				"owner %d: %s is %v, want %v", i, what, got, want)
		}
		near("rows", float64(f.Own.Rows+f.Shared.Rows), float64(2*rows))
		near("own RMSE", f.Own.RMSE, report.Scores[0].Test.RMSE)
		near("shared RMSE", f.Shared.RMSE, math.Sqrt(ours/float64(rows)))
		near("gain", f.Gain, 1-math.Sqrt(ours/theirs))
		middle := math.Sqrt((1 - f.Low) * (1 - f.High)) // the interval is of a logarithm
		near("middle of the interval", middle, math.Sqrt(ours/theirs))
		width := math.Log((1 - f.Low) / (1 - f.High))
		check.FailIf(t, !(width > 2*1.95*math.Sqrt(spread)/2 && width < 2*20*math.Sqrt(spread)/2),
			"owner %d: the interval %v to %v for a deviation of %v", i, f.Low, f.High, math.Sqrt(spread))
		check.FailIf(t, f.Table != in.Name || !strings.Contains(f.Text, "of the shared model, "+number(f.Shared.RMSE)),
			"owner %d: %+v", i, f)
	}
}

// Own fits have no curves where these were compared with all rows and lost, and otherwise try them.
func TestCurvesOfOwnFits(t *testing.T) {
	plain, curved := Candidate{}, Candidate{Curves: true}
	chosen := func(c Candidate) Candidate { c.Chosen = true; return c }
	for _, c := range []struct {
		list       []Candidate
		none, want bool
	}{
		{[]Candidate{chosen(plain), curved}, false, true}, {[]Candidate{plain, chosen(curved)}, false, false},
		{[]Candidate{chosen(plain), plain}, false, false}, {[]Candidate{chosen(plain)}, true, true},
	} {
		r := &Report{Candidates: c.list}
		got := r.aloneOptions(Options{NoCurves: c.none}).NoCurves
		check.FailIf(t, got != c.want, "%+v, none wanted %v: own fits without curves: %v", c.list, c.none, got)
	}
}

// Owners who cannot be compared are told why, and a context that ends, ends the fits.
func TestOwnFitsThatCannotBe(t *testing.T) {
	list := cut(clinics(t), 2)
	list[0].HeldOut = nil
	single := list[1].Table.(*Data)
	o := open
	rank := 2
	o.Rank = &rank
	one := Input{Table: &Data{Names: single.Names}, HeldOut: make([]bool, 24)} // one task: no rank alone
	for i := range 24 {
		var x []float64
		for _, v := range single.Values {
			x = append(x, v[i])
		}
		check.Done(one.Table.(*Data).Append("alone", single.Targets[i], x...))
		one.HeldOut[i] = i%4 == 3
	}
	list = append(list, one)
	_, r, err := Together(t.Context(), list, network("complete", 3), o)
	check.Done(err)
	fits := check.OK(r.OwnFits(t.Context()))
	check.FailIf(t, !strings.Contains(fits[0].Text, "No rows") || fits[0].Shared.Rows != 0,
		"without held-out rows: %+v", fits[0])
	check.FailIf(t, math.IsNaN(fits[1].Low) || fits[1].Low > fits[1].Gain || fits[1].High < fits[1].Gain,
		"interval %+v", fits[1])
	check.FailIf(t, fits[2].Own.Rows != 6 || !math.IsNaN(fits[2].Low) || math.IsNaN(fits[2].Gain),
		"one task: %+v", fits[2])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.OwnFits(ctx)
	check.FailIf(t, !errors.Is(err, context.Canceled), "a context that has ended: %v", err)
	_, r = fitted(t, single, Options{})
	check.FailIf(t, len(check.OK(r.OwnFits(t.Context()))) != 0, "a single owner has an own fit")
}

// The text says which of the two is better, as far as that is known.
func TestOwnFitWords(t *testing.T) {
	for name, c := range map[string]struct {
		ours, other float64
		apart       bool
		words       string
	}{
		"better":       {1, 4, false, "is 50.0 % lower than that of the owner's own fit"},
		"surely":       {1, 4, false, "50.0 % to 50.0 %: the shared model predicts these rows better."},
		"worse":        {4, 1, false, "-100.0 % to -100.0 %: the own fit predicts these rows better."},
		"inconclusive": {1, 1.1, true, ": these rows are inconclusive."},
		"guess":        {1, 2, true, "but the shared model is the better guess."},
		"bad guess":    {2, 1, true, "but the own fit is the better guess."},
		"exact":        {0, 0, false, "exactly."},
	} {
		share, squares := comparison{10, c.ours * c.other / 10, c.other * c.other / 10}, c.ours*c.ours/10
		if c.apart { // the errors of the two are in different tasks
			share.product, share.square, squares = 0, 4*share.square, 4*squares
		}
		f := &OwnFit{Own: Errors{RMSE: math.Sqrt(c.other)}, Shared: Errors{RMSE: math.Sqrt(c.ours)}}
		f.setGain(c.ours, c.other, 1e-12, share, squares)
		check.FailIf(t, !strings.Contains(f.Text, c.words), "%s: %q", name, f.Text)
	}
}

// The own fit is the fit of the table without other owners, whatever the forms: with the curves that all rows
// support, a logarithm that could be proposed, noise by task and periods.
func TestOwnFitIsFit(t *testing.T) {
	for name, in := range map[string]Input{
		"clinics":                  clinics(t),
		"missing, levels, weights": mixture(t, 3, 24),
		"periods":                  periodic(t, 6, 18, 4),
	} {
		list := cut(in, 3)
		_, r, err := Together(t.Context(), list, network("star", 3), open)
		check.Done(err)
		for i, own := range check.OK(r.OwnFits(t.Context())) {
			_, alone, err := Fit(t.Context(), list[i], r.aloneOptions(Options{}))
			check.Done(err)
			want := alone.Scores[0].Test
			if own.Own.Rows != want.Rows || math.Abs(own.Own.RMSE-want.RMSE) > 1e-12*want.RMSE {
				t.Errorf("%s, owner %d: own errors %+v, want %+v", name, i, own.Own, want)
			}
		}
	}
}

// Several owners do not compare the logarithm of the target, which would need sums over single rows. Each
// learns from the fit of its own rows whether it is better.
func TestLogarithmOfOwnFits(t *testing.T) {
	for _, grows := range []bool{false, true} {
		in := ample(5, 3)
		d, r := in.Table.(*Data), rand.New(rand.NewPCG(5, 9))
		for i := range d.Targets {
			y := 2*d.Values[0][i] + .2*r.NormFloat64()
			if d.Targets[i] = 50 + y; grows {
				d.Targets[i] = math.Exp(y)
			}
		}
		_, report, err := Together(t.Context(), cut(in, 3), network("path", 3), Options{NoCurves: true})
		check.Done(err)
		for _, f := range check.OK(report.OwnFits(t.Context())) {
			said := strings.Contains(f.Text, "--log-target")
			check.FailIf(t, said != grows, "targets that grow %v: %q", grows, f.Text)
		}
	}
}
