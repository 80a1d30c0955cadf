package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// resolve parses the flags of simulate as the command does.
func resolve(t *testing.T, args ...string) []*simulateRun {
	t.Helper()
	flags := newSimulateFlags()
	if err := flags.Set.Parse(args); err != nil {
		t.Fatal(err)
	}
	runs, err := flags.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestPresetAsInThePaper(t *testing.T) {
	s := resolve(t, "--preset", "fig2b")[0]
	want := simulation.Setting{
		Name: "fig2b", Nodes: 100, Features: 100, Tasks: 100, Samples: 50, Rank: 10,
		Graph: "er:0.1", Weights: "equal", Methods: []string{"dif", "altgdmin", "dec", "dgd"},
		Rounds: 10, InitRounds: 10, Iterations: 1500,
		Seed: 1, Time: simulation.PaperTime,
	}
	if !reflect.DeepEqual(s.setting, want) {
		t.Errorf("fig2b is %+v, want %+v", s.setting, want)
	}
	if s.trials != 100 || s.out != filepath.Join("difalt-out", "fig2b") {
		t.Errorf("%d trials in %s", s.trials, s.out)
	}
	for name, rounds := range map[string]int{"fig1a": 10, "fig1b": 20, "fig1c": 30} {
		if s := resolve(t, "--preset", name)[0].setting; s.Rounds != rounds || s.InitRounds != rounds || s.Features != 600 || s.Iterations != 500 {
			t.Errorf("%s is %+v", name, s)
		}
	}
}

// Flags on the command line must reach the preset, and only they.
func TestFlagsOverrideAPreset(t *testing.T) {
	s := resolve(t, "--preset", "fig1a", "--trials", "2", "--iterations", "60", "--method", "dif,dec",
		"--weights", "metropolis", "--time-model", "paper-text", "--jitter", "1ms", "--out", "here", "--resume=false")[0]
	if s.trials != 2 || s.out != "here" || s.resume {
		t.Errorf("run is %+v", s)
	}
	g := s.setting
	if g.Iterations != 60 || !slices.Equal(g.Methods, []string{"dif", "dec"}) || g.Weights != "metropolis" {
		t.Errorf("flags did not reach the preset: %+v", g)
	}
	if g.Time.Latency != 5e-3 || g.Time.Jitter != 1e-3 {
		t.Errorf("time model is %+v", g.Time)
	}
	if g.Nodes != 20 || g.Features != 600 || g.Rounds != 10 {
		t.Errorf("values of the preset are lost: %+v", g)
	}
	if s := resolve(t, "--preset", "fig1a", "--rounds", "1")[0].setting; s.Rounds != 1 || s.InitRounds != 10 {
		t.Errorf("one round gives %d rounds and %d at the start", s.Rounds, s.InitRounds)
	}
}

func TestPresetAll(t *testing.T) {
	runs := resolve(t, "--preset", "all", "--trials", "3", "--out", "runs")
	var names []string
	for _, s := range runs {
		names = append(names, s.setting.Name)
		if s.trials != 3 || s.out != filepath.Join("runs", s.setting.Name) {
			t.Errorf("%s: %d trials in %s", s.setting.Name, s.trials, s.out)
		}
	}
	if got := strings.Join(names, " "); got != "fig1a fig1b fig1c fig2a fig2b fig2c" {
		t.Errorf("all is %s", got)
	}
}

func TestPresetsBeyondThePaper(t *testing.T) {
	runs := resolve(t, "--preset", "kappa", "--iterations", "60", "--out", "runs")
	for _, s := range runs {
		if s.trials != 5 || s.out != filepath.Join("runs", filepath.FromSlash(s.setting.Name)) || s.setting.Iterations != 60 {
			t.Errorf("%s: %d trials of %d iterations in %s", s.setting.Name, s.trials, s.setting.Iterations, s.out)
		}
	}
	if n := len(runs); n < 5 {
		t.Errorf("%d condition numbers", n)
	}
	found := false
	for _, s := range resolve(t, "--preset", "frontier") {
		g := s.setting
		found = found || g.Name == "frontier/hard/accelerated-10-chebyshev-int4" && g.Rounds == 10 && g.InitRounds == 10 &&
			g.Agree == "chebyshev" && g.Compress == "int4" && g.Weights == "equal" && slices.Equal(g.Methods, []string{"accelerated"})
	}
	if !found {
		t.Error("the frontier lacks a variant")
	}
}
