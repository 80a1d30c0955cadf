package experiment

import (
	"math"
	"slices"

	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/stat"
)

// A Fit is a power law fitted to measurements: measured ~ x^Exponent.
type Fit struct {
	Of, Against string
	// Theory is the exponent that the paper's formula has.
	Theory float64
	// Exponent is the least-squares slope in logarithms over Points measurements, and
	// RSquared the share of their variance that it explains.
	Exponent, RSquared float64
	Points             int
}

// A Constant summarises the ratio of measurement to formula, the C of the formula.
type Constant struct {
	Quantity, Method     string
	Least, Median, Most  float64
	Measurements, Failed int // Failed were not reached within the sweep's limits
}

// A query selects measurements and what to plot and fit them against.
type query struct {
	quantity string
	method   difalt.Method
	keep     func(m *Measurement) bool
	x        func(m *Measurement) float64
	// from subtracts from every measurement the one with this epsilon in the same
	// problem, so that the start does not count; 0 subtracts nothing.
	from float64
	// scale multiplies what was measured; nil is 1.
	scale func(m *Measurement) float64
}

// points returns x and measured value of all that a query selects.
func (q *query) points(all []Measurement) (x, y []float64) {
	for i := range all {
		m := &all[i]
		if m.Quantity != q.quantity || m.Method != q.method.String() || !q.keep(m) || math.IsNaN(m.Measured) {
			continue
		}
		value := m.Measured
		if q.from > 0 {
			if m.Epsilon >= q.from {
				continue
			}
			value -= all[q.partner(all, m)].Measured
		}
		if q.scale != nil {
			value *= q.scale(m)
		}
		x, y = append(x, q.x(m)), append(y, value)
	}
	return x, y
}

// partner returns the measurement of the same problem with epsilon = from.
func (q *query) partner(all []Measurement, m *Measurement) int {
	return slices.IndexFunc(all, func(o Measurement) bool {
		return o.Quantity == m.Quantity && o.Method == m.Method && o.Trial == m.Trial && o.Graph == m.Graph &&
			o.Kappa == m.Kappa && o.Tasks == m.Tasks && o.Samples == m.Samples && o.Epsilon == q.from
	})
}

func byKappa(m *Measurement) float64    { return m.Kappa }
func byGap(m *Measurement) float64      { return -1 / math.Log(m.Gamma) }
func byAccuracy(m *Measurement) float64 { return -math.Log(m.Epsilon) }
func gap(m *Measurement) float64        { return -math.Log(m.Gamma) }
func bySamples(m *Measurement) float64  { return float64(m.Samples) }

// rich and scarce tell the two problems of a Sweep apart.
func rich(m *Measurement) bool { return m.Tasks == richSetting.Tasks }

func scarce(m *Measurement, graph bool, kappa bool) bool {
	return m.Tasks == scarceSetting.Tasks && (graph || m.Graph == scarceSetting.Graph) && (kappa || m.Kappa == 1.5)
}

