//go:build unix

package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func sample() *result {
	r := &result{Machine: machine{Name: "box", CPU: "a processor", Cores: 2, Date: "2026-01-02"}}
	r.Peers = []comparison{{Shape: "paper1", Threads: 1, ReadMS: 3, FMAMS: 3.2, Peers: []peerTime{
		{Name: "difalt", Version: "difalt, kernel avx2", MS: 4, Ratio: 1},
		{Name: "slow", Version: "Slow 1.0", MS: 10, Ratio: 2.5},
		{Name: "gone", Absent: "not installed"},
	}}}
	return r
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := page.Execute(&out, []*result{sample()}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## box",
		"a processor; 2 cores;",
		"2026-01-02; steal time unknown; Slow 1.0.",
		"![Share of the roofline](bench/results/box.svg)",
		"| arithmetic at peak | 3.200 ms |",
		"| streaming read of X | 3.000 ms |",
		"| difalt | 4.000 ms (80 %) |",
		"| slow | 2.50 |",
		"| gone | absent |",
		"| gone | paper1, 1 | not installed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("page has no %q:\n%s", want, out.String())
		}
	}
}

// The bar of difalt is as high as its share of the roofline, and peers that were not
// measured are not drawn.
func TestPicture(t *testing.T) {
	all := sample().Peers
	if got := share(all[0], "difalt"); got != 0.8 {
		t.Errorf("share of difalt is %v, want .8", got)
	}
	if got := share(all[0], "gone"); !math.IsNaN(got) {
		t.Errorf("share of a peer without a time is %v", got)
	}
	if !bytes.Contains(picture(all), []byte("paper1, 1")) {
		t.Error("no picture of paper1")
	}
}
