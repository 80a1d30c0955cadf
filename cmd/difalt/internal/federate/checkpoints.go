package federate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
)

// Checkpoints says where a node keeps its state, and of what a checkpoint must be.
type Checkpoints struct {
	Folder string
	Every  int // iterations between two
	// Data is the file, or the pattern of files, that the node trains on.
	Data string
	// Settings are what a checkpoint must be of, beyond Node.Settings.
	Settings []wire.Setting
}

// A keeper keeps the state of a node during the final run of a fit.
type keeper struct {
	folder  *checkpoint.Folder
	keep    int // files
	every   int // iterations between two
	net     *consensus.Network
	log     *slog.Logger
	once    bool                // no process can join again
	saved   int                 // checkpoints, by all attempts of this process
	outcome *checkpoint.Outcome // nil before the training is complete
}

// open opens the checkpoints of a node. They are of the same options, data, nodes and
// edges, or refused; keys, addresses, the run and the epoch may change.
func (k *keeper) open(n *Node) error {
	w, err := n.Cluster.Weights()
	if err != nil {
		return err
	}
	sum, err := digest(n.Checkpoints.Data)
	if err != nil {
		return err
	}
	settings := slices.Concat([]wire.Setting{{Name: "the node", Value: n.name()}}, n.Cluster.Settings(), n.Settings, n.Checkpoints.Settings,
		[]wire.Setting{{Name: "the SHA-256 of the data", Value: sum}})
	// Nodes are never further apart in rounds than in hops, and an iteration has a round or
	// more. One file more is for the iteration at which all were interrupted, and one for
	// the node that was killed while it wrote.
	hops, _ := w.Graph().Diameter()
	k.keep = (hops+k.every-1)/k.every + 3
	if k.folder == nil {
		k.warnOfOthers(n.Checkpoints.Folder)
	}
	unusable := func(s string) { k.log.Warn("a checkpoint cannot be used", "why", s) }
	k.folder, err = checkpoint.Open(n.Checkpoints.Folder, n.name(), settings, k.keep, unusable)
	if err == nil && !k.once {
		k.outcome, err = k.folder.Outcome(unusable)
	}
	if err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	return nil
}

// warnOfOthers says that others may write to a folder that is there already. They may have good
// reasons, such as a volume of a group, so it is no error; but a checkpoint is believed.
func (k *keeper) warnOfOthers(folder string) {
	if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o022 != 0 {
		k.log.Warn("others may write to the folder of the checkpoints, and so decide with what the training goes on; chmod go-w forbids it",
			"folder", folder, "mode", info.Mode().Perm().String())
	}
}

// digest returns the SHA-256 of the files that match a pattern, one after the other.
func digest(pattern string) (string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		paths = []string{pattern}
	}
	h := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// agree returns where all nodes go on: at the largest iteration of which all have a checkpoint
// of one run, or at the beginning of a new one, of which node 0 draws the number. Every node says
// what it has, behind the number of a new run.
func (k *keeper) agree(ctx context.Context) (at checkpoint.Point, err error) {
	common := slices.Clone(k.folder.Points())
	own, _ := json.Marshal(append([]checkpoint.Point{{Run: newRun()}}, common...)) // numbers
	all, err := k.net.Gather(ctx, [][]byte{own})
	if err != nil {
		return at, err
	}
	k.net.Commit()
	for node, text := range all {
		var theirs []checkpoint.Point
		if json.Unmarshal(text, &theirs) != nil || len(theirs) == 0 {
			return at, &wire.PeerError{Peer: node, Kind: wire.Protocol, Err: errors.New("the list of its checkpoints, as it has come by way of others, cannot be read")}
		}
		if node == 0 {
			at.Run = theirs[0].Run
		}
		common = slices.DeleteFunc(common, func(p checkpoint.Point) bool { return !slices.Contains(theirs[1:], p) })
	}
	for _, p := range common {
		if p.Iteration > at.Iteration {
			at = p
		}
	}
	return at, nil
}

// newRun draws the number of a run.
func newRun() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// drive runs the final run from where all nodes can take it up, and keeps its state. If a
// context has ended, here or at another node, it saves the state, which is of the same
// iteration at all nodes, and returns an error that wraps engine.ErrGone.
func (k *keeper) drive(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
	at, err := k.takeUp(ctx, s)
	if err != nil {
		return nil, err
	}
	for {
		status, err := s.Step(ctx)
		at++
		switch {
		case ctx.Err() != nil || status != difalt.Running:
			return k.end(ctx, s) // also if the others have still to be told
		case err != nil:
			return nil, err
		}
		if at%k.every == 0 {
			if err := k.save(ctx, s); err != nil {
				return nil, err
			}
		}
	}
}

// takeUp brings the solver to where all nodes go on, and returns the iteration.
func (k *keeper) takeUp(ctx context.Context, s *difalt.Solver) (iteration int, err error) {
	at, err := k.agree(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case at.Iteration > 0:
		snap, err := k.folder.Load(at.Iteration)
		if err == nil {
			err = s.Restore(snap)
		}
		if err != nil {
			return 0, fmt.Errorf("--checkpoint: iteration %d: %w", at.Iteration, err)
		}
		k.log.Info("goes on from a checkpoint", "iteration", at.Iteration)
	case len(k.folder.Points()) > 0:
		k.log.Warn("begins anew, since some node has no checkpoint of the same run; those that are here are kept until the first new one")
	}
	if err := k.folder.Begin(at); err != nil {
		return 0, fmt.Errorf("--checkpoint: %w", err)
	}
	return at.Iteration, nil
}

func (k *keeper) end(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
	res, err := s.Run(ctx)
	if err != nil || res.Status != difalt.Canceled {
		return res, err
	}
	if err := k.save(context.WithoutCancel(ctx), s); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("interrupted after %d iterations: %w", res.Iterations, engine.ErrGone)
}

func (k *keeper) save(ctx context.Context, s *difalt.Solver) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if snap.Iteration() == 0 {
		return nil // that is where a run without a checkpoint begins
	}
	if err := k.folder.Save(snap); err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	k.saved++
	return nil
}

// finish keeps an outcome, and returns when all nodes have: nobody can then be in need of
// this one, and whoever is started again has all that it was about to write.
func (k *keeper) finish(ctx context.Context, o *checkpoint.Outcome) error {
	if k.once {
		return nil
	}
	if err := k.folder.Finish(o); err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	if err := k.net.Sum(context.WithoutCancel(ctx), [][]float64{{1}}); err != nil {
		return err
	}
	k.net.Commit()
	o.Everybody = true
	if err := k.folder.Finish(o); err != nil { // nobody else is told any more, and the results are there
		k.log.Warn("cannot note that all nodes have kept their results: started again, this one would wait for them", "why", err.Error())
	}
	return nil
}

// complete reports whether nobody is in need of this node any more.
func (k *keeper) complete() bool { return k != nil && k.outcome != nil && k.outcome.Everybody }

// unsure returns the outcome of a node that does not know whether others have theirs.
func (k *keeper) unsure() *checkpoint.Outcome {
	if k == nil || k.complete() {
		return nil
	}
	return k.outcome
}

// count returns how many checkpoints have been written by this process.
func (k *keeper) count() int {
	if k == nil {
		return 0
	}
	return k.saved
}
