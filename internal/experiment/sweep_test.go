package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"image/png"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
)

func TestSmallest(t *testing.T) {
	for threshold := 1; threshold <= 40; threshold++ {
		got, err := smallest(3, 33, func(n int) (bool, error) {
			if n < 3 || n > 33 {
				t.Fatalf("asks for %d", n)
			}
			return n >= threshold, nil
		})
		want := float64(max(3, threshold))
		if threshold > 33 {
			want = math.NaN()
		}
		if err != nil || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("threshold %d: got %v, %v", threshold, got, err)
		}
	}
	broken := errors.New("broken")
	if _, err := smallest(1, 9, func(int) (bool, error) { return false, broken }); err != broken {
		t.Errorf("got error %v", err)
	}
}

func TestFitPowerFindsPowers(t *testing.T) {
	x := []float64{1, 2, 3, 5}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = 7 * math.Pow(x[i], 2.5)
	}
	f := fitPower("y", "x", 2, x, y)
	checkNear(t, "exponent", f.Exponent, 2.5)
	checkNear(t, "R^2", f.RSquared, 1)
	if f = fitPower("y", "x", 0, x, []float64{3, 3, 3, 3}); f.Exponent != 0 || f.RSquared != 0 {
		t.Errorf("a constant has the fit %+v", f)
	}
}

// Measurements that follow the formulas have their exponents and constants.
func TestFitsOfTheTheory(t *testing.T) {
	all := theoretical(t, &Sweep{Trials: 1, Seed: 1})
	for _, f := range Fits(all) {
		// Where the formula is a power of what it is fitted against, and not a sum.
		switch f.Of + " " + f.Against {
		case "T_GD to 1e-10 kappa", "T_GD at kappa 2 log(1/epsilon)", "T_GD to 1e-10 n", "T_con,init 1/log(1/gamma)",
			"T_con of Dec to 1e-8 1/log(1/gamma)", "T_con,GD of Dif to 1e-8 1/log(1/gamma)":
			if math.Abs(f.Exponent-f.Theory) > 1e-9 || f.Points < 5 {
				t.Errorf("%s against %s: got %+v", f.Of, f.Against, f)
			}
		}
	}
	for _, c := range ConstantsOf(all) {
		if math.Abs(c.Least-3) > 1e-9 || math.Abs(c.Most-3) > 1e-9 || c.Measurements == 0 {
			t.Errorf("the constants are %+v, want 3", c)
		}
	}
}

// theoretical returns measurements of 3 times the formulas for the problems of a
// sweep.
func theoretical(t *testing.T, s *Sweep) []Measurement {
	t.Helper()
	var all []Measurement
	for _, p := range s.probes() {
		var err error
		if p.weights, err = p.setting.Network(p.trial); err != nil {
			t.Fatal(err)
		}
		for _, e := range sweepEpsilon {
			p.add(QuantityIterations, difalt.DifAltGDmin, e, 0)
			p.add(QuantityRounds, difalt.DifAltGDmin, e, 0)
			p.add(QuantityRounds, difalt.DecAltGDmin, e, 0)
		}
		p.add(QuantityPower, difalt.DifAltGDmin, 0.5, 0)
		p.add(QuantityInitRounds, difalt.DifAltGDmin, 0.5, 0)
		p.add(QuantitySamples, difalt.DifAltGDmin, 1e-6, 0)
		all = append(all, p.found...)
	}
	for i := range all {
		all[i].Measured = 3 * all[i].Theory
	}
	return all
}

func TestSweepFigures(t *testing.T) {
	all := theoretical(t, &Sweep{Trials: 2, Seed: 1})
	for _, f := range SweepFigures(all) {
		var b bytes.Buffer
		if err := f.WritePNG(&b); err != nil {
			t.Fatal(f.Name, err)
		}
		if _, err := png.Decode(&b); err != nil {
			t.Error(f.Name, err)
		}
		b.Reset()
		if err := f.WriteSVG(&b); err != nil || !strings.Contains(b.String(), "</svg>") {
			t.Errorf("%s.svg: %v, %d bytes", f.Name, err, b.Len())
		}
	}
}

func TestWriteMeasurements(t *testing.T) {
	var b bytes.Buffer
	m := Measurement{Quantity: QuantityInitRounds, Method: "dif", Graph: "ring", Trial: 2, Kappa: 1.5, Gamma: 0.25,
		Epsilon: 1e-8, Features: 7, Tasks: 8, Samples: 9, Measured: math.NaN(), Theory: 12.5}
	if err := WriteMeasurements(&b, []Measurement{m}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	want := []string{"T_con,init", "dif", "ring", "2", "1.5", "0.25", "1e-08", "7", "8", "9", "NaN", "12.5"}
	if err != nil || len(rows) != 2 || !reflect.DeepEqual(rows[1], want) {
		t.Errorf("got %q, %v, want the row %q", rows, err, want)
	}
}

// A few problems measured in earnest: they repeat with any number of workers, and
// Dif-AltGDmin needs fewer rounds than Dec-AltGDmin.
func TestSweepMeasures(t *testing.T) {
	small := func(kappa float64, measure func(*probe, context.Context) error) *probe {
		s := scarceSetting
		s.Graph = "exponential"
		return newProbe(s, 1, 1, kappa, measure)
	}
	run := func(workers int) []Measurement {
		s := Sweep{Trials: 1, Seed: 1, Workers: workers}
		all, err := s.measure(context.Background(), []*probe{
			small(1, (*probe).iterations), small(1.5, (*probe).rounds), small(1.5, (*probe).initRounds),
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := run(1)
	if !reflect.DeepEqual(all, run(3)) {
		t.Error("measurements depend on the number of workers")
	}
	before := 0.0
	rounds := map[string]float64{}
	for _, m := range all {
		switch {
		case m.Quantity == QuantityIterations:
			if m.Measured <= before { // later for every smaller epsilon
				t.Errorf("%v iterations to %v, after %v", m.Measured, m.Epsilon, before)
			}
			before = m.Measured
		case m.Quantity == QuantityRounds && m.Epsilon == 1e-8:
			rounds[m.Method] = m.Measured
		}
	}
	if !(rounds["dif"] >= 1 && rounds["dec"] > 3*rounds["dif"]) {
		t.Errorf("rounds to 1e-8: %v", rounds)
	}
}

func TestSweepStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (&Sweep{Trials: 1}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if _, err := (&Sweep{}).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "trials is 0") {
		t.Errorf("got error %v", err)
	}
}
