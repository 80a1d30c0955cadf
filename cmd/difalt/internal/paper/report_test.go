package paper

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// falling is a result of methods that lose so many decades in every ten iterations, down
// to 1e-15, from a start that took 3 rounds and 100 bytes, and send 2 rounds and 1,000
// bytes in each.
func falling(name, weights string, decades map[string]float64) *simulation.Summary {
	s := simulation.Setting{Name: name, Weights: weights, Rounds: 2, Nodes: 10, Kappa: 5, Time: simulation.PaperTime, Graph: "er:0.5"}
	trial := simulation.Trial{Number: 1}
	for _, method := range []string{"dif", "altgdmin", "dec", "dgd", "scaled", "extra", simulation.Auto} {
		d, ok := decades[method]
		if !ok {
			continue
		}
		s.Methods = append(s.Methods, method)
		c := simulation.Curve{Method: method}
		for k := range 401 {
			c.Rows = append(c.Rows, simulation.Row{Iteration: k, SDFirst: max(0.99*math.Pow(10, -d*float64(k/10)), 1e-15), Rounds: int64(3 + 2*k), Bytes: int64(100 + 1000*k), Seconds: 1 + 0.1*float64(k)})
		}
		trial.Curves = append(trial.Curves, c)
	}
	return simulation.Summarize(&s, []simulation.Trial{trial}, nil)
}

func TestReport(t *testing.T) {
	good := map[string]float64{"dif": 1, "altgdmin": 1, "dec": 0.2, "dgd": 0}
	slow := map[string]float64{"dif": 0.1, "altgdmin": 1, "dec": 0.05, "dgd": 0}
	all := []*simulation.Summary{
		falling("fig2a", "equal", slow), falling("fig2b", "equal", good), falling("fig2c", "equal", good),
		falling("one-round/fig2a", "equal", map[string]float64{"dif": 0.01}),
		falling("frontier/many/dif-10", "equal", map[string]float64{"dif": 1}),
		falling("frontier/many/scaled-10", "equal", map[string]float64{"scaled": 2}),
		falling("baselines/1.5/accelerated-3", "metropolis", map[string]float64{"dif": 2}),
		falling("baselines/10/extra-3", "metropolis", map[string]float64{"extra": 0.1}),
		falling("frontier/many/auto", "equal", map[string]float64{simulation.Auto: 0.1}),
	}
	out := filepath.Join(t.TempDir(), "docs")
	if err := WriteReport(out, all); err != nil {
		t.Fatal(err)
	}
	for file, wants := range map[string][]string{
		ReportFile: {
			// 1e-10 after 100 iterations: 200 rounds, 100 KB over 10 nodes.
			"| many tasks a node | Dif-AltGDmin, 2 × float64 | 1 of 1 | 100 | 3 + 200 | 0.01 + 10 | 1 | 1 | 11.0 |",
			"| many tasks a node | Scaled diffusion, 2 × float64 | 1 of 1 | 50 | 3 + 100 | 0.01 + 5 | 1.97 | 2 | 6.0 |",
			"| many tasks a node | Auto | 0 of 1 | - | - | - | - | - | - |",
			"| 1.5 | Dif-AltGDmin | 1 of 1 | 50 | 3 + 100 | 0.01 + 5 |", "| 10 | EXTRA | 0 of 1 | - | - | - |", "(figures/baselines.svg)",
			"![distance against bytes and against rounds](figures/frontier.svg)", "![Figure 2: connectivity of the graph, equal weights](figures/fig2-equal.svg)",
			"| 0.5 | equal | Dif-AltGDmin | 9.9e-05 | 9.9e-05 to 9.9e-05 | 0 of 1 | - | - | - | - |",
			"| **no**: 0 % / 0 %, 100 % / 0 %, 100 % / 0 % | - |", "| **no**: -, 1.00, 1.00 |", "| yes: 9.9e-01, 9.9e-01, 9.9e-01 |", "| **no**: 0 % / 3.9e-01 |",
		},
		ResultsFile: {"frontier/many/scaled-10,equal,scaled,1,1e-15,1,50,3,103,100,50100,6.00\n"},
	} {
		text, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q:\n%s", file, want, text)
			}
		}
	}
	for _, name := range []string{"frontier.svg", "fig2-equal.svg"} {
		if _, err := os.Stat(filepath.Join(out, "figures", name)); err != nil {
			t.Error(err)
		}
	}
}

// Presets name their settings uniquely, and all are valid.
func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Presets() {
		for _, s := range p.Settings {
			if seen[s.Name] {
				t.Errorf("two settings are named %s", s.Name)
			}
			seen[s.Name] = true
			if err := s.Validate(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if _, ok := presetSetting(s.Name); !ok || deviation(&s) != "" {
				t.Errorf("%s differs from itself: %q", s.Name, deviation(&s))
			}
		}
	}
}
