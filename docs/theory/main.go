// Command theory measures, on small synthetic problems, the numbers that Theorem 1
// bounds while one of kappa, gamma, epsilon and n varies. It prints the tables of
// docs/theory.md and writes every measurement to a file:
//
//	go run ./docs/theory -out docs/theory/measurements.csv
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/text"
	"gonum.org/v1/gonum/stat"
)

func main() {
	trials := flag.Int("trials", 3, "independent draws of graph and data")
	out := flag.String("out", "measurements.csv", "output `FILE`")
	flag.Parse()
	all, err := measureAll(*trials)
	if err == nil {
		err = os.WriteFile(*out, table(all), 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "theory:", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n\n%s\n", exponents(all).Markdown(), constants(all).Markdown())
}

// table returns all measurements as CSV.
func table(all []measurement) []byte {
	b := []byte("quantity,method,graph,trial,kappa,gamma,epsilon,features,tasks,samples,measured,theory\n")
	for _, m := range all {
		b = fmt.Appendf(b, "%q,%s,%s,%d,%g,%.6g,%.6g,%d,%d,%d,%g,%.6g\n", m.quantity, m.method, m.graph, m.trial,
			m.Kappa, m.Gamma, m.Epsilon, m.Features, m.Tasks, m.Samples, m.measured, m.theory)
	}
	return b
}

// A query selects measurements of a quantity, and what to fit them against.
type query struct {
	quantity string
	method   difalt.Method
	keep     func(m *measurement) bool
	x        func(m *measurement) float64
	// from subtracts from every measurement the one with this epsilon in the same
	// problem, so that the start does not count; 0 subtracts nothing.
	from float64
	gap  bool // multiply by log(1/gamma)
}

// points returns x and measured value of all that a query selects.
func (q *query) points(all []measurement) (x, y []float64) {
	for i := range all {
		m := &all[i]
		if m.quantity != q.quantity || m.method != q.method || !q.keep(m) || math.IsInf(m.measured, 1) || m.Epsilon >= q.from && q.from > 0 {
			continue
		}
		value := m.measured
		if q.from > 0 {
			value -= all[slices.IndexFunc(all, func(o measurement) bool {
				return o.quantity == m.quantity && o.method == m.method && o.trial == m.trial && o.graph == m.graph &&
					o.Kappa == m.Kappa && o.Tasks == m.Tasks && o.Samples == m.Samples && o.Epsilon == q.from
			})].measured
		}
		if q.gap {
			value *= -math.Log(m.Gamma)
		}
		x, y = append(x, q.x(m)), append(y, value)
	}
	return x, y
}

func byKappa(m *measurement) float64    { return m.Kappa }
func byGap(m *measurement) float64      { return -1 / math.Log(m.Gamma) }
func byAccuracy(m *measurement) float64 { return -math.Log(m.Epsilon) }
func bySamples(m *measurement) float64  { return float64(m.Samples) }

// rich keeps the problems with rich data, at one epsilon unless it is 0.
func rich(epsilon float64) func(*measurement) bool {
	return func(m *measurement) bool {
		return m.Tasks == richData.Tasks && (epsilon == 0 || m.Epsilon == epsilon)
	}
}

// scarce keeps those with scarce data, at one epsilon and kappa unless they are 0, on
// all graphs or only the usual one.
func scarce(epsilon, kappa float64, everywhere bool) func(*measurement) bool {
	return func(m *measurement) bool {
		return m.Tasks == scarceData.Tasks && (epsilon == 0 || m.Epsilon == epsilon) && (kappa == 0 || m.Kappa == kappa) &&
			(everywhere || m.graph == scarceData.Graph)
	}
}

// exponents fits measured ~ x^p and compares p with that of the formulas.
func exponents(all []measurement) text.Table {
	const dif, dec = difalt.DifAltGDmin, difalt.DecAltGDmin
	kappa2 := func(m *measurement) bool { return rich(0)(m) && m.Kappa == 2 }
	belowStart := func(m *measurement) float64 { return math.Log(1e-2 / m.Epsilon) }
	t := text.Table{{"quantity", "against", "exponent of the theory", "measured", "R²", "points"}}
	for _, f := range []struct {
		of, against string
		theory      float64
		query       query
	}{
		{"T_GD to 1e-10", "κ", 2, query{"T_GD", dif, rich(1e-10), byKappa, 0, false}},
		{"T_GD from 1e-2 to 1e-12", "κ", 2, query{"T_GD", dif, rich(1e-12), byKappa, 1e-2, false}},
		{"T_GD at κ = 2", "log(1/ε)", 1, query{"T_GD", dif, kappa2, byAccuracy, 0, false}},
		{"T_GD from 1e-2 at κ = 2", "log(1e-2/ε)", 1, query{"T_GD", dif, kappa2, belowStart, 1e-2, false}},
		{"T_GD to 1e-10", "n", 0, query{"T_GD", dif, scarce(1e-10, 1.5, false), bySamples, 0, false}},
		{"T_con,GD of Dif to 1e-8", "1/log(1/γ)", 1, query{"T_con,GD", dif, scarce(1e-8, 1.5, true), byGap, 0, false}},
		{"T_con of Dec to 1e-8", "1/log(1/γ)", 1, query{"T_con,GD", dec, scarce(1e-8, 1.5, true), byGap, 0, false}},
		{"T_con,init", "1/log(1/γ)", 1, query{"T_con,init", dif, scarce(0, 1.5, true), byGap, 0, false}},
		{"T_con,GD log(1/γ) of Dif", "log(1/ε)", 0, query{"T_con,GD", dif, scarce(0, 1.5, false), byAccuracy, 0, true}},
		{"T_con log(1/γ) of Dec", "log(1/ε)", 1, query{"T_con,GD", dec, scarce(0, 1.5, false), byAccuracy, 0, true}},
		{"T_con,GD log(1/γ) of Dif to 1e-8", "κ", 0, query{"T_con,GD", dif, scarce(1e-8, 0, false), byKappa, 0, true}},
		{"T_con log(1/γ) of Dec to 1e-8", "κ", 2, query{"T_con,GD", dec, scarce(1e-8, 0, false), byKappa, 0, true}},
		{"T_pm", "κ", 2, query{"T_pm", dif, rich(0), byKappa, 0, false}},
		{"n", "κ", 6, query{"n", dif, rich(0), byKappa, 0, false}},
	} {
		x, y := f.query.points(all)
		exponent, share := fitPower(x, y)
		t = append(t, []string{f.of, f.against, fmt.Sprint(f.theory), fmt.Sprintf("%.2f", exponent), fmt.Sprintf("%.3f", share), fmt.Sprint(len(x))})
	}
	return t
}

// fitPower returns the least-squares slope in logarithms, and the share of their
// variance that it explains.
func fitPower(x, y []float64) (exponent, share float64) {
	logX, logY := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		logX[i], logY[i] = math.Log(x[i]), math.Log(y[i])
	}
	alpha, beta := stat.LinearRegression(logX, logY, nil, false)
	if slices.Min(logY) < slices.Max(logY) {
		share = stat.RSquared(logX, logY, nil, alpha, beta)
	}
	return beta, share
}

// constants lists what the constants of the formulas would have had to be.
func constants(all []measurement) text.Table {
	t := text.Table{{"formula", "least C", "median C", "largest C", "measurements", "out of reach"}}
	for _, quantity := range []string{"T_pm", "T_con,init", "T_GD", "T_con,GD", "n"} {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
			var ratios []float64
			failed := 0
			for _, m := range all {
				switch {
				case m.quantity != quantity || m.method != method:
				case math.IsInf(m.measured, 1):
					failed++
				default:
					ratios = append(ratios, m.measured/m.theory)
				}
			}
			if len(ratios) > 0 {
				t = append(t, []string{fmt.Sprintf("%s of %v", quantity, method), fmt.Sprintf("%.2g", slices.Min(ratios)), fmt.Sprintf("%.2g", measure.Median(ratios)),
					fmt.Sprintf("%.2g", slices.Max(ratios)), fmt.Sprint(len(ratios)), fmt.Sprint(failed)})
			}
		}
	}
	return t
}
