//go:build mpi

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus"
	engine "github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/engine/mpi"
	"github.com/difalt/difalt/topology"
)

// parting is how long a process that has failed waits for the others to leave too before
// it ends all of them: they do if they know.
const parting = 2 * time.Second

// runMPI trains with the other processes of an MPI job. It reports errors itself, since
// nothing can be said after the job has been ended. The report of rank 0 goes to stdout.
func (f *nodeFlags) runMPI(ctx context.Context, stdout, stderr io.Writer) error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	if w.Rank() != 0 {
		stdout = io.Discard
	}
	t := &mpiTransport{world: w}
	t.options = mpi.Options{JoinTimeout: f.member.joining, RoundTimeout: f.member.round}
	m := &member{node: w.Rank(), transport: t}
	r := &nodeRun{nodeFlags: f, node: w.Rank(), once: true, stdout: stdout, stderr: stderr, log: newNodeLog(stderr, f.log)}
	r.start = func(o engine.Options) (*member, error) {
		t.options.MaxFrame = o.MaxFrame
		t.terms(f, o.Terms)
		return m, nil
	}
	if err = f.ofRank(r, m, t); err == nil {
		err = r.run(ctx)
	}
	if err != nil && !t.asked {
		t.options.Trouble = err
		_ = t.Join(ctx) // the others hear why
	}
	code := f.complain(ctx, stderr, err)
	patience := parting
	if m.trained || ctx.Err() != nil {
		patience = f.member.round // others may still be writing
	}
	w.Leave(code, patience)
	if err != nil {
		return &toldError{code}
	}
	return nil
}

// ofRank gives the files of this process their names, and makes the network: its nodes
// are called after their tables, as by fit.
func (f *nodeFlags) ofRank(r *nodeRun, m *member, t *mpiTransport) error {
	if err := f.member.check(); err != nil {
		return err
	}
	size := t.world.Size()
	if size == 1 { // most likely nobody told it of the others
		return usagef("--engine is mpi: this process is alone: start it by mpirun -np N or srun -n N, with N of at least 2")
	}
	g, err := topology.Parse(f.graph, size, f.options.Seed)
	if err != nil {
		return usagef("--graph: %w", err)
	}
	c := &engine.Cluster{Rule: f.weights}
	seen := map[string]bool{}
	for i := range size {
		name, _, _ := strings.Cut(filepath.Base(fmt.Sprintf(f.data, i)), ".")
		if seen[name] {
			return usagef("--data is %q: several nodes would be called %q; it needs the %%d in the name of the file, before the first dot", f.data, name)
		}
		seen[name] = true
		c.Nodes = append(c.Nodes, engine.NodeEntry{Name: name})
		for _, j := range g.Neighbors(i) {
			if j > i {
				c.Edges = append(c.Edges, [2]int{i, j})
			}
		}
	}
	if _, err := c.Weights(); err != nil {
		return usagef("--graph and --weights: %w", err)
	}
	for _, value := range []*string{&f.data, &f.model, &f.trace, &f.metrics} {
		if *value != "" {
			*value = fmt.Sprintf(*value, r.node)
		}
	}
	t.graph, r.cluster, m.cluster = g, c, c
	return nil
}

// An mpiTransport connects when it is told to join.
type mpiTransport struct {
	*mpi.Transport
	world   *mpi.World
	graph   *topology.Graph
	options mpi.Options
	asked   bool // whether all agree

	mu sync.Mutex // of Transport until Join has returned
}

// terms are what all processes must say, beyond what neighbours over gRPC compare.
func (t *mpiTransport) terms(f *nodeFlags, list []consensus.Term) {
	own := []consensus.Term{{What: "difalt --version", Value: version()}, {What: "--graph", Value: f.graph}, {What: "--weights", Value: f.weights}}
	t.options.Terms = append(own, list...)
}

func (t *mpiTransport) Join(ctx context.Context) error {
	t.asked = true
	connected, err := t.world.Connect(ctx, t.graph, t.options)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Transport = connected
	return err
}

// connected returns the transport, or nil before all have joined.
func (t *mpiTransport) connected() *mpi.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Transport
}

func (t *mpiTransport) Waiting() (peers []int, since time.Time) {
	if c := t.connected(); c != nil {
		return c.Waiting()
	}
	return nil, time.Time{}
}

// Beyond returns nothing: processes do not say for whom they wait.
func (t *mpiTransport) Beyond(int) []int { return nil }

// Stats returns what has been carried.
func (t *mpiTransport) Stats() (s engine.Stats) {
	c := t.connected()
	if c == nil {
		return s
	}
	rounds, edges := c.Stats()
	s.Rounds = rounds
	for _, e := range edges {
		s.Edges = append(s.Edges, engine.EdgeStats{Peer: e.Peer, Connected: true, Connections: 1, Sent: e.Sent, Received: e.Received})
	}
	return s
}

// Leave does nothing: the processes part when they have said why.
func (t *mpiTransport) Leave(error) {}
