package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/text"
	"gonum.org/v1/gonum/stat"
)

// What measurements are fitted against.
func kappa(m *measurement) float64    { return m.Kappa }
func gap(m *measurement) float64      { return -1 / math.Log(m.gamma) }
func accuracy(m *measurement) float64 { return -math.Log(m.epsilon) }
func samples(m *measurement) float64  { return float64(m.Samples) }

// exponents fits measured ~ x^p and compares p with that of the formulas.
func exponents(all []*measurement) text.Table {
	isRich := func(m *measurement) bool { return m.Tasks == rich.Tasks }
	isScarce := func(m *measurement) bool { return m.Tasks == scarce.Tasks }
	t := text.Table{{"quantity", "against", "exponent of the theory", "measured", "R²", "points"}}
	for _, f := range []struct {
		of, against string
		theory      float64
		quantity    string
		method      difalt.Method
		x           func(m *measurement) float64
		keep        func(m *measurement) bool
		overGap     bool // of what is measured
	}{
		{"T_GD to 1e-10", "κ", 2, "T_GD", dif, kappa, func(m *measurement) bool { return isRich(m) && m.epsilon == 1e-10 }, false},
		{"T_GD at κ = 2", "log(1/ε)", 1, "T_GD", dif, accuracy, func(m *measurement) bool { return isRich(m) && m.Kappa == 2 }, false},
		{"T_GD to 1e-10", "n", 0, "T_GD", dif, samples, func(m *measurement) bool { return isScarce(m) && m.epsilon == 1e-10 }, false},
		{"T_con,GD of Dif to 1e-8", "1/log(1/γ)", 1, "T_con,GD", dif, gap, func(m *measurement) bool { return m.Kappa == 1.5 && m.epsilon == 1e-8 }, false},
		{"T_con of Dec to 1e-8", "1/log(1/γ)", 1, "T_con,GD", dec, gap, func(m *measurement) bool { return m.Kappa == 1.5 && m.epsilon == 1e-8 }, false},
		{"T_con,init", "1/log(1/γ)", 1, "T_con,init", dif, gap, isScarce, false},
		{"T_con,GD log(1/γ) of Dif", "log(1/ε)", 0, "T_con,GD", dif, accuracy, func(m *measurement) bool { return m.Graph == scarce.Graph && m.Kappa == 1.5 }, true},
		{"T_con log(1/γ) of Dec", "log(1/ε)", 1, "T_con,GD", dec, accuracy, func(m *measurement) bool { return m.Graph == scarce.Graph && m.Kappa == 1.5 }, true},
		{"T_con,GD log(1/γ) of Dif to 1e-8", "κ", 0, "T_con,GD", dif, kappa, func(m *measurement) bool { return m.Graph == scarce.Graph && m.epsilon == 1e-8 }, true},
		{"T_con log(1/γ) of Dec to 1e-8", "κ", 2, "T_con,GD", dec, kappa, func(m *measurement) bool { return m.Graph == scarce.Graph && m.epsilon == 1e-8 }, true},
		{"T_pm", "κ", 2, "T_pm", dif, kappa, isRich, false},
		{"n", "κ", 6, "n", dif, kappa, isRich, false},
	} {
		var x, y []float64
		for _, m := range all {
			if m.quantity != f.quantity || m.method != f.method || !f.keep(m) || math.IsInf(m.measured, 1) {
				continue
			}
			value := m.measured
			if f.overGap {
				value /= gap(m)
			}
			x, y = append(x, f.x(m)), append(y, value)
		}
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
