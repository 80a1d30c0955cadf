package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/checkpoint"
	"github.com/difalt/difalt/internal/options"
)

// A keeper keeps the state of a node during the final run of a fit.
type keeper struct {
	folder     *checkpoint.Folder
	iterations []int // that can be restored
	every      int
	net        *consensus.Network
	log        *slog.Logger
	once       bool                // no process can join again
	saved      int                 // checkpoints, by all attempts of this process
	outcome    *checkpoint.Outcome // nil before the training is complete
}

// open opens the checkpoints of a node. They are of the same options, data, nodes and
// edges, or refused; keys, addresses, the run and the epoch may change.
func (k *keeper) open(f *nodeFlags, c *cluster.Cluster, node int, shared []wire.Setting) error {
	w, err := c.Weights()
	if err != nil {
		return err
	}
	sum, err := digest(f.Files.Data)
	if err != nil {
		return err
	}
	terms := slices.Concat([]wire.Setting{{Name: "the node", Value: c.Nodes[node].Name}}, c.Terms(), shared, f.Settings(options.Checkpoint))
	terms = append(terms, wire.Setting{Name: "the SHA-256 of the data", Value: sum})
	// Nodes are never further apart in rounds than in hops, and an iteration has a round or
	// more. One file more is for the iteration at which all were interrupted, and one for
	// the node that was killed while it wrote.
	keep := (w.Graph().Diameter()+f.Checkpoints.Every-1)/f.Checkpoints.Every + 3
	k.every = f.Checkpoints.Every
	unusable := func(s string) { k.log.Warn("a checkpoint cannot be used", "why", s) }
	k.folder, k.iterations, err = checkpoint.Open(f.Checkpoints.Folder, c.Nodes[node].Name, terms, keep, unusable)
	if err == nil && !k.once {
		k.outcome, err = k.folder.Outcome(unusable)
	}
	if err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	return nil
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

// agree returns the largest iteration that all nodes can restore, 0 if there is none.
func (k *keeper) agree(ctx context.Context) (int, error) {
	for limit := math.MaxInt32; ; {
		own := 0
		for _, i := range k.iterations {
			if i <= limit {
				own = max(own, i)
			}
		}
		z := [][]float64{{float64(own), -float64(own)}}
		if err := k.net.Max(ctx, z); err != nil {
			return 0, err
		}
		k.net.Commit()
		most, least := int(z[0][0]), int(-z[0][1])
		if most == least || least <= 0 {
			return least, nil
		}
		limit = least
	}
}

// drive runs the final run from where all nodes can take it up, and keeps its state. If a
// context has ended, here or at another node, it saves the state, which is of the same
// iteration at all nodes, and returns an error that wraps engine.ErrGone.
func (k *keeper) drive(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
	at, err := k.agree(ctx)
	if err != nil {
		return nil, err
	}
	if at > 0 {
		snap, err := k.folder.Load(at)
		if err == nil {
			err = s.Restore(snap)
		}
		if err != nil {
			return nil, fmt.Errorf("--checkpoint: iteration %d: %w", at, err)
		}
		k.log.Info("goes on from a checkpoint", "iteration", at)
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
	if snap.Iteration == 0 {
		return nil // that is where a run without a checkpoint begins
	}
	if err := k.folder.Save(snap); err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	k.saved++
	return nil
}

// mayComeBack reports whether all others find the same as err, and can join anew.
func mayComeBack(err error) bool {
	return errors.Is(err, engine.ErrGone) || errors.Is(err, fit.ErrLeft)
}
