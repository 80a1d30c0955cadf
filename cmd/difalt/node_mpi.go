//go:build mpi

package main

import (
	"context"
	"io"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/mpi"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/topology"
)

// leaveTimeout is the longest time that a process that has failed waits for the others to leave.
const leaveTimeout = 2 * time.Second

// runMPI trains with the other processes of an MPI job. It reports errors itself: after the job has been
// ended nothing can be printed. The report of rank 0 goes to stdout.
func runMPI(ctx context.Context, std *cli.Streams, o nodeOptions) error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	own := *std
	if w.Rank() != 0 {
		own.Out = io.Discard
	}
	t := newNodeTraining(&own, o)
	g, err := topology.Parse(defaultGraph, w.Size(), 0)
	if w.Size() == 1 { // most likely no launcher started it
		err = cli.WrongValue("engine", "mpi",
			"this process is alone: start it by mpirun -np N or srun -n N, with N of at least 2")
	}
	if err == nil {
		c := cluster.Named(text.Numbered("process-", w.Size()), g)
		node := (&member{cluster: c, identity: &cluster.Identity{Node: w.Rank()}}).node(own.Log())
		node.Metrics = o.metrics
		node.Connect = func(how engine.Options) (engine.Transport, error) {
			how.JoinTimeout, how.RoundTimeout = o.member.joinTimeout, o.member.roundTimeout
			return w.New(g, how), nil
		}
		err = t.federate(ctx, node)
	}
	code, wait := cli.CodeOf(ctx, err), leaveTimeout
	cli.Complain(own.Err, program, err, code, own.JSON)
	if t.trained {
		wait = o.member.roundTimeout // others may still be writing
	}
	w.Leave(code, wait)
	if err != nil {
		return &cli.Error{Code: code}
	}
	return nil
}
