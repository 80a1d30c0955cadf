package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/measure"
)

func sample() *measure.Result {
	r := &measure.Result{Machine: measure.Machine{Name: "box", CPU: "a processor", Cores: 2, Date: "2026-01-02"}}
	r.Rows = []measure.Row{{Shape: "paper1", Storage: "f64", Kernel: "avx2", Workers: 2, IterationMS: 4, ReadMS: 3, ReadShare: 0.75, FMAShare: 0.25}}
	r.Peers = []measure.Comparison{{Shape: "paper1", Threads: 1, ReadMS: 3, Peers: []measure.PeerTime{
		{Name: "difalt", Version: "difalt, kernel avx2", MS: 4, Ratio: 1},
		{Name: "slow", Version: "Slow 1.0", MS: 10, Ratio: 2.5},
		{Name: "gone", Absent: "not installed"},
	}}}
	return r
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := write(&out, []*measure.Result{sample()}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## box",
		"| processor | a processor |",
		"| peers | Slow 1.0 |",
		"| paper1 | f64 | avx2 | 2 | 4.000 | 3.000 | 0.75 | 0.25 | 0 |",
		"| streaming read of X | 3.000 ms |",
		"| difalt | 4.000 ms (75 %) |",
		"| slow | 2.50 (30 %) |",
		"| gone | absent |",
		"| gone | paper1, 1 | not installed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("page has no %q:\n%s", want, out.String())
		}
	}
}
