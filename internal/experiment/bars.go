package experiment

import (
	"fmt"
	"math"
	"strings"
)

// bars lists what the variants beyond the paper are meant to reach, beside what the
// runs of a kind of frontier reached.
func (r *report) bars(kind string, points []point, base point) {
	rows := [][]string{}
	add := func(what, aim string, met bool, measured string) {
		verdict := "no"
		if met {
			verdict = "yes"
		}
		rows = append(rows, []string{what, aim, measured, verdict})
	}
	best := point{bytes: math.Inf(1), slow: math.Inf(1)}
	for _, p := range points {
		if !p.always() {
			continue
		}
		if m := p.run.Summary.Methods[0].Method; m == "scaled" || m == "tracking" || m == Auto || p.run.Summary.Setting.Compress != "" {
			best.bytes, best.slow = min(best.bytes, p.bytes), min(best.slow, p.slow)
		}
	}
	times := func(what string, least, measured float64) {
		add(what, fmt.Sprintf("at least %gx", least), measured >= least, format(measured, 'f', 1)+"x")
	}
	aims := map[string][2]float64{"easy": {130, 8}, "hard": {40, 3}}[kind]
	times("fewer bytes, the best variant", aims[0], base.bytes/best.bytes)
	times("fewer seconds, the best variant", aims[1], base.slow/best.slow)
	if kind == "easy" {
		times("fewer bytes, scaled, 3 rounds, int4", 85, base.bytes/named(points, "equal/scaled-3-int4").bytes)
	}
	for _, weights := range paperWeights {
		exact, coded := named(points, weights+"/scaled-10"), named(points, weights+"/scaled-10-int4")
		if exact.run == nil || coded.run == nil {
			continue
		}
		ratio, final := coded.iterations/exact.iterations, coded.run.Summary.Methods[0].Final.Median
		add("iterations with int4 against float64, scaled, 10 rounds, "+weights, "at most 1.05", ratio <= 1.05, format(ratio, 'f', 2))
		add("final distance with int4, scaled, 10 rounds, "+weights, "below 1e-13", final < 1e-13, distance(final))
	}
	if p := named(points, "metropolis/dif-10-chebyshev"); kind == "hard" && p.run != nil {
		add(fmt.Sprintf("iterations to %g, Dif-AltGDmin, 10 rounds, metropolis, chebyshev", accurate), "arrives", !math.IsInf(p.iterations, 1), whole(p.iterations))
	}
	r.printf("\n")
	r.table([]string{"aim", "", "measured (medians)", "met"}, rows)
}

// named returns the point whose setting's name ends as given, without a run and
// out of reach if there is none.
func named(points []point, suffix string) point {
	for _, p := range points {
		if strings.HasSuffix(p.run.Summary.Setting.Name, "/"+suffix) {
			return p
		}
	}
	inf := math.Inf(1)
	return point{nil, inf, inf, inf, inf, 0}
}
