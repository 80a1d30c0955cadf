package paper

import (
	"cmp"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// falling returns a run of a method that loses a number of decades in every ten iterations, down to 1e-15,
// from a start of 3 rounds and 100 bytes, and sends 2 rounds and 1,000 bytes in each iteration.
func falling(name, weights, method string, decades float64) *simulation.Summary {
	s := simulation.Setting{Name: name, Weights: weights, Rounds: 2, Nodes: 10, Time: simulation.PaperTime,
		Graph: "er:0.5", Methods: []string{method}}
	c := simulation.Curve{Method: method}
	for k := range 401 {
		c.Rows = append(c.Rows,
			simulation.Row{Iteration: k, SDFirst: max(0.99*math.Pow(10, -decades*float64(k/10)), 1e-15),
				Rounds: int64(3 + 2*k), Bytes: int64(100 + 1000*k), Seconds: 1 + 0.1*float64(k)})
	}
	origin := simulation.Origin{Command: "difalt simulate --method=" + method, Machine: "a machine"}
	return simulation.Summarize(&s, []simulation.Trial{{Number: 1, Curves: []simulation.Curve{c}}}, origin)
}

var update = flag.Bool("update", false, "write the golden files of this package")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := cmp.Or(os.MkdirAll("testdata", 0o777), os.WriteFile(path, got, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != string(got) {
		t.Errorf("%s (-update writes it) differs, %v:\n%s", path, err, got)
	}
}

func TestReport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "docs")
	all := []*simulation.Summary{
		falling("", "equal", "dif", 0.5), falling("fig2a", "equal", "dif", 1), falling("fig2c", "equal", "dif", 0.1),
		falling("fig2a", "metropolis", "dec", 1), falling("fig2a", "equal", "dec", 1),
		falling("frontier/one", "equal", "accelerated:int8", 2),
	}
	if err := WriteReport(out, all); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "results.md", page) // to 1e-10 after 100 iterations: 203 rounds, 100 KB over 10 nodes
	for _, name := range []string{"fig2-equal", "fig2-metropolis", "frontier-equal", "run-1", "run-2"} {
		if _, err := os.Stat(filepath.Join(out, "figures", name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// TestFigureOfPreset: panels have their titles, and iterations or kilobytes a node on their axes.
func TestFigureOfPreset(t *testing.T) {
	for name, last := range map[string]float64{"fig1": 400, "frontier": (100 + 1000*400) / 1e3 / 10} {
		p, err := PresetByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var runs []*simulation.Summary
		for _, panel := range p.Panels {
			runs = append(runs, falling(panel.Setting.Name, "equal", "dif", 1))
		}
		f := p.Figure(runs)
		for i, panel := range f.Panels {
			x := panel.Series[0].X
			if panel.Title != p.Panels[i].Title || x[len(x)-1] != last || panel.X.Log != p.Bytes {
				t.Errorf("%s: panel %q ends at %v, want %q and %v", name, panel.Title, x[len(x)-1], p.Panels[i].Title,
					last)
			}
		}
		if len(f.Panels) != len(p.Panels) || !strings.Contains(f.Caption, "L = 10") {
			t.Errorf("%s: %d panels, %q", name, len(f.Panels), f.Caption)
		}
	}
}

// Presets name their settings uniquely, all are valid, and their values are those of the paper.
func TestPresets(t *testing.T) {
	seen, settings := map[string]bool{}, []simulation.Setting(nil)
	for _, p := range Presets() {
		if p.Title == "" || p.Text == "" || p.Trials == 0 {
			t.Errorf("%s lacks a title, a text or trials", p.Name)
		}
		for _, panel := range p.Panels {
			s := panel.Setting
			if seen[s.Name] || seen[p.Name] {
				t.Errorf("two settings or presets are named %s", s.Name)
			}
			seen[s.Name], settings = true, append(settings, s)
			if err := s.Validate(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if one, err := PresetByName(s.Name); err != nil || len(one.Panels) != 1 ||
				!reflect.DeepEqual(one.Panels[0].Setting, s) {
				t.Errorf("%s is %+v by its name, %v", s.Name, one, err)
			}
		}
		seen[p.Name] = true
	}
	content, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "presets.json", content)
}
