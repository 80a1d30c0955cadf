package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/measure"
)

func runBench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newBenchCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestBenchJSON(t *testing.T) {
	inFull(t)
	out, err := runBench(t, "--shapes", "40x20x60x3", "--workers", "1", "--storage", "f32", "--seconds", "1e-3", "--json")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d rows, want 1:\n%s", len(lines), out)
	}
	for _, line := range lines {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"shape", "storage", "kernel", "workers", "iteration_ms", "read_ms", "read_share", "fma_share", "schedule", "allocs"} {
			if _, ok := fields[name]; !ok {
				t.Errorf("row has no %q: %s", name, line)
			}
		}
		var row measure.Row
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Storage != "f32" || row.Shape != "40x20x60x3" || row.Workers != 1 {
			t.Errorf("the row is %+v, want 40x20x60x3, f32, 1 worker", row)
		}
		if row.IterationMS <= 0 || row.ReadMS <= 0 || row.FMAShare <= 0 {
			t.Errorf("a time is not positive: %+v", row)
		}
		if row.Allocs != 0 {
			t.Errorf("%v allocations an iteration, want 0", row.Allocs)
		}
	}
}

func TestBenchTable(t *testing.T) {
	t.Parallel()
	inFull(t)
	out, err := runBench(t, "--shapes", "paper2,100x11x37x1", "--workers", "1", "--storage", "f64", "--seconds", "1e-3")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "kernel") || !strings.HasPrefix(lines[2], "shape       storage") || !strings.HasPrefix(lines[3], "paper2      f64") || !strings.HasPrefix(lines[4], "100x11x37x1 f64") {
		t.Errorf("want a head and rows of paper2 and 100x11x37x1, got\n%s", out)
	}
	if strings.Contains(out, " 0.00 ms") {
		t.Errorf("a time without digits:\n%s", out)
	}
}

func TestBenchBadFlags(t *testing.T) {
	for _, test := range []struct{ flag, value, want string }{
		{"--shapes", "huge", `--shapes: unknown shape "huge": want a list of paper1,paper2,many,wide`},
		{"--shapes", "9x9x2x3", `--shapes: shape "9x9x2x3": rank 3 is more than the 2 features`},
		{"--storage", "f8", `--storage: unknown storage "f8": want a list of f64,f32,f16`},
		{"--workers", "0", `--workers: "0" is not a positive number`},
		{"--workers", "100000", "--workers: 100000 workers: this process may use"},
		{"--seconds", "-1", "--seconds is -1: must be positive"},
	} {
		_, err := runBench(t, test.flag, test.value)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: error %v, want %q", test.flag, test.value, err, test.want)
		}
	}
}
