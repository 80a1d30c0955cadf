//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
)

// TestUpOutcome: what up ends with is the error of a node that does not blame another, and
// its exit code; a node that was interrupted takes nobody's report away.
func TestUpOutcome(t *testing.T) {
	for _, x := range []struct {
		ends   []int // of the processes
		code   int
		report bool
	}{
		{[]int{0, 0}, 0, true},
		{[]int{exitInterrupted, exitTerminated, exitInterrupted}, exitInterrupted, true},
		{[]int{exitTerminated, exitInterrupted}, exitInterrupted, true},
		{[]int{exitInterrupted, exitFailure, exitPeer}, exitFailure, false},
		{[]int{exitPeer, exitUsage, exitPeer}, exitUsage, false},
		{[]int{exitPeer, exitDiverged, exitDiverged}, exitDiverged, false},
		{[]int{exitPeer, -1, exitPeer}, exitFailure, false}, // a signal
		{[]int{0, exitPeer}, exitPeer, false},
	} {
		var ends []federate.End
		for i, code := range x.ends {
			ends = append(ends, federate.End{Name: fmt.Sprint("n", i), Code: code, Why: "why", Stdout: []byte("report")})
		}
		var out bytes.Buffer
		err := (&upFlags{options.New(options.Up)}).outcome(&out, ends)
		if code := complain(t.Context(), new(bytes.Buffer), err); code != x.code || (out.String() == "report") != x.report {
			t.Errorf("%d: exit code %d, want %d, and prints %q: %v", x.ends, code, x.code, out.String(), err)
		}
	}
}

// TestUpJSON: with --json, nothing but JSON is printed.
func TestUpJSON(t *testing.T) {
	inFull(t)
	f := &federation{folder: sites(t)}
	p := launch(t, append([]string{"up", "--data", f.path("site-*.csv"), "--model", f.path("m.npz"), "--rank", "2", "--ridge", "1", "--json"}, clinicFlags...)...)
	if code := p.code(t, time.Minute); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	var r struct{ Tasks int }
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil || r.Tasks == 0 {
		t.Errorf("%v, %d tasks: %s", err, r.Tasks, p.out.String())
	}
}
