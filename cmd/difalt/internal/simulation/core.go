package simulation

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// options returns the options of a variant. Curves show all iterations: no stop rule ends a run early.
func (s *Setting) options(v Variant, workers int) difalt.Options {
	return difalt.Options{
		Method: v.Method, Codec: v.Codec, Rank: s.Rank, Iterations: s.Iterations, Rounds: s.Rounds,
		StartRounds: s.InitRounds, PowerIterations: s.PowerIterations, Workers: workers,
		EveryIteration: true, Average: newPowers().average,
	}
}

// powers are averages that apply all rounds of AGREE (Alg. 1) together, as a power of the mixing matrix,
// which differs by rounding alone. They serve one network whose nodes all live in this process.
type powers struct {
	of   map[int]*mat.Dense // the matrix of a number of rounds
	used int                // the number of messages that a power has averaged
}

func newPowers() *powers { return &powers{of: map[int]*mat.Dense{}} }

// A power is an exchange by a power of the mixing matrix.
type power struct {
	consensus.Exchange // AGREE itself
	*powers
	net      *consensus.Network
	w        *mat.Dense // W^rounds
	pool     *kernel.Pool
	cost     map[int]transport.Traffic // by the entries of a message
	messages []consensus.Message       // of the call under way
	work     [][2][]float64            // of every worker: the blocks of all nodes, before and after
}

const (
	// denseSpeed is the number of summands of a dense product in the time of one summand of a sparse product.
	denseSpeed = 8
	mostDense  = 1000 // nodes of a dense matrix
	// blockLen is a number of entries that are averaged together. A block of all nodes stays in the cache.
	blockLen = 64
)

// average returns an exchange of rounds of AGREE. It is AGREE itself where a dense product takes longer.
func (p *powers) average(net *consensus.Network, rounds int, pool *kernel.Pool) (consensus.Exchange, error) {
	agree, err := net.Agree(rounds, pool)
	l := net.Len()
	if err != nil || !net.AllHosted() || l > mostDense || l*l > denseSpeed*rounds*(2*net.Graph().Edges()+l) {
		return agree, err
	}
	if p.of[rounds] == nil {
		p.of[rounds] = &mat.Dense{}
		p.of[rounds].Pow(net.Weights().Dense(), rounds)
	}
	x := &power{Exchange: agree, powers: p, net: net, w: p.of[rounds], pool: pool, cost: map[int]transport.Traffic{}}
	for range pool.Workers() {
		x.work = append(x.work, [2][]float64{make([]float64, l*blockLen), make([]float64, l*blockLen)})
	}
	return x, nil
}

// Average implements consensus.Exchange. Messages with scalars, and the first messages of a size, go round by
// round; these first messages show the traffic of later ones.
func (x *power) Average(ctx context.Context, z []consensus.Message, c consensus.Codec) error {
	n := z[0].Entries()
	if _, seen := x.cost[n]; !seen || z[0].Scalars != nil {
		before := x.net.Traffic()
		err := x.Exchange.Average(ctx, z, c)
		x.cost[n] = x.net.Traffic().Minus(before)
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	x.messages = z
	x.pool.Run(x.share)
	x.messages = nil
	x.net.AddTraffic(x.cost[n])
	x.used++
	return nil
}

// share averages the blocks of entries that belong to a worker.
func (x *power) share(worker int) {
	n := len(x.messages[0].Basis.Data())
	for lo := worker * blockLen; lo < n; lo += len(x.work) * blockLen {
		x.block(x.work[worker], lo, min(lo+blockLen, n))
	}
}

// block averages the entries [lo, hi) of the bases of all messages.
func (x *power) block(work [2][]float64, lo, hi int) {
	in, out, l := work[0], work[1], len(x.messages)
	for i, m := range x.messages {
		copy(in[i*blockLen:], m.Basis.Data()[lo:hi])
	}
	w := x.w.RawMatrix()
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, w, blas64.General{Rows: l, Cols: hi - lo, Stride: blockLen, Data: in},
		0, blas64.General{Rows: l, Cols: hi - lo, Stride: blockLen, Data: out})
	for i, m := range x.messages {
		copy(m.Basis.Data()[lo:hi], out[i*blockLen:])
	}
}
