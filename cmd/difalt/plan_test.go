package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/theory"
)

func TestPlan(t *testing.T) {
	stdout, stderr, code := difaltCommand(t, "plan", "--nodes", "8", "--features", "50", "--tasks", "40", "--rank", "3",
		"--samples", "20", "--graph", "ring", "--kappa", "1", "--epsilon", "1e-6")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"8 nodes on a ring of 8 edges, metropolis weights, gamma 0.8", "40 tasks of 20 samples with 50 features, rank 3",
		"Dif-AltGDmin", "Dec-AltGDmin", "T_pm", "T_con,init", "T_GD", "T_con,GD", "largest gamma", "messages", "MB sent",
		"seconds of network, modelled", "Theorem 1 asks for", "constants measured"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output does not mention %q:\n%s", want, stdout)
		}
	}
}

func TestPlanJSON(t *testing.T) {
	stdout, stderr, code := difaltCommand(t, "plan", "--gamma", "0.5", "--degree", "4", "--constants", "unit",
		"--latency", "10ms", "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var p struct {
		Input struct {
			Gamma     float64
			Links     int
			Constants theory.Constants
			Time      struct {
				Latency float64 `json:"latency_seconds"`
			} `json:"time_model"`
		}
		Dif, Dec theory.MethodPlan
	}
	if err := json.Unmarshal([]byte(stdout), &p); err != nil {
		t.Fatal(err)
	}
	if c := p.Input.Constants; c.Rounds != 1 || c.Iterations != 1 {
		t.Errorf("the constants are %+v", c)
	}
	if p.Input.Gamma != 0.5 || p.Input.Links != 80 || p.Input.Time.Latency != 0.01 {
		t.Errorf("the input is %+v", p.Input)
	}
	// 1.5^2 * 10 log 10 = 51.8; the rest of the default plan follows in package theory.
	if p.Dif.Iterations != 52 || p.Dec.Rounds <= p.Dif.Rounds || p.Dif.Descent.Messages != 80*p.Dif.Descent.Rounds {
		t.Errorf("the plan is %+v", p)
	}
}

// Without a graph there is no number of messages, and the plan does not invent one.
func TestPlanWithoutGraph(t *testing.T) {
	stdout, stderr, code := difaltCommand(t, "plan", "--gamma", "0.5")
	if code != 0 || strings.Contains(stdout, "messages") || !strings.Contains(stdout, "rounds in all") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}
