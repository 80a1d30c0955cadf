package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A panelSet holds the three panels of a figure with one choice of weights, in the
// order of the paper.
type panelSet [3]*Result

// A statement is one of the paper about its simulations.
type statement struct {
	text      string
	figures   []int  // of the paper that it is about: 1, 2
	criterion string // by which it counts as confirmed
	check     func(p panelSet) finding
	why       string // it may fail
}

// A finding says whether a figure agrees with a statement, with the numbers.
type finding struct {
	holds   bool
	numbers string
}

// What statements about the same order and about early iterations mean.
const (
	sameOrder    = 10.0
	slightlyMore = 1.25
	earlyPhase   = 0.1  // the distance of Dif-AltGDmin that ends it
	identical    = 1.25 // factor
	accurate     = 1e-10
)

var statements = []statement{
	{
		text: "AltGDmin achieves the fastest convergence speed.", figures: []int{1, 2},
		criterion: "it needs the fewest seconds of all methods to 1e-10, and no method needs fewer iterations by more than 2 %",
		check:     checkFastest,
		why:       "another method's median over the trials is as good: where the rounds suffice, the averaged estimate is that of the server",
	},
	{
		text: "Dif-AltGDmin converges at the same order as AltGDmin with slightly more iterations.", figures: []int{1},
		criterion: "its final distance is within a factor 10 of AltGDmin's, and it needs 0.98 to 1.25 times its iterations to 1e-10",
		check:     checkSlightlyMore,
		why:       "what a round leaves of the disagreement slows the mean of a few trials",
	},
	{
		text: "Dec-AltGDmin decays almost identically with Dif-AltGDmin at earlier rounds …", figures: []int{1},
		criterion: "their distances differ by at most a factor 1.25 until Dif-AltGDmin is at 0.1",
		check:     checkEarly,
		why:       "the agreed gradients are too inexact from the beginning",
	},
	{
		text: "… but cannot reach below a certain bound that is heavily dependent on T_con.", figures: []int{1},
		criterion: "its final distance is above that of Dif-AltGDmin by more than a factor 10, and falls by more than a factor 100 from T_con = 10 to 30",
		check:     checkBound,
		why:       "with enough rounds the bound is at rounding itself",
	},
	{
		text: "DGD-variant fails to converge effectively.", figures: []int{1, 2},
		criterion: "its final distance is above 1e-2 in every panel",
		check: func(p panelSet) finding {
			return finals(p, "dgd", func(v [3]float64) bool { return slices.Min(v[:]) > 1e-2 })
		},
		why: "more iterations than the paper's bring it closer",
	},
	{
		text: "Dif-AltGDmin is superior in terms of convergence and communication efficiency compared to other decentralized methods.", figures: []int{1, 2},
		criterion: "its final distance is the smallest of the decentralised methods, and no other gets to 1e-10 with fewer bytes",
		check:     checkSuperior,
		why:       "it stalls where its local step is too large for how little a few rounds mix",
	},
	{
		text: "In all cases, Dif-AltGDmin achieves a comparable order of subspace distance to the centralized AltGDmin algorithm.", figures: []int{2},
		criterion: "its final distance is within a factor 10 of AltGDmin's in every panel",
		check:     checkComparable,
		why:       "on a sparse graph these weights mix too slowly: the gradient of a node with a single task is mostly noise, and the rounds do not average out what the step adds",
	},
	{
		text: "As the network connectivity improves, the number of iterations to reach that subspace distance level decreases slightly.", figures: []int{2},
		criterion: "its iterations to 1e-10 do not increase from p = 0.05 to 0.15",
		check:     checkConnectivity,
		why:       "where it stalls there is no such number, which agrees with the trend; otherwise the graphs are too dense to matter",
	},
	{
		text: "The performance of Dec-AltGDmin is highly sensitive to network connectivity: it improves with denser connectivity, yet remains significantly less accurate than that of AltGDmin and Dif-AltGDmin.", figures: []int{2},
		criterion: "its final distance falls from panel to panel, by more than a factor 10 in all, and stays more than a factor 1,000 above that of both",
		check:     checkSensitive,
		why:       "Dif-AltGDmin does not converge in one of the panels either",
	},
	{
		text: "This behavior highlights the robustness of Dif-AltGDmin to weaker connectivity.", figures: []int{2},
		criterion: "its final distance is below 1e-12 in every panel",
		check: func(p panelSet) finding {
			return finals(p, "dif", func(v [3]float64) bool { return slices.Max(v[:]) < 1e-12 })
		},
		why: "robust to weak connectivity is the method only while W^T_con contracts by more than its local step expands; these weights are not below that at p = 0.05",
	},
}

// final returns the mean distance at the end, as the paper's figures show it.
func (r *Result) final(method string) float64 { return r.method(method).Final.Mean }

