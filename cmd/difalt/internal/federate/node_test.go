package federate

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
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
		if k.folder, err = checkpoint.Open(folder, []string{"a", "b"}[i], nil, 3, func(string) {}); err != nil {
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

// TestLiarAboutCheckpoints: a node that says that it has checkpoints which another one has not makes
// that begin anew, and what cannot be read is no mistake of who reads it.
func TestLiarAboutCheckpoints(t *testing.T) {
	g := path(t)
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := testnet.Connect(g, [][]int{{0}, {1}}, testnet.Options{RoundTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	liar, err := consensus.New(w, ends[0])
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{keep: 3, log: slog.New(slog.DiscardHandler)}
	if k.net, err = consensus.New(w, ends[1]); err != nil {
		t.Fatal(err)
	}
	if k.folder, err = checkpoint.Open(t.TempDir(), "b", nil, 3, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for said, readable := range map[string]bool{`[{"Run":7},{"Run":7,"Iteration":50}]`: true, `[]`: false, `[{"Run":-1}]`: false, "": false} {
		lied := make(chan error)
		go func() {
			_, err := liar.Gather(t.Context(), [][]byte{[]byte(said)})
			liar.Commit()
			lied <- err
		}()
		at, err := k.agree(t.Context())
		var peer *wire.PeerError
		switch {
		case readable && (err != nil || at != checkpoint.Point{Run: 7}):
			t.Errorf("%s: %+v, %v", said, at, err)
		case !readable && (!errors.As(err, &peer) || peer.Peer != 0 || peer.Kind != wire.Protocol):
			t.Errorf("%s: %v", said, err)
		}
		if err := <-lied; err != nil {
			t.Error(err)
		}
	}
}

// TestFolderOfOthers: files are for their owner only, whatever the folder is, and a folder into
// which others may write is warned of, once.
func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: no such permissions here")
	}
	for _, c := range []struct {
		mode os.FileMode
		warn bool
	}{{0, false}, {0o700, false}, {0o755, false}, {0o775, true}, {0o777, true}} {
		folder := filepath.Join(t.TempDir(), "state")
		if c.mode != 0 {
			if err := errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, c.mode)); err != nil {
				t.Fatal(err)
			}
		}
		var log testnet.Buffer
		trainTwo(t, folder, 60, &log)
		if n := strings.Count(log.String(), "others may write"); (n == 2) != c.warn || n != 0 && n != 2 { // two nodes
			t.Errorf("folder of mode %v: warned %d times", c.mode, n)
		}
		if info, err := os.Stat(folder); err != nil || c.mode == 0 && info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has the mode %v, %v", info.Mode(), err)
		}
		files, err := os.ReadDir(folder)
		if err != nil || len(files) < 4 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v, %v", f.Name(), info.Mode(), err)
			}
		}
	}
}
