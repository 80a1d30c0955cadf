package federate

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// A noTransport has not connected yet.
type noTransport struct{ engine.Transport }

func (noTransport) Stats() (s engine.Stats) { return s }

// TestNotReady: a node that knows no neighbours yet is not ready.
func TestNotReady(t *testing.T) {
	s := &status{}
	s.begin(noTransport{})
	if s.ready() {
		t.Error("ready before the processes have joined")
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
