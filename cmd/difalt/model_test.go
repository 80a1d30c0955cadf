package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

// What model show prints, its JSON and the file of effects say the same, and the file is of the format that its name says.
func TestModelShowEffects(t *testing.T) {
	inFull(t)
	path, out := clinicModel(t), filepath.Join(t.TempDir(), "effects.csv")
	words, stderr, code := difaltCommand(t, "model", "show", path)
	if code != 0 {
		t.Fatal(stderr)
	}
	asJSON, stderr, code := difaltCommand(t, "model", "show", path, "--json")
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
	if _, stderr, code := difaltCommand(t, "model", "show", path, "--effects-out", out); code != 0 {
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
	m, err := loadModel(path)
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
	if _, stderr, code := difaltCommand(t, "model", "show", path, "--effects-out", out+".xlsx"); code != exitUsage || !strings.Contains(stderr, "--effects-out") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := difaltCommand(t, "model", "show", path, "--effects-out", path); code != exitUsage || !strings.Contains(stderr, "would overwrite") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A model of several ranks says so with their weights, and all commands take it: of ranks that say the same it says what the first one does.
func TestModelOfSeveralRanks(t *testing.T) {
	inFull(t)
	path := clinicModel(t)
	one, err := loadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	p := one.Parameters()
	p.Alternatives = []model.Alternative{{Weight: 0.25, Mean: p.Mean, Prior: p.Prior}}
	m, err := model.New(p)
	if err != nil {
		t.Fatal(err)
	}
	several := filepath.Join(t.TempDir(), "several.npz")
	if err := m.Save(several); err != nil {
		t.Fatal(err)
	}
	words, stderr, code := difaltCommand(t, "model", "show", several)
	rank := fmt.Sprintf("%[1]d with weight 0.75; %[1]d with weight 0.25", one.Rank())
	if code != 0 || !strings.Contains(words, rank) || !strings.Contains(words, "version 7,") {
		t.Errorf("%s%s", words, stderr)
	}
	var shown struct {
		Version int
		Ranks   []int
		Weights []float64
	}
	asJSON, _, _ := difaltCommand(t, "model", "show", several, "--json")
	if err := json.Unmarshal([]byte(asJSON), &shown); err != nil || shown.Version != 7 || !slices.Equal(shown.Weights, []float64{0.75, 0.25}) || !slices.Equal(shown.Ranks, []int{one.Rank(), one.Rank()}) {
		t.Errorf("%+v, %v", shown, err)
	}
	for _, data := range []string{clinics, newClinics} {
		predict := func(path string) string {
			out := filepath.Join(t.TempDir(), "predictions.csv")
			if _, stderr, code := difaltCommand(t, "predict", "--model", path, "--data", data, "--standard-errors", "--out", out); code != 0 {
				t.Fatal(stderr)
			}
			content, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		}
		if got, want := predict(several), predict(path); !sameNumbers(got, want) {
			t.Errorf("%s: predictions of two ranks that are the same differ from those of one:\n%.300s\n%.300s", data, got, want)
		}
	}
}

// sameNumbers reports whether two texts of commas and lines are the same but for rounding.
func sameNumbers(a, b string) bool {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' })
	}
	return slices.EqualFunc(split(a), split(b), func(x, y string) bool {
		v, err := strconv.ParseFloat(x, 64)
		w, errW := strconv.ParseFloat(y, 64)
		return x == y || err == nil && errW == nil && math.Abs(v-w) < 1e-9*(1+math.Abs(w))
	})
}
