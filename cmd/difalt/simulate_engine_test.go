//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/simulation"
)

// TestSimulateEngine: real processes come to the bits of one process, or the command
// fails; what is held back on the links shows in the seconds that were measured.
func TestSimulateEngine(t *testing.T) {
	t.Setenv(asCommand, "1")
	folder := t.TempDir()
	args := []string{"simulate", "--engine", "grpc", "--processes", "3", "--trials", "1", "--features", "20", "--tasks", "12", "--samples", "20", "--rank", "2",
		"--graph", "ring", "--rounds", "2", "--iterations", "5", "--power-iterations", "2", "--method", "dif,accelerated", "--compress", "int8", "--out", folder, "--link-delay", "4ms"}
	out, errs, code := difaltCommand(t, args...)
	if code != 0 || !strings.Contains(out, "3 processes over grpc, with the bits of one process") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	text, err := os.ReadFile(filepath.Join(folder, simulation.MeasuredFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 1+2*6 || lines[0] != measuredHeader {
		t.Fatalf("%d lines: %s", len(lines), text)
	}
	for _, line := range []string{lines[6], lines[12]} {
		cells := strings.Split(line, ",")
		rounds, _ := strconv.ParseFloat(cells[4], 64)
		seconds, _ := strconv.ParseFloat(cells[5], 64)
		if rounds < 10 || seconds < 0.004*rounds {
			t.Errorf("%v rounds of at least 4 ms took %v s", rounds, seconds)
		}
	}
	for _, x := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--processes", "3"}, "need --engine"},
		{[]string{"--engine", "mpi"}, `--engine is "mpi"`},
		{[]string{"--engine", "grpc", "--processes", "1"}, "at least 2"},
		{[]string{"--engine", "grpc", "--processes", "4", "--nodes", "5"}, "--processes is 4, but --nodes 5"},
		{[]string{"--engine", "grpc", "--method", "pooled"}, "not pooled"},
		{[]string{"--engine", "grpc", "--link-delay", "-1s"}, "--link-delay is -1s"},
	} {
		if _, errs, code := difaltCommand(t, append([]string{"simulate", "--out", folder}, x.flags...)...); code != exitUsage || !strings.Contains(errs, x.want) {
			t.Errorf("%q: exit code %d: %s", x.flags, code, errs)
		}
	}
}
