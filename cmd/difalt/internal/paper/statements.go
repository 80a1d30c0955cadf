package paper

import (
	"math"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A statement is what the paper says about figures, with what counts as confirmed.
type statement struct {
	text, figures, criterion string
	// panel returns the numbers of a panel by which it is judged, and whether they confirm
	// it. It gets the runs with a single round where single is set.
	panel  func(*result) (string, bool)
	single bool
	trend  func(runs []*result) bool // from panel to panel; nil if there is none to judge
}

// final and iterations are medians, and arrive the share of the trials.
func (r *result) final(method string) float64 { return r.Method(method).Final.Median }
func (r *result) iterations(method string) float64 {
	return orInf(r.Method(method).To(accurate).Iterations)
}
func (r *result) arrive(method string) float64 {
	return float64(r.Method(method).To(accurate).Trials) / float64(r.Trials)
}

// longer is the factor by which Dif-AltGDmin takes more iterations than AltGDmin.
func (r *result) longer() float64 { return r.iterations("dif") / r.iterations("altgdmin") }

// apart is the largest factor between the medians of Dif- and Dec-AltGDmin until the
// former is at 0.1.
func (r *result) apart() float64 {
	dif, dec := r.Method("dif").Curve, r.Method("dec").Curve
	largest := 1.0
	for k := range dif {
		ratio := dec[k].Median / dif[k].Median
		if largest = max(largest, ratio, 1/ratio); dif[k].Median < 0.1 {
			break
		}
	}
	return largest
}

var statements = []statement{
	{text: "AltGDmin achieves the fastest convergence speed.", figures: "12",
		criterion: "AltGDmin's iterations are at most 1.02 times Dif's: those of both",
		panel: func(r *result) (string, bool) {
			a, b := r.iterations("altgdmin"), r.iterations("dif")
			return whole(a) + " / " + whole(b), a <= 1.02*b
		}},
	{text: "Dif-AltGDmin converges at the same order as AltGDmin with slightly more iterations.", figures: "1",
		criterion: "0.98 to 1.25 times AltGDmin's iterations: the factor",
		panel: func(r *result) (string, bool) {
			return factor(r.longer()), r.longer() >= 0.98 && r.longer() <= 1.25
		}},
	{text: "Dec-AltGDmin decays almost identically with Dif-AltGDmin at earlier rounds …", figures: "1",
		criterion: "at most a factor 1.25 apart until Dif is at 0.1: the largest factor",
		panel:     func(r *result) (string, bool) { return factor(r.apart()), r.apart() <= 1.25 }},
	{text: "… but cannot reach below a certain bound that is heavily dependent on T_con.", figures: "1",
		criterion: "Dec ends above 10 times Dif, and falls by more than 100 from T_con = 10 to 30: where it ends",
		panel:     func(r *result) (string, bool) { return distance(r.final("dec")), r.final("dec") > 10*r.final("dif") },
		trend:     func(runs []*result) bool { return runs[0].final("dec") > 100*runs[2].final("dec") }},
	{text: "DGD-variant fails to converge effectively.", figures: "12", criterion: "DGD ends above 1e-2: where it ends",
		panel: func(r *result) (string, bool) { return distance(r.final("dgd")), r.final("dgd") > 1e-2 }},
	{text: "Dif-AltGDmin is superior in terms of convergence and communication efficiency compared to other decentralized methods.", figures: "12",
		criterion: "Dif arrives in most trials, and in more than Dec and DGD: its share and theirs",
		panel: func(r *result) (string, bool) {
			dif, other := r.arrive("dif"), max(r.arrive("dec"), r.arrive("dgd"))
			return percent(dif) + " / " + percent(other), dif > 0.5 && dif > other
		}},
	{text: "In all cases, Dif-AltGDmin achieves a comparable order of subspace distance to the centralized AltGDmin algorithm.", figures: "2",
		criterion: "Dif ends within a factor 10 of AltGDmin: where both end",
		panel: func(r *result) (string, bool) {
			a, b := r.final("dif"), r.final("altgdmin")
			return distance(a) + " / " + distance(b), a <= 10*b
		}},
	{text: "As the network connectivity improves, the number of iterations to reach that subspace distance level decreases slightly.", figures: "2",
		criterion: "Dif's iterations decrease relative to AltGDmin's, which do not use the graph: the factor",
		panel:     func(r *result) (string, bool) { return factor(r.longer()), r.longer() < math.Inf(1) },
		trend: func(runs []*result) bool {
			return runs[0].longer() >= runs[1].longer() && runs[1].longer() >= runs[2].longer()
		}},
	{text: "The performance of Dec-AltGDmin is highly sensitive to network connectivity … yet remains significantly less accurate than that of AltGDmin and Dif-AltGDmin.", figures: "2",
		criterion: "Dec falls by more than 10 from p = 0.05 to 0.15, and ends above 1000 times both: where it ends",
		panel: func(r *result) (string, bool) {
			return distance(r.final("dec")), r.final("dec") > 1000*max(r.final("dif"), r.final("altgdmin"))
		},
		trend: func(runs []*result) bool { return runs[0].final("dec") > 10*runs[2].final("dec") }},
	{text: "This behavior highlights the robustness of Dif-AltGDmin to weaker connectivity.", figures: "2",
		criterion: "Dif arrives in 95 % of the trials: the share",
		panel:     func(r *result) (string, bool) { return percent(r.arrive("dif")), r.arrive("dif") >= 0.95 }},
	{text: "The proposed algorithm is effective even with a single aggregation step.", figures: "12", single: true,
		criterion: "Dif arrives in 95 % of the trials with T_con = 1 (figure 1: its graph; 2: the three graphs): the share, and where it ends",
		panel: func(r *result) (string, bool) {
			return percent(r.arrive("dif")) + " / " + distance(r.final("dif")), r.arrive("dif") >= 0.95
		}},
}

// verdict judges the statement on the runs of a figure, or returns a dash without them.
func (s *statement) verdict(runs []*result) string {
	if len(runs) == 0 {
		return "-"
	}
	var numbers []string
	confirmed := s.trend == nil || s.trend(runs)
	for _, r := range runs {
		number, ok := s.panel(r)
		numbers, confirmed = append(numbers, number), confirmed && ok
	}
	return map[bool]string{true: "yes: ", false: "**no**: "}[confirmed] + strings.Join(numbers, ", ")
}

func factor(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return format(v, 'f', 2)
}

func percent(v float64) string { return whole(100*v) + " %" }

func (r *report) statements() string {
	t := text.Table{{"the paper says", "of figure", "confirmed if", "equal weights", "metropolis weights"}}
	for _, s := range statements {
		for _, figure := range strings.Split(s.figures, "") {
			row := []string{"“" + s.text + "”", figure, s.criterion}
			for _, weights := range paperWeights {
				runs := r.panels("fig"+figure, weights)
				if s.single {
					runs = r.panels("one-round/fig"+figure, weights)
				} else if len(runs) < 3 {
					runs = nil
				}
				row = append(row, s.verdict(runs))
			}
			if row[3] != "-" || row[4] != "-" {
				t = append(t, row)
			}
		}
	}
	return t.Markdown()
}
