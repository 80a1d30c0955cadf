//go:build unix

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
)

// TestStartedAgainWhenDone: a node that is started again when the others have ended does
// not wait for them: it writes the same files and report again. If it cannot know whether
// the others have ended it waits, says why, and does the same at the end of
// --join-timeout, or trains again with those who have lost theirs.
func TestStartedAgainWhenDone(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	flags := f.kept("--iterations", "30")
	whole := f.whole(t, "path", append(slices.Clone(trainedLong), "--iterations", "30")...)
	list := f.launch(t, flags...)
	f.finish(t, "first", list, whole)
	report := list[2].out.String()
	alone := func(what string, more ...string) {
		t.Helper()
		p := launch(t, f.arguments(2, append(slices.Clone(flags), more...)...)...)
		if code := p.code(t, 15*time.Second); code != 0 || p.out.String() != report {
			t.Fatalf("%s: exit code %d, and the report is\n%s\nwant\n%s\n%s", what, code, p.out.String(), report, tail(p))
		}
		f.sameBits(t, what, whole)
		if !strings.Contains(p.err.String(), "the training is complete") {
			t.Errorf("%s: it does not say so: %s", what, p.err.String())
		}
	}
	alone("with the model", "--join-timeout", "1h")
	if err := os.Remove(f.path("m-site-c.npz")); err != nil {
		t.Fatal(err)
	}
	alone("without the model", "--join-timeout", "1h")

	// As if it had been killed before it heard from the others.
	path := f.path("state/site-c.done")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := checkpoint.DecodeOutcome(text)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Everybody {
		t.Error("all have kept their results, and it does not know")
	}
	o.Everybody = false
	kept, err := checkpoint.Open(f.path("state"), "site-c", o.Settings, 5, func(string) {})
	if err == nil {
		err = kept.Finish(o)
	}
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		if damaged {
			text[len(text)/2] ^= 4
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if !damaged {
			alone("unsure", "--join-timeout", "1s")
		}
	}
	for _, name := range nodeNames[:2] { // and they have lost theirs
		if err := os.Remove(f.path("state/" + name + ".done")); err != nil {
			t.Fatal(err)
		}
	}
	list = f.launch(t, flags...)
	f.finish(t, "damaged", list, whole)
	if !strings.Contains(list[2].err.String(), "another checksum") {
		t.Errorf("the damaged file is not named: %s", tail(list[2]))
	}
}

// TestCannotWrite: a node that could not write its results, or serve its figures, says so to
// those that wait for it before anything is trained, and they end, too.
func TestCannotWrite(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		flags []string
		code  int
		want  string
	}{
		{[]string{"--model", "nowhere/m.npz"}, exitFailure, "--model: cannot write nowhere/m.npz"},
		{[]string{"--metrics", "192.0.2.1:1"}, exitFailure, "--metrics: listen tcp 192.0.2.1:1"},
	} {
		f := newFederation(t, "path", nil)
		list := []*process{launch(t, f.arguments(0, "--join-timeout", "1h")...), launch(t, f.arguments(1, "--join-timeout", "1h")...)}
		for _, p := range list {
			p.said(t, ": connected")
		}
		list = append(list, launch(t, f.arguments(2, x.flags...)...))
		for i, code := range []int{exitPeer, exitPeer, x.code} {
			if got := list[i].code(t, 20*time.Second); got != code || !strings.Contains(list[i].err.String(), x.want) {
				t.Errorf("%q: node %d ends with %d, want %d: %s", x.flags, i, got, code, tail(list[i]))
			}
		}
		f.clean(t, x.want, nil)
	}
}