// Fits returns the exponents of Theorem 1, as the paper has them and as they were
// measured.
func Fits(all []Measurement) []Fit {
	at := func(e float64) func(*Measurement) bool {
		return func(m *Measurement) bool { return rich(m) && m.Epsilon == e }
	}
	second := func(m *Measurement) bool { return rich(m) && m.Kappa == 2 }
	graphs := func(m *Measurement) bool { return scarce(m, true, false) && m.Epsilon == 1e-8 }
	kappas := func(m *Measurement) bool { return scarce(m, false, true) && m.Epsilon == 1e-8 }
	both := func(m *Measurement) bool { return scarce(m, false, false) }
	const dif, dec = difalt.DifAltGDmin, difalt.DecAltGDmin
	single := func(m *Measurement) bool { return both(m) && m.Epsilon == 1e-10 }
	start := func(m *Measurement) bool { return scarce(m, true, false) }
	below := func(m *Measurement) float64 { return math.Log(1e-2 / m.Epsilon) }
	var fits []Fit
	for _, f := range []struct {
		of, against string
		theory      float64
		query       query
	}{
		{"T_GD to 1e-10", "kappa", 2, query{QuantityIterations, dif, at(1e-10), byKappa, 0, nil}},
		{"T_GD from 1e-2 to 1e-12", "kappa", 2, query{QuantityIterations, dif, at(1e-12), byKappa, 1e-2, nil}},
		{"T_GD at kappa 2", "log(1/epsilon)", 1, query{QuantityIterations, dif, second, byAccuracy, 0, nil}},
		{"T_GD from 1e-2 at kappa 2", "log(1e-2/epsilon)", 1, query{QuantityIterations, dif, second, below, 1e-2, nil}},
		{"T_GD to 1e-10", "n", 0, query{QuantityIterations, dif, single, bySamples, 0, nil}},
		{"T_con,GD of Dif to 1e-8", "1/log(1/gamma)", 1, query{QuantityRounds, dif, graphs, byGap, 0, nil}},
		{"T_con of Dec to 1e-8", "1/log(1/gamma)", 1, query{QuantityRounds, dec, graphs, byGap, 0, nil}},
		{"T_con,init", "1/log(1/gamma)", 1, query{QuantityInitRounds, dif, start, byGap, 0, nil}},
		{"T_con,GD log(1/gamma) of Dif", "log(1/epsilon)", 0, query{QuantityRounds, dif, both, byAccuracy, 0, gap}},
		{"T_con log(1/gamma) of Dec", "log(1/epsilon)", 1, query{QuantityRounds, dec, both, byAccuracy, 0, gap}},
		{"T_con,GD log(1/gamma) of Dif to 1e-8", "kappa", 0, query{QuantityRounds, dif, kappas, byKappa, 0, gap}},
		{"T_con log(1/gamma) of Dec to 1e-8", "kappa", 2, query{QuantityRounds, dec, kappas, byKappa, 0, gap}},
		{"T_pm", "kappa", 2, query{QuantityPower, dif, rich, byKappa, 0, nil}},
		{"n", "kappa", 6, query{QuantitySamples, dif, rich, byKappa, 0, nil}},
	} {
		x, y := f.query.points(all)
		fits = append(fits, fitPower(f.of, f.against, f.theory, x, y))
	}
	return fits
}

// fitPower fits y ~ x^p.
func fitPower(of, against string, theory float64, x, y []float64) Fit {
	logX, logY := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		logX[i], logY[i] = math.Log(x[i]), math.Log(y[i])
	}
	f := Fit{Of: of, Against: against, Theory: theory, Points: len(x)}
	alpha, beta := stat.LinearRegression(logX, logY, nil, false)
	f.Exponent = beta
	if slices.Min(logY) < slices.Max(logY) {
		f.RSquared = stat.RSquared(logX, logY, nil, alpha, beta)
	}
	return f
}

// ConstantsOf returns what the constants of the formulas would have had to be.
func ConstantsOf(all []Measurement) []Constant {
	var constants []Constant
	for _, k := range []struct{ quantity, method string }{
		{QuantityPower, "dif"}, {QuantityInitRounds, "dif"}, {QuantityIterations, "dif"},
		{QuantityRounds, "dif"}, {QuantityRounds, "dec"}, {QuantitySamples, "dif"},
	} {
		c := Constant{Quantity: k.quantity, Method: k.method}
		var ratios []float64
		for _, m := range all {
			switch {
			case m.Quantity != k.quantity || m.Method != k.method:
			case math.IsNaN(m.Measured):
				c.Failed++
			default:
				ratios = append(ratios, m.Measured/m.Theory)
			}
		}
		if c.Measurements = len(ratios); len(ratios) > 0 {
			c.Least, c.Median, c.Most = slices.Min(ratios), median(ratios), slices.Max(ratios)
		}
		constants = append(constants, c)
	}
	return constants
}
