package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/text"
)

// What model show prints, its JSON and the file of effects say the same, and the file is of the format that its name says.
func TestModelShowEffects(t *testing.T) {
	inFull(t)
	model, out := clinicModel(t), filepath.Join(t.TempDir(), "effects.csv")
	words, stderr, code := difaltCommand(t, "model", "show", model)
	if code != 0 {
		t.Fatal(stderr)
	}
	asJSON, stderr, code := difaltCommand(t, "model", "show", model, "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct {
		Rank    int
		Tasks   []string
		Effects []struct {
			Effect, Term string
			Estimate     float64
			Low          *float64 `json:"conf_low"`
		}
	}
	if err := json.Unmarshal([]byte(asJSON), &r); err != nil || len(r.Tasks) != 40 || len(r.Effects) < 10 {
		t.Fatalf("%v: %s", err, asJSON)
	}
	if _, stderr, code := difaltCommand(t, "model", "show", model, "--effects-out", out); code != 0 {
		t.Fatal(stderr)
	}
	rows := records(t, out)
	if len(rows) != len(r.Effects) {
		t.Fatalf("%d effects in CSV, %d in JSON", len(rows), len(r.Effects))
	}
	for i, e := range r.Effects {
		v, err := strconv.ParseFloat(rows[i]["estimate"], 64)
		if err != nil || v != e.Estimate || rows[i]["term"] != e.Term || rows[i]["effect"] != e.Effect || (rows[i]["conf_low"] == "") != (e.Low == nil) {
			t.Errorf("effect %d is %v in CSV and %+v in JSON", i, rows[i], e)
		}
		if shown := strconv.FormatFloat(e.Estimate, 'f', 4, 64); e.Effect == "fixed" && !strings.Contains(words, shown) {
			t.Errorf("%s is not printed: %s", shown, words)
		}
	}
	m, err := loadModel(model)
	if err != nil {
		t.Fatal(err)
	}
	s, shown := m.Parameters().Scaling, 0
	for j, name := range m.Features() {
		if s.Least != nil && s.Least[j] > -math.MaxFloat64 {
			shown++
			if want := fmt.Sprintf("%q counts as at least %s and at most %s\n", name, text.Short(s.Least[j]), text.Short(s.Most[j])); !strings.Contains(words, want) {
				t.Errorf("%q is not printed: %s", want, words)
			}
		}
	}
	if strings.Count(words, "counts as at least") != shown || shown == 0 {
		t.Errorf("the limits of %d columns are not printed: %s", shown, words)
	}
	if _, stderr, code := difaltCommand(t, "model", "show", model, "--effects-out", out+".xlsx"); code != exitUsage || !strings.Contains(stderr, "--effects-out") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := difaltCommand(t, "model", "show", model, "--effects-out", model); code != exitUsage || !strings.Contains(stderr, "would overwrite") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
