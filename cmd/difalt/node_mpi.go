//go:build mpi

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/mpi"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// parting is how long a process that has failed waits for the others to leave too before
// it ends all of them: they do if they know.
const parting = 2 * time.Second

// runMPI trains with the other processes of an MPI job. It reports errors itself, since
// nothing can be said after the job has been ended. The report of rank 0 goes to stdout.
func (n *nodeCommand) runMPI(ctx context.Context) error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	if w.Rank() != 0 {
		n.stdout = io.Discard
	}
	var transport *mpi.Transport
	t := &nodeTraining{}
	c, g, err := n.clusterOf(w)
	connect := func(o engine.Options) (engine.Transport, error) {
		if transport == nil {
			transport = w.New(g, n.mpiOptions(o))
		}
		return transport, nil
	}
	if err == nil {
		n.nameFiles(w.Rank())
		err = n.train(ctx, &federate.Node{Cluster: c, Number: w.Rank(), Connect: connect, Once: true}, t)
	}
	if err != nil {
		_, _ = connect(engine.Options{Failed: err}) // it has no errors
		transport.Refuse(ctx, err)                  // unless the others have heard it
	}
	code := n.complain(ctx, err)
	wait := parting
	if t.done || ctx.Err() != nil {
		wait = n.Member.RoundTimeout // others may still be writing
	}
	w.Leave(code, wait)
	if err != nil {
		return &reportedError{code}
	}
	return nil
}

// mpiOptions adds to o the timeouts, and what all processes must say beyond what neighbours over
// gRPC compare.
func (n *nodeCommand) mpiOptions(o engine.Options) engine.Options {
	o.JoinTimeout, o.RoundTimeout = n.Member.JoinTimeout, n.Member.RoundTimeout
	own := []wire.Setting{{Name: "difalt --version", Value: version()}, {Name: "--graph", Value: n.Graph}, {Name: "--weights", Value: n.Rule.String()}}
	o.Settings = append(own, o.Settings...)
	return o
}

// clusterOf returns the network of the processes: its nodes are called after their tables, as
// by fit.
func (n *nodeCommand) clusterOf(w *mpi.World) (*cluster.Cluster, *topology.Graph, error) {
	size := w.Size()
	if size == 1 { // most likely nobody told it of the others
		return nil, nil, options.Usagef("--engine is mpi: this process is alone: start it by mpirun -np N or srun -n N, with N of at least 2")
	}
	g, err := topology.Parse(n.Graph, size, n.Config.Options.Seed)
	if err != nil {
		return nil, nil, options.Usagef("--graph: %w", err)
	}
	var names []string
	for i := range size {
		name, _, _ := strings.Cut(filepath.Base(fmt.Sprintf(n.Files.Data, i)), ".")
		if slices.Contains(names, name) {
			return nil, nil, options.Usagef("--data is %q: several nodes would be called %q; it needs the %%d in the name of the file, before the first dot", n.Files.Data, name)
		}
		names = append(names, name)
	}
	c := cluster.Named(names, g, n.Rule.String())
	if _, err := c.Weights(); err != nil {
		return nil, nil, options.Usagef("--graph and --weights: %w", err)
	}
	return c, g, nil
}

// nameFiles gives the files of this process their names.
func (n *nodeCommand) nameFiles(rank int) {
	for _, value := range []*string{&n.Files.Data, &n.Files.Model, &n.Files.Trace, &n.Log.Metrics} {
		if *value != "" {
			*value = fmt.Sprintf(*value, rank)
		}
	}
}