// iterations returns the median iterations to 1e-10, or +Inf.
func (r *Result) iterations(method string) float64 {
	return orInf(r.method(method).reached(accurate).Iterations)
}

func (r *Result) seconds(method string) float64 {
	return orInf(r.method(method).reached(accurate).Seconds)
}

func (r *Result) bytes(method string) float64 { return orInf(r.method(method).reached(accurate).Bytes) }

func orInf(v *float64) float64 {
	if v == nil {
		return math.Inf(1)
	}
	return *v
}

// finals judges by the final distances of a method.
func finals(p panelSet, method string, holds func(v [3]float64) bool) finding {
	var v [3]float64
	for i, r := range p {
		v[i] = r.final(method)
	}
	return finding{holds(v), "final distance " + list(v[:], distance)}
}

func checkFastest(p panelSet) finding {
	f := finding{holds: true}
	var parts []string
	for _, r := range p {
		own := r.iterations("altgdmin")
		next, seconds := math.Inf(1), math.Inf(1)
		for _, m := range r.Summary.Methods {
			if m.Method != "altgdmin" {
				next, seconds = min(next, r.iterations(m.Method)), min(seconds, r.seconds(m.Method))
			}
		}
		f.holds = f.holds && own <= 1.02*next && r.seconds("altgdmin") < seconds
		parts = append(parts, fmt.Sprintf("%s against %s (%s s against %s s)", whole(own), whole(next), whole(r.seconds("altgdmin")), whole(seconds)))
	}
	f.numbers = "iterations to 1e-10, AltGDmin against the next best: " + strings.Join(parts, "; ")
	return f
}

func checkSlightlyMore(p panelSet) finding {
	f := checkComparable(p)
	var ratios []float64
	for _, r := range p {
		times := r.iterations("dif") / r.iterations("altgdmin")
		f.holds = f.holds && times >= 0.98 && times <= slightlyMore
		ratios = append(ratios, times)
	}
	f.numbers += "; iterations to 1e-10 longer by the factors " + list(ratios, ratio)
	return f
}

func checkComparable(p panelSet) finding {
	f := finding{holds: true}
	var v, w []float64
	for _, r := range p {
		v, w = append(v, r.final("dif")), append(w, r.final("altgdmin"))
		f.holds = f.holds && r.final("dif") <= sameOrder*r.final("altgdmin")
	}
	f.numbers = fmt.Sprintf("final distance %s against %s", list(v, distance), list(w, distance))
	return f
}

func checkEarly(p panelSet) finding {
	f := finding{holds: true}
	var worst []float64
	for _, r := range p {
		dif, dec := r.band("dif"), r.band("dec")
		w := 1.0
		for k := 0; k < min(len(dif.Rows), len(dec.Rows)) && dif.Rows[k].Mean > earlyPhase; k++ {
			q := dec.Rows[k].Mean / dif.Rows[k].Mean
			w = max(w, q, 1/q)
		}
		f.holds = f.holds && w <= identical
		worst = append(worst, w)
	}
	f.numbers = "largest factor between them " + list(worst, ratio)
	return f
}

func checkBound(p panelSet) finding {
	f := finals(p, "dec", func(v [3]float64) bool { return v[0] > 100*v[2] })
	for _, r := range p {
		f.holds = f.holds && r.final("dec") > sameOrder*r.final("dif")
	}
	return f
}

func checkSuperior(p panelSet) finding {
	f := finding{holds: true}
	var own, other []float64
	for _, r := range p {
		next, bytes := math.Inf(1), math.Inf(1)
		for _, m := range []string{"dec", "dgd"} {
			next, bytes = min(next, r.final(m)), min(bytes, r.bytes(m))
		}
		f.holds = f.holds && r.final("dif") < next && r.bytes("dif") <= bytes && !math.IsInf(r.bytes("dif"), 1)
		own, other = append(own, r.final("dif")), append(other, next)
	}
	f.numbers = fmt.Sprintf("final distance %s against %s of the best other", list(own, distance), list(other, distance))
	return f
}

func checkConnectivity(p panelSet) finding {
	v := []float64{p[0].iterations("dif"), p[1].iterations("dif"), p[2].iterations("dif")}
	return finding{!math.IsInf(v[0], 1) && v[0] >= v[1] && v[1] >= v[2], "iterations to 1e-10 " + list(v, whole)}
}

func checkSensitive(p panelSet) finding {
	f := finals(p, "dec", func(v [3]float64) bool { return v[0] > v[1] && v[1] > v[2] && v[0] > 10*v[2] })
	for _, r := range p {
		f.holds = f.holds && r.final("dec") > 1000*max(r.final("dif"), r.final("altgdmin"))
	}
	return f
}

// list joins three numbers, one a panel.
func list(v []float64, format func(float64) string) string {
	var parts []string
	for _, x := range v {
		parts = append(parts, format(x))
	}
	return strings.Join(parts, ", ")
}
