package paper

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/internal/chart"
	"github.com/difalt/difalt/internal/simulation"
)

// baselines compares the runs of the preset baselines.
func (r *report) baselines() (string, error) {
	t := table{{"κ", "method", "arrive", "iterations", "rounds", "KB a node"}}
	var panels []chart.Panel
	caption := ""
	for _, kappa := range baselineKappas {
		panel := chart.Panel{Title: fmt.Sprintf("Condition number %g", kappa), X: chart.Axis{Label: "Rounds after the initialisation", Log: true}}
		for i, run := range r.group(fmt.Sprintf("baselines/%g", kappa)) {
			s, m := &run.Summary.Setting, &run.Summary.Methods[0]
			to, start := m.To(accurate), run.Bands[0].Rows[0].Rounds
			t = append(t, []string{
				fmt.Sprint(kappa), simulation.LookOf(s.Methods[0]).Name, fmt.Sprintf("%d of %d", to.Trials, run.Summary.Trials), whole(orInf(to.Iterations)),
				parts(m.InitRounds, orInf(to.Rounds), 1), parts(m.InitBytes, orInf(to.Bytes), 1e3*float64(s.Nodes)),
			})
			line := run.variantSeries(i, func(b *simulation.BandRow) float64 { return max(b.Rounds-start, 1) })
			line.Name = simulation.LookOf(s.Methods[0]).Name
			panel.Series = append(panel.Series, line)
			caption = strings.TrimPrefix(simulation.TrialsText(run.Bands), ";  ")
		}
		if len(panel.Series) > 0 {
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return "", nil
	}
	shown, err := r.picture("baselines", "distance against rounds, beside other algorithms of decentralised optimisation", simulation.DistanceFigure(caption, panels...))
	return shown + t.markdown(), err
}
