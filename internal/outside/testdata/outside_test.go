// Package outside is compiled as a module of its own by a test: it makes a value of every public
// type that somebody else must be able to make.
package outside

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/blas/blas64"
)

// Arithmetic of one node, over the caller's memory.
func Arithmetic(x, y []float64, stride, features int) lsq.Result {
	n := len(y)
	group := kernel.NewGroup(kernel.View(x, stride, features, []int{0, n}, y), 1)
	basis := []*kernel.Basis{kernel.NewBasis(features, 1)}
	pool := kernel.NewPool(1)
	defer pool.Close()
	kernel.NewExecutor(pool, []*kernel.Group{group}).Step(basis, 0)
	group.Minimize(basis[0], 0, kernel.NewWorkspace(group))

	matrix := func(rows, cols int) blas64.GeneralCols {
		return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: rows, Data: make([]float64, rows*cols)}
	}
	a, r := matrix(n, 2), matrix(2, 2)
	qr.Factor(a, r, make([]float64, qr.WorkLen(2)))
	return lsq.Solve(make([]float64, 2), a, y, lsq.Options{}, lsq.NewWorkspace(n, 2))
}

// A transport of one's own.
type nowhere struct{ hosted []int }

func (n nowhere) Hosted() []int { return n.hosted }
func (nowhere) Exchange(_ context.Context, _ uint64, out, in [][]byte, _ []bool) error {
	copy(in, out)
	return nil
}
func (nowhere) Close() error { return nil }

var (
	_ transport.Transport = nowhere{}
	_ error               = (*transport.PeerError)(nil)
)

// An exchange of one's own.
type unchanged struct{ network *consensus.Network }

func (u unchanged) Average(context.Context, []consensus.Message, consensus.Codec) error {
	u.network.AddTraffic(transport.Traffic{Rounds: 1})
	return nil
}
func (unchanged) Exact() bool { return false }

var _ consensus.Exchange = unchanged{}

// Network of nodes in this process.
func Network(nodes int) (*consensus.Network, error) {
	ring, err := topology.Ring(nodes)
	if err != nil {
		return nil, err
	}
	weights, err := topology.NewWeights(ring, topology.Metropolis)
	if err != nil {
		return nil, err
	}
	return consensus.New(weights, nil)
}

// Run runs the algorithm, and goes on from a snapshot.
func Run(ctx context.Context, tasks []*kernel.Tasks) (*difalt.Result, error) {
	network, err := Network(len(tasks))
	if err != nil {
		return nil, err
	}
	problem := &difalt.Problem{Nodes: tasks}
	o := difalt.Options{Rank: 1, Method: difalt.Accelerated, Codec: consensus.Int16}
	solver, err := difalt.NewSolver(problem, network, o)
	if err != nil {
		return nil, err
	}
	defer solver.Close()
	for range 3 {
		if _, err := solver.Step(ctx); err != nil {
			return nil, err
		}
	}
	snapshot, err := solver.Snapshot()
	if err != nil {
		return nil, err
	}
	again, err := difalt.NewSolver(problem, network, o)
	if err != nil {
		return nil, err
	}
	defer again.Close()
	if err := again.Restore(snapshot); err != nil {
		return nil, err
	}
	return again.Run(ctx)
}
