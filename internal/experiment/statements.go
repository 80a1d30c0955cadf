package experiment

import (
	"math"
	"strings"

	"github.com/difalt/difalt/internal/text"
)

// A statement is what the paper says about a figure, with what counts as confirmed.
type statement struct {
	text, figure, criterion string
	// judge returns the numbers of each panel on which it decides, and whether they
	// confirm the statement. It gets the panels' runs, and those with one round.
	judge func(runs, one []*Result) (numbers []string, confirmed bool)
}

// each judges a statement that has to hold in every panel.
func each(runs []*Result, judge func(*Result) (string, bool)) (numbers []string, all bool) {
	all = true
	for _, r := range runs {
		text, ok := judge(r)
		numbers, all = append(numbers, text), all && ok
	}
	return numbers, all
}

// final and iterations are medians, and arrive the share of the trials.
func (r *Result) final(method string) float64 { return r.method(method).Final.Median }
func (r *Result) iterations(method string) float64 {
	return orInf(r.method(method).reached(accurate).Iterations)
}
func (r *Result) arrive(method string) float64 {
	return float64(r.method(method).reached(accurate).Trials) / float64(r.Summary.Trials)
}

// longer is the factor by which Dif-AltGDmin takes more iterations than AltGDmin.
func (r *Result) longer() float64 { return r.iterations("dif") / r.iterations("altgdmin") }

// apart is the largest factor between the medians of Dif- and Dec-AltGDmin until the
// former is at 0.1.
func (r *Result) apart() float64 {
	dif, dec := r.band("dif"), r.band("dec")
	largest := 1.0
	for k := range dif.Rows {
		ratio := dec.Rows[k].Median / dif.Rows[k].Median
		if largest = max(largest, ratio, 1/ratio); dif.Rows[k].Median < 0.1 {
			break
		}
	}
	return largest
}

var statements = []statement{
	{"AltGDmin achieves the fastest convergence speed.", "fig1", "its iterations are at most 1.02 times those of Dif; iterations of both", fastest},
	{"", "fig2", "", fastest},
	{"Dif-AltGDmin converges at the same order as AltGDmin with slightly more iterations.", "fig1", "0.98 to 1.25 times the iterations; the factor",
		func(runs, _ []*Result) ([]string, bool) {
			return each(runs, func(r *Result) (string, bool) {
				return factor(r.longer()), r.longer() >= 0.98 && r.longer() <= 1.25
			})
		}},
	{"Dec-AltGDmin decays almost identically with Dif-AltGDmin at earlier rounds …", "fig1", "at most a factor 1.25 apart until Dif is at 0.1; the largest factor",
		func(runs, _ []*Result) ([]string, bool) {
			return each(runs, func(r *Result) (string, bool) { return factor(r.apart()), r.apart() <= 1.25 })
		}},
	{"… but cannot reach below a certain bound that is heavily dependent on T_con.", "fig1", "ends above 10 times Dif, and falls by more than 100 from T_con = 10 to 30; where it ends",
		func(runs, _ []*Result) ([]string, bool) {
			numbers, above := each(runs, func(r *Result) (string, bool) { return distance(r.final("dec")), r.final("dec") > 10*r.final("dif") })
			return numbers, above && runs[0].final("dec") > 100*runs[2].final("dec")
		}},
	{"DGD-variant fails to converge effectively.", "fig1", "ends above 1e-2; where it ends", stalls},
	{"", "fig2", "", stalls},
	{"Dif-AltGDmin is superior in terms of convergence and communication efficiency compared to other decentralized methods.", "fig1",
		"arrives in most trials, and in more than any other; the share of trials, and that of Dec", superior},
	{"", "fig2", "", superior},
	{"In all cases, Dif-AltGDmin achieves a comparable order of subspace distance to the centralized AltGDmin algorithm.", "fig2",
		"ends within a factor 10; where both end", func(runs, _ []*Result) ([]string, bool) {
			return each(runs, func(r *Result) (string, bool) {
				return distance(r.final("dif")) + " / " + distance(r.final("altgdmin")), r.final("dif") <= 10*r.final("altgdmin")
			})
		}},
	{"As the network connectivity improves, the number of iterations to reach that subspace distance level decreases slightly.", "fig2",
		"decreases relative to AltGDmin, which does not use the graph in its iterations; the factor", func(runs, _ []*Result) ([]string, bool) {
			numbers, _ := each(runs, func(r *Result) (string, bool) { return factor(r.longer()), true })
			a, b, c := runs[0].longer(), runs[1].longer(), runs[2].longer()
			return numbers, a < math.Inf(1) && a >= b && b >= c
		}},
	{"The performance of Dec-AltGDmin is highly sensitive to network connectivity … yet remains significantly less accurate than that of AltGDmin and Dif-AltGDmin.", "fig2",
		"falls by more than 10 from p = 0.05 to 0.15, and ends above 1000 times both; where it ends", func(runs, _ []*Result) ([]string, bool) {
			numbers, above := each(runs, func(r *Result) (string, bool) {
				return distance(r.final("dec")), r.final("dec") > 1000*max(r.final("dif"), r.final("altgdmin"))
			})
			return numbers, above && runs[0].final("dec") > 10*runs[2].final("dec")
		}},
	{"This behavior highlights the robustness of Dif-AltGDmin to weaker connectivity.", "fig2", "arrives in 95 % of the trials; the share",
		func(runs, _ []*Result) ([]string, bool) {
			return each(runs, func(r *Result) (string, bool) { return percent(r.arrive("dif")), r.arrive("dif") >= 0.95 })
		}},
	{"The proposed algorithm is effective even with a single aggregation step.", "fig1", "arrives in 95 % of the trials with T_con = 1 on the graph of the first panel; the share, and where it ends", oneRoundSuffices},
	{"", "fig2", "", oneRoundSuffices},
}

