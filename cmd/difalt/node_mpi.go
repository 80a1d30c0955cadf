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
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/topology"
)

// parting is how long a process that has failed waits for the others to leave too before it ends all of them.
const parting = 2 * time.Second

// runMPI trains with the other processes of an MPI job. It reports errors itself: after the job has been
// ended nothing can be printed. The report of rank 0 goes to stdout.
func (t *training) runMPI(ctx context.Context) error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	if w.Rank() != 0 {
		t.out = io.Discard
	}
	c, g, err := t.clusterOf(w)
	if err == nil {
		t.nameFiles(w.Rank())
		node := (&member{cluster: c, identity: &cluster.Identity{Node: w.Rank()}}).node(t.err)
		node.Connect = func(o engine.Options) (engine.Transport, error) {
			o.JoinTimeout, o.RoundTimeout = t.Member.JoinTimeout, t.Member.RoundTimeout
			return w.New(g, o), nil
		}
		err = t.federate(ctx, node)
	}
	code, wait := complain(t.err, err), parting
	if t.report != nil || ctx.Err() != nil {
		wait = t.Member.RoundTimeout // others may still be writing
	}
	w.Leave(code, wait)
	if err != nil {
		return &endError{code: code}
	}
	return nil
}

// clusterOf returns the network of the processes. Its nodes have the names of their tables.
func (t *training) clusterOf(w *mpi.World) (*cluster.Cluster, *topology.Graph, error) {
	if w.Size() == 1 { // most likely no launcher started it
		return nil, nil, options.Usagef("--engine is mpi: this process is alone: start it by mpirun -np N or srun -n N, with N of " +
			"at least 2")
	}
	g, err := topology.Parse(options.DefaultGraph, w.Size(), 0)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for i := range w.Size() {
		name, _, _ := strings.Cut(filepath.Base(fmt.Sprintf(t.Files.Data, i)), ".")
		if slices.Contains(names, name) {
			return nil, nil, options.Usagef("--data is %q: several nodes would be called %q; it needs the %%d in the name of the "+
				"file, before the first dot", t.Files.Data, name)
		}
		names = append(names, name)
	}
	return cluster.Named(names, g), g, nil
}

// nameFiles gives the files of this process their names.
func (t *training) nameFiles(rank int) {
	for _, value := range []*string{&t.Files.Data, &t.Files.Model, &t.Member.Metrics} {
		if *value != "" {
			*value = fmt.Sprintf(*value, rank)
		}
	}
}
