package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// falling is a result with one method that loses a decade in every ten iterations
// down to 1e-15 and sends and waits the same in each.
func falling(name, weights, method string, decades, bytes, seconds float64) *Result {
	s := Setting{Name: name, Weights: weights, Methods: []string{method}, Rounds: 2, Nodes: 10, Kappa: 5, Time: PaperTime, Graph: "er:0.5"}
	c := Curve{Method: method}
	distance := 0.99
	for k := range 201 {
		c.Rows = append(c.Rows, Row{Iteration: k, SDFirst: max(distance, 1e-15), Rounds: int64(2 * k), Bytes: int64(bytes * float64(k)), Seconds: seconds * float64(k)})
		if (k+1)%10 == 0 {
			for range int(decades) {
				distance /= 10
			}
		}
	}
	trials := []Trial{{Number: 1, Curves: []Curve{c}}}
	return &Result{Dir: name, Summary: *Summarize(&s, trials, nil), Bands: Bands(trials)}
}

func TestReportFrontier(t *testing.T) {
	all := []*Result{
		falling("frontier/easy/equal/dif-10", "equal", "dif", 1, 20e3, 0.1),
		falling("frontier/easy/equal/scaled-1-int4", "equal", "scaled", 2, 1e3, 0.1),
		falling("frontier/easy/equal/tracking-2-int4", "equal", "tracking", 0, 1e3, 0.1),
		falling("kappa/5", "equal", "dif", 1, 1, 1),
	}
	all[1].Summary.Setting.Compress = "int4"
	out := filepath.Join(t.TempDir(), "docs")
	if err := WriteReport(out, all); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		// 1e-10 after 100 iterations: 2 MB over 10 nodes, 10 s; at 5 ms 200 rounds less 45 ms.
		"| Dif-AltGDmin | 2 | equal | float64 | 1.0e-15 | 100 | 1 | 200 | 1.0x | 10.0 | 1.0x | 1.00 | 1.0x |",
		// After 50: 50 KB, 5 s, of which 100 rounds of 45 ms.
		"| Scaled diffusion | 2 | equal | int4 | 1.0e-15 | 50 | 1 | 5 | 40.0x | 5.0 | 2.0x | 0.50 | 2.0x |",
		"| Gradient tracking | 2 | equal | float64 | 9.9e-01 | - | 0 | - | - | - | - | - | - |",
		"![iterations against the condition number](figures/kappa.svg)", "| 5 | 0.99 | 60 | 100 |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	for _, name := range []string{"frontier-easy.svg", "kappa.svg"} {
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
