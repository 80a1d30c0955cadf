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
	runs, _, err := flags.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestPresetAsInThePaper(t *testing.T) {
	s := resolve(t, "--preset", "fig2b")[0]
	want := simulation.Setting{
		Name: "fig2b", Nodes: 100, Problem: simulation.Problem{Features: 100, Tasks: 100, Samples: 50, Rank: 10},
		Graph: "er:0.1", Weights: "equal", Methods: []string{"dif", "altgdmin", "dec", "dgd", "accelerated:float64", "accelerated:int8"},
		Reference: simulation.Truth, Rounds: 10, InitRounds: 10, Iterations: 1500, Seed: 1, Time: simulation.PaperTime,
	}
	if !reflect.DeepEqual(s.setting, want) {
		t.Errorf("fig2b is %+v, want %+v", s.setting, want)
	}
	if s.trials != 100 || s.out != filepath.Join("difalt-out", "fig2b") || s.session.Command != "difalt simulate --preset=fig2b" {
		t.Errorf("%d trials in %s by %q", s.trials, s.out, s.session.Command)
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
		"--weights", "metropolis", "--time-model", "paper-text", "--out", "a folder")[0]
	if s.trials != 2 || s.out != "a folder" {
		t.Errorf("run is %+v", s)
	}
	if want := `'--out=a folder'`; !strings.Contains(s.session.Command, want) || !strings.Contains(s.session.Command, "--method=dif,dec") {
		t.Errorf("the command is %q, want one with %s", s.session.Command, want)
	}
	g := s.setting
	if g.Iterations != 60 || !slices.Equal(g.Methods, []string{"dif", "dec"}) || g.Weights != "metropolis" {
		t.Errorf("flags did not reach the preset: %+v", g)
	}
	if g.Time != simulation.PaperTextTime {
		t.Errorf("time model is %+v", g.Time)
	}
	if g.Nodes != 20 || g.Features != 600 || g.Rounds != 10 {
		t.Errorf("values of the preset are lost: %+v", g)
	}
	if s := resolve(t, "--preset", "fig1a", "--rounds", "1")[0].setting; s.Rounds != 1 || s.InitRounds != 10 {
		t.Errorf("one round gives %d rounds and %d at the start", s.Rounds, s.InitRounds)
	}
}

func TestPresetOfPanels(t *testing.T) {
	var folders []string
	for _, s := range resolve(t, "--preset", "kappa", "--iterations", "60", "--out", "runs") {
		folders = append(folders, s.out)
		if s.trials != 5 || s.setting.Iterations != 60 {
			t.Errorf("%s: %d trials of %d iterations", s.setting.Name, s.trials, s.setting.Iterations)
		}
	}
	want := []string{"kappa-1.5", "kappa-10", "kappa-100", "kappa-1000"}
	for i := range want {
		want[i] = filepath.Join("runs", want[i])
	}
	if !slices.Equal(folders, want) {
		t.Errorf("the folders are %q, want %q", folders, want)
	}
}
