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

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/engine/mpi"
	"github.com/difalt/difalt/internal/options"
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
	var t *mpi.Transport
	m := &member{node: w.Rank()}
	r := &nodeRun{nodeFlags: f, node: w.Rank(), once: true, stdout: stdout, stderr: stderr, log: newNodeLog(stderr, f.Log.Format)}
	var g *topology.Graph
	r.start = func(o engine.Options) (*member, error) {
		if t == nil {
			t = w.New(g, f.mpiOptions(o))
			m.transport = t
		}
		return m, nil
	}
	if g, err = f.ofRank(r, m, w); err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		if t == nil {
			t = w.New(g, f.mpiOptions(engine.Options{Failed: err}))
		}
		t.Refuse(ctx, err) // unless they have heard it
	}
	code := f.complain(ctx, stderr, err)
	patience := parting
	if m.trained || ctx.Err() != nil {
		patience = f.Member.RoundTimeout // others may still be writing
	}
	w.Leave(code, patience)
	if err != nil {
		return &toldError{code}
	}
	return nil
}

// mpiOptions adds to o the timeouts, and what all processes must say beyond what neighbours over
// gRPC compare.
func (f *nodeFlags) mpiOptions(o engine.Options) engine.Options {
	o.JoinTimeout, o.RoundTimeout = f.Member.JoinTimeout, f.Member.RoundTimeout
	own := []wire.Setting{{Name: "difalt --version", Value: version()}, {Name: "--graph", Value: f.Graph}, {Name: "--weights", Value: f.Rule.String()}}
	o.Terms = append(own, o.Terms...)
	return o
}

// ofRank gives the files of this process their names, and makes the network: its nodes
// are called after their tables, as by fit.
func (f *nodeFlags) ofRank(r *nodeRun, m *member, w *mpi.World) (*topology.Graph, error) {
	size := w.Size()
	if size == 1 { // most likely nobody told it of the others
		return nil, options.Usagef("--engine is mpi: this process is alone: start it by mpirun -np N or srun -n N, with N of at least 2")
	}
	g, err := topology.Parse(f.Graph, size, f.Config.Options.Seed)
	if err != nil {
		return nil, options.Usagef("--graph: %w", err)
	}
	var names []string
	for i := range size {
		name, _, _ := strings.Cut(filepath.Base(fmt.Sprintf(f.Files.Data, i)), ".")
		if slices.Contains(names, name) {
			return nil, options.Usagef("--data is %q: several nodes would be called %q; it needs the %%d in the name of the file, before the first dot", f.Files.Data, name)
		}
		names = append(names, name)
	}
	c := cluster.Named(names, g, f.Rule.String())
	if _, err := c.Weights(); err != nil {
		return nil, options.Usagef("--graph and --weights: %w", err)
	}
	for _, value := range []*string{&f.Files.Data, &f.Files.Model, &f.Files.Trace, &f.Log.Metrics} {
		if *value != "" {
			*value = fmt.Sprintf(*value, r.node)
		}
	}
	r.cluster, m.cluster = c, c
	return g, nil
}
