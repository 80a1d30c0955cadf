// Package outside is compiled as a module of its own by a test: it makes a value of every public
// type that somebody else must be able to make.
package outside

import (
	"context"
	"net"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/dataset/schema"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
	"github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/eigen"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// Arithmetic of one node, over the caller's memory.
func Arithmetic(x [][]float64, y []float64) (lsq.Status, float64) {
	group := kernel.NewGroup(kernel.TasksOf(x, y, []int{0, len(x)}, kernel.Float32), 1)
	basis := []*kernel.Basis{kernel.NewBasis(len(x[0]), 1)}
	pool := kernel.NewPool(1)
	defer pool.Close()
	kernel.NewExecutor(pool, []*kernel.Group{group}).Step(basis, 0)
	group.Minimize(basis[0], 0, kernel.NewWorkspace(len(x), len(x[0]), 1))

	matrix := func(rows, cols int) blas.ColumnMajor {
		s := blas.Stride(rows)
		return blas.ColumnMajor{Rows: rows, Cols: cols, Stride: s, Data: make([]float64, s*cols)}
	}
	a, r := matrix(len(x), 2), matrix(2, 2)
	qr.Factor(a, r, make([]float64, qr.WorkLen(2)))
	status := lsq.Solve(make([]float64, 2), a, y, 0, lsq.NewWorkspace(len(x), 2))
	return status, eigen.Largest(make([]float64, 4), 2, make([]float64, 64))
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
	_ wire.Transport = nowhere{}
	_ error          = (*wire.PeerError)(nil)
)

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
	rounds, err := wire.NewRounds(ring, nowhere{}, 1)
	if err != nil {
		return nil, err
	}
	_ = collective.New(rounds, collective.NewTree(ring, 0), &wire.Traffic{})
	return consensus.New(weights, nil)
}

// Run runs the algorithm, and goes on from a snapshot.
func Run(ctx context.Context, tasks []*kernel.Tasks) (*difalt.Result, error) {
	network, err := Network(len(tasks))
	if err != nil {
		return nil, err
	}
	problem := &difalt.Problem{Nodes: tasks, Moments: mat.NewSymDense(3, nil)}
	o := difalt.Options{Rank: 1, Agreement: consensus.Agreement{Codec: consensus.Float32}}
	solver, err := difalt.NewSolver(problem, network, o)
	if err != nil {
		return nil, err
	}
	defer solver.Close()
	for record, err := range solver.Iterations(ctx) {
		if err != nil || record.Iteration == 3 {
			break
		}
	}
	snapshot, err := solver.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := solver.Restore(snapshot); err != nil {
		return nil, err
	}
	return solver.Run(ctx)
}

// Table is one in memory.
func Table() (*dataset.Table, error) {
	t, err := dataset.NewTable([]string{"dose", "age"}, true, kernel.Float64)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"north", "south"} {
		if err := t.AddTask(name); err != nil {
			return nil, err
		}
	}
	err = t.Fill([]int{0, 1}, []float64{1, 2}, func(put func(at int, run []float64)) error {
		put(0, []float64{1, 2, 3, 4})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, t.Assign([]string{"n0", "n1"}, []int{0, 1})
}

// Fit trains on a table.
func Fit(ctx context.Context, t *dataset.Table) (*model.Model, *fit.Report, error) {
	network, err := Network(len(t.Nodes()))
	if err != nil {
		return nil, nil, err
	}
	train, err := t.Split(dataset.Split{TestFraction: 0.25})
	if err != nil {
		return nil, nil, err
	}
	return fit.Fit(ctx, t, fit.Config{Network: network, Options: fit.DefaultOptions(1), Train: train})
}

// Model is one of somebody else's parameters.
func Model() (*model.Model, error) {
	return model.New(model.Parameters{
		Schema: schema.Schema{
			Columns:    []string{"dose", "site"},
			Categories: []schema.Category{{Column: "site", Levels: []string{"p"}}},
		},
		Scaling: model.Scaling{Fill: []float64{0, 0}, Center: []float64{0, 0}, Scale: []float64{1, 1}, TargetScale: 1},
		Mean:    []float64{1, 2},
		Prior: model.Prior{
			Rank: 1, Loadings: []float64{1, 0}, MeanCovariance: make([]float64, 4), Noise: 1,
			NoisePrior: model.NoisePrior{Scale: 1, Freedom: 6}, Uncertainty: mat.NewSymDense(4, nil),
		},
		Nodes: []string{"n0"}, Tasks: []string{"north"}, NodeOf: []int{0}, Samples: []int{1}, Theta: []float64{1, 2},
	})
}

// Files writes a problem and reads it.
func Files(path string, p *difalt.Problem, w *topology.Weights) (*problemfile.File, error) {
	if err := problemfile.Write(path, p, w); err != nil {
		return nil, err
	}
	return problemfile.Read(path)
}

// Connect is one node of several processes.
func Connect(c *cluster.Cluster, id *cluster.Identity, l net.Listener) (wire.Transport, error) {
	return grpc.New(c, id, l, engine.Options{Settings: []wire.Setting{{Name: "rank", Value: "2"}}})
}
