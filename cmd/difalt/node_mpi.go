//go:build mpi

package main

import (
	"context"
	"io"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/mpi"
	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/flagtable"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
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
		t.Out = io.Discard
	}
	g, err := topology.Parse(flagtable.DefaultGraph, w.Size(), 0)
	if w.Size() == 1 { // most likely no launcher started it
		err = cli.WrongValue("engine", "mpi", "this process is alone: start it by mpirun -np N or srun -n N, with N of at least 2")
	}
	if err == nil {
		c := cluster.Named(text.Numbered("process-", w.Size()), g)
		node := (&member{cluster: c, identity: &cluster.Identity{Node: w.Rank()}}).node(t.Log())
		node.Connect = func(o engine.Options) (engine.Transport, error) {
			o.JoinTimeout, o.RoundTimeout = t.Member.JoinTimeout, t.Member.RoundTimeout
			return w.New(g, o), nil
		}
		err = t.federate(ctx, node)
	}
	cli.Complain(t.Err, program, err, t.JSON)
	code, wait := cli.CodeOf(ctx, err), parting
	if t.written || ctx.Err() != nil {
		wait = t.Member.RoundTimeout // others may still be writing
	}
	w.Leave(code, wait)
	if err != nil {
		return &cli.Error{Code: code}
	}
	return nil
}
