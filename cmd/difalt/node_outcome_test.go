//go:build unix

package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestStartedAgainWhenDone: a node that is started again when the others have ended does
// not wait for them: it writes the same files and report again. If it cannot know whether
// the others have ended it waits, says why, and does the same at the end of
// --join-timeout, or trains again with those who have lost theirs.
func TestStartedAgainWhenDone(t *testing.T) {
	f := federate(t, "path", nil)
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
	if text, err = checkpoint.EncodeOutcome(o); err != nil {
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
	for _, x := range []struct {
		flags []string
		code  int
		want  string
	}{
		{[]string{"--model", "nowhere/m.npz"}, exitFailure, "--model: cannot write nowhere/m.npz"},
		{[]string{"--metrics", "192.0.2.1:1"}, exitFailure, "--metrics: listen tcp 192.0.2.1:1"},
	} {
		f := federate(t, "path", nil)
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

// TestFinishFullDisk: a node that could keep its results, but not that the others have kept
// theirs, delivers them all the same: the others do not wait for it any more.
func TestFinishFullDisk(t *testing.T) {
	folder := t.TempDir()
	g, err := topology.Parse("path", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := testnet.Connect(g, [][]int{{0}, {1}}, testnet.Options{RoundTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	finish := func(i int, before func()) error {
		defer ends[i].Close()
		k := &keeper{log: slog.New(slog.NewTextHandler(&log, nil))}
		var err error
		if k.net, err = consensus.New(w, ends[i]); err != nil {
			return err
		}
		if k.folder, _, err = checkpoint.Open(folder, []string{"a", "b"}[i], nil, 3, func(string) {}); err != nil {
			return err
		}
		before()
		return k.finish(t.Context(), &checkpoint.Outcome{Model: []byte("m")})
	}
	first := make(chan error)
	go func() { first <- finish(0, func() {}) }()
	path := filepath.Join(folder, "a.done")
	err = finish(1, func() {
		for range 1000 {
			if _, err := os.Stat(path); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		// From now on node a cannot write it.
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o777), os.WriteFile(filepath.Join(path, "x"), nil, 0o666)); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(err, <-first); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "cannot note") {
		t.Errorf("the log says %q", log.String())
	}
}
