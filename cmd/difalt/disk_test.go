package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
	"github.com/difalt/difalt/internal/scratch/scratchtest"
)

// TestSimulateSamplesOnDisk: the results are those of --mixed-precision, and a folder that
// holds them knows that they are.
func TestSimulateSamplesOnDisk(t *testing.T) {
	inFull(t)
	samples := scratchtest.Folder(t)
	var traces []string
	for _, flags := range [][]string{{"--mixed-precision"}, {"--samples-on-disk", samples}} {
		dir := t.TempDir()
		simulate(t, dir, append(flags, "--trials", "2", "--method", "dif,accelerated")...)
		traces = append(traces, withoutSeconds(readFile(t, dir, "trace.csv")))
		_, stderr := simulate(t, dir, append(flags, "--trials", "2", "--method", "dif,accelerated")...)
		if !strings.Contains(stderr, "2 trials of these settings already") {
			t.Errorf("%v: the same command says %q", flags, stderr)
		}
	}
	if traces[0] != traces[1] {
		t.Error("the traces differ")
	}
	if left, err := os.ReadDir(samples); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for want, args := range map[string][]string{
		filepath.Join(samples, "none"):      {"--samples-on-disk", filepath.Join(samples, "none")},
		"drop --mixed-precision=false":      {"--samples-on-disk", samples, "--mixed-precision=false"},
		"--mixed-precision and one process": {"--samples-on-disk", samples, "--engine", "grpc"},
	} {
		_, stderr, code := difaltCommand(t, append([]string{"simulate", "--out", t.TempDir()}, args...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, message %q, want %q", args, code, stderr, want)
		}
	}
}

// TestMemoryOfSamples: samples on disk take no memory, their copies do.
func TestMemoryOfSamples(t *testing.T) {
	shape := []string{"--nodes", "4", "--tasks", "1000", "--samples", "100", "--features", "10000", "--rank", "2", "--graph", "ring", "--iterations", "1", "--trials", "1"}
	for _, c := range []struct {
		memory, flag, want string
	}{
		{"9GB", "", ""},
		{"9GB", "--mixed-precision", "10 GB"},
		{"3GB", "", "8.0 GB"},
		{"3GB", "--samples-on-disk=.", ""},
		{"1GB", "--samples-on-disk=.", "2.1 GB"}, // two bytes a number,
	} {
		t.Setenv(memory.Variable, c.memory)
		flags := newSimulateFlags()
		args := shape
		if c.flag != "" {
			args = append(args[:len(args):len(args)], c.flag)
		}
		if err := flags.Set.Parse(args); err != nil {
			t.Fatal(err)
		}
		_, err := flags.resolve()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: error %v, want %q", c.memory, c.flag, err, c.want)
		}
	}
}

// TestFitSamplesOnDisk: a problem file fitted from disk comes to the truth, by anchors, and
// a table to the same words as from memory.
func TestFitSamplesOnDisk(t *testing.T) {
	inFull(t)
	samples, dir := scratchtest.Folder(t), t.TempDir()
	problem := filepath.Join(dir, "p.npz")
	if _, stderr, code := difaltCommand(t, "simulate", "--nodes", "5", "--features", "30", "--tasks", "40", "--samples", "20", "--rank", "2",
		"--trials", "1", "--iterations", "1", "--method", "dif", "--out", dir, "--export", problem); code != 0 {
		t.Fatal(stderr)
	}
	trace := filepath.Join(dir, "t.csv")
	if _, stderr, code := difaltCommand(t, "fit", "--data", problem, "--method", "accelerated", "--iterations", "60", "--trace", trace, "--samples-on-disk", samples); code != 0 {
		t.Fatal(stderr)
	}
	checkTrace(t, trace, "accelerated", 61)
	table := []string{"fit", "--data", clinics, "--task", "clinic", "--target", "score", "--drop", "patient"}
	want, stderr, code := difaltCommand(t, table...)
	if code != 0 {
		t.Fatal(stderr)
	}
	got, stderr, code := difaltCommand(t, append(table, "--samples-on-disk", samples)...)
	if code != 0 || got != want {
		t.Errorf("a table on disk: %s\n%s\nwant\n%s", stderr, got, want)
	}
	none := filepath.Join(samples, "none")
	if _, stderr, code := difaltCommand(t, append(table, "--samples-on-disk", none)...); code == 0 || !strings.Contains(stderr, none) {
		t.Errorf("no folder: exit code %d, %q", code, stderr)
	}
}