func fastest(runs, _ []*Result) ([]string, bool) {
	return each(runs, func(r *Result) (string, bool) {
		return whole(r.iterations("altgdmin")) + " / " + whole(r.iterations("dif")), r.iterations("altgdmin") <= 1.02*r.iterations("dif")
	})
}

func stalls(runs, _ []*Result) ([]string, bool) {
	return each(runs, func(r *Result) (string, bool) { return distance(r.final("dgd")), r.final("dgd") > 1e-2 })
}

func superior(runs, _ []*Result) ([]string, bool) {
	return each(runs, func(r *Result) (string, bool) {
		dif, dec := r.arrive("dif"), max(r.arrive("dec"), r.arrive("dgd"))
		return percent(dif) + " / " + percent(dec), dif > 0.5 && dif > dec
	})
}

func oneRoundSuffices(_, one []*Result) ([]string, bool) {
	return each(one, func(r *Result) (string, bool) {
		return percent(r.arrive("dif")) + " / " + distance(r.final("dif")), r.arrive("dif") >= 0.95
	})
}

func factor(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return format(v, 'f', 2)
}

func percent(v float64) string { return whole(100*v) + " %" }

// statements judges what the paper says about its figures.
func (r *report) statements() error {
	t := text.Table{{"the paper says", "of figure", "confirmed if Dif-AltGDmin, or the method named, in every panel …", "equal weights", "metropolis weights"}}
	for _, s := range statements {
		row := []string{s.text, s.figure[3:], s.criterion}
		if s.text != "" {
			row[0] = "“" + s.text + "”"
		}
		for _, weights := range paperWeights {
			cell := "-"
			var one []*Result
			for _, panel := range []string{"a", "b", "c"} {
				if run := find(r.all, "one-round/"+s.figure+panel, weights); run != nil {
					one = append(one, run)
				}
			}
			if runs := r.panels(s.figure, weights); runs != nil {
				if numbers, ok := s.judge(runs, one); len(numbers) > 0 {
					cell = map[bool]string{true: "yes: ", false: "**no**: "}[ok] + strings.Join(numbers, ", ")
				}
			}
			row = append(row, cell)
		}
		if row[3] != "-" || row[4] != "-" {
			t = append(t, row)
		}
	}
	if len(t) == 1 {
		return nil
	}
	r.printf("\n## What the paper says about them\n\nEach statement is judged by a criterion on medians, or on how many trials arrive; the numbers are those of the three panels.\n")
	r.table(t)
	return nil
}
