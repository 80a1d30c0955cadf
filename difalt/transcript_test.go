package difalt_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A tap is a transport that keeps what crosses the links of its node, both ways: what
// all neighbours of the node know together, and whoever reads the wires.
type tap struct {
	wire.Transport
	rounds []exchanged
}

type exchanged struct{ out, in []wireFrame } // by link

// A wireFrame is what an attacker reads from a frame.
type wireFrame struct {
	raw          []byte
	channel      wire.Channel
	riding, code []byte
}

func (t *tap) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if err := t.Transport.Exchange(ctx, seq, out, in, due); err != nil {
		return err
	}
	t.rounds = append(t.rounds, exchanged{parseWire(out), parseWire(in)})
	return nil
}

const noFrame = wire.Channel(255)

// parseWire reads frames, by the format of frames once more. Where none has gone there is an empty
// one.
func parseWire(frames [][]byte) (parsed []wireFrame) {
	for _, p := range frames {
		f := wireFrame{raw: slices.Clone(p), channel: noFrame}
		if len(p) > 0 {
			f.channel, f.riding, f.code = testnet.Open(f.raw)
		}
		parsed = append(parsed, f)
	}
	return parsed
}

func float64s(p []byte) (v []float64) {
	for ; len(p) >= 8; p = p[8:] {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(p)))
	}
	return v
}

// Sums of four nodes, as in consensus/collective/rows.go: integers of three words a number and
// some bits of votes go up, and a float64 a number and a byte come down; in headers counts of
// eight words that nodes may say, and integers of five words a number.
const (
	digits, low         = 3, 56 + 3 - 3*64
	voteLen, fitLen     = 2, 1
	headerDigits        = 5
	headerLow, countLen = 100 + 3 - 5*64, 4

	met = 17 // numbers that the nodes add up first, the last five of them counts of their data
)

// decode returns the numbers that integers of so many words stand for.
func decode(p []byte, digits, low int) (v []float64) {
	for ; len(p) >= 8*digits; p = p[8*digits:] {
		n := new(big.Int)
		for k := range digits {
			word := new(big.Int).SetUint64(binary.LittleEndian.Uint64(p[8*k:]))
			n.Or(n, word.Lsh(word, uint(64*k)))
		}
		if n.Bit(64*digits-1) == 1 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(64*digits)))
		}
		x, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(n), low).Float64()
		v = append(v, x)
	}
	return v
}

// collective returns the numbers in a frame of a sum, the mean along a tree or a broadcast, and
// whether they go up.
func (f wireFrame) collective() (v []float64, up bool) {
	switch n := len(f.code); {
	case n == 0:
	case f.channel == wire.Broadcast:
		v = float64s(f.code)
	case f.channel != wire.Sum && f.channel != wire.Mean:
	case n%8 == voteLen:
		return decode(f.code[:n-voteLen], digits, low), true
	case n%8 == fitLen:
		v = float64s(f.code)
	}
	return v, false
}

// A spied is a run with one process a node, and what the tap at one of them has seen.
type spied struct {
	*synthetic
	o      difalt.Options
	w      *topology.Weights
	victim int
	d, r   int
	rounds []exchanged
	bases  []*kernel.Basis // of the victim after every iteration; not known to the attacker
	result *difalt.Result  // of the victim
}

// What masks are to an attacker: nothing, those of all pairs of nodes, which the parent of the
// victim sees, and those that are left if all but two nodes put together what they know.
var (
	bare      = func(int) pads.Source { return testnet.NoPads{} }
	masked    func(int) pads.Source // from keys
	allButTwo = testnet.Shared(0, victim)
)

// spy runs a problem on a path with a tap at a node, and masks nothing.
func spy(t *testing.T, s *synthetic, victim int, o difalt.Options) *spied {
	t.Helper()
	return spyThrough(t, bare, s, victim, o)
}

// spyThrough is spy through masks.
func spyThrough(t *testing.T, masks func(int) pads.Source, s *synthetic, victim int, o difalt.Options) *spied {
	t.Helper()
	nodes := len(s.Nodes)
	v := &spied{synthetic: s, o: o, victim: victim, w: network(t, "path", nodes, topology.Metropolis, 1).Weights()}
	v.d, v.r = s.Nodes[0].Features(), o.Rank
	groups := together(nodes, nodes)
	pipes, err := testnet.Connect(v.w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second, Pads: masks})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k, p := range pipes {
		wg.Go(func() {
			defer p.Close()
			if k != victim {
				if net, err := consensus.New(v.w, p); err != nil {
					t.Error(err)
				} else if _, err := difalt.Run(t.Context(), part(s.Problem, groups[k]), net, o); err != nil {
					t.Error(err)
				}
				return
			}
			tapped := &tap{Transport: p}
			var tr wire.Transport = tapped
			if from, ok := p.(pads.Provider); ok {
				tr = struct {
					wire.Transport
					pads.Provider
				}{tapped, from}
			}
			if err := v.run(t.Context(), part(s.Problem, groups[k]), tr); err != nil {
				t.Error(err)
			}
			v.rounds = tapped.rounds
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return v
}

func (v *spied) run(ctx context.Context, p *difalt.Problem, tr wire.Transport) error {
	net, err := consensus.New(v.w, tr)
	if err != nil {
		return err
	}
	solver, err := difalt.NewSolver(p, net, v.o)
	if err != nil {
		return err
	}
	defer solver.Close()
	for status := difalt.Running; status == difalt.Running; {
		if status, err = solver.Step(ctx); err != nil {
			return err
		}
		v.bases = append(v.bases, solver.U()[0].Clone())
	}
	v.result, err = solver.Result()
	return err
}

// spectral returns what the victim has sent of its products in the power iterations, and
// the U that all had after each.
func (v *spied) spectral(t *testing.T) (products, bases []*mat.Dense) {
	t.Helper()
	if v.o.Method.Accelerates() {
		return v.products(t)
	}
	for _, call := range v.mixes(t, wire.StreamExact, v.o.Initialization.Rounds, 0) {
		products = append(products, v.basis(call.first))
	}
	_, us := v.collectives(v.d*v.r + v.r)
	for _, u := range us {
		bases = append(bases, v.basis(u))
	}
	return products, bases
}

// products is spectral for the accelerated methods, which add up along the tree. The
// victim is a leaf of it: it sends, and then it hears.
func (v *spied) products(t *testing.T) (products, bases []*mat.Dense) {
	t.Helper()
	for _, x := range v.rounds {
		for k, f := range []wireFrame{x.out[0], x.in[0]} {
			if f.channel != wire.Mean || len(f.code) == 0 || len(bases) == v.o.Initialization.PowerIterations {
				continue
			}
			if z, _ := f.collective(); k == 0 {
				products = append(products, v.basis(z))
			} else {
				bases = append(bases, orthonormal(v.basis(z)))
			}
		}
	}
	return products, bases
}

// collectives returns what the victim has sent up in sums of so many numbers, and what has come
// down of them and of broadcasts.
func (v *spied) collectives(numbers int) (out, in [][]float64) {
	for _, x := range v.rounds {
		for k := range x.out {
			if z, up := x.out[k].collective(); up && x.out[k].channel == wire.Sum && len(z) == numbers {
				out = append(out, z)
			}
			if z, up := x.in[k].collective(); !up && x.in[k].channel != wire.Mean && len(z) == numbers {
				in = append(in, z)
			}
		}
	}
	return out, in
}

// totals returns the numbers of tasks and samples and the sums of squares that the victim
// has sent, and those of all.
func (v *spied) totals() (own, all []float64) {
	out, in := v.collectives(met)
	return out[0][met-5:], in[0][met-5:]
}

// A mixed is what the attacker knows of one call of Mix: the message of the victim before
// it met anybody's, and after the last round.
type mixed struct{ first, last []float64 }

// mixes follows a stream. With a codec, what the attacker knows of a message is the
// replica that the neighbours of a node keep of it.
func (v *spied) mixes(t *testing.T, channel wire.Channel, rounds, scalars int) (calls []mixed) {
	t.Helper()
	neighbors := v.w.Graph().Neighbors(v.victim)
	n := v.d*v.r + scalars
	known := make([][]float64, 1+len(neighbors)) // of the victim, then of the neighbours
	for k := range known {
		known[k] = make([]float64, n)
	}
	seen := 0
	for _, x := range v.rounds {
		if x.out[0].channel != channel {
			continue
		}
		for k, f := range append(x.out[:1:1], x.in...) {
			v.hear(t, known[k], f, channel)
		}
		if seen%rounds == 0 {
			calls = append(calls, mixed{first: slices.Clone(known[0])})
		}
		last := make([]float64, n)
		floats.AddScaled(last, v.w.At(v.victim, v.victim), known[0])
		for k, j := range neighbors {
			floats.AddScaled(last, v.w.At(v.victim, j), known[1+k])
		}
		calls[len(calls)-1].last = last
		seen++
	}
	return calls
}

// hear updates what is known of a message by a frame.
func (v *spied) hear(t *testing.T, known []float64, f wireFrame, channel wire.Channel) {
	t.Helper()
	codec := v.o.Agreement.Codec
	if codec == consensus.None || channel == wire.StreamExact {
		copy(known, float64s(f.code))
		return
	}
	change, rest, err := make([]float64, len(known)), f.code, error(nil)
	if rest, err = codec.Decode(change[:v.d*v.r], rest); err != nil {
		t.Fatal(err)
	}
	if len(rest) > 0 {
		scalars, _ := consensus.ParseCodec("float32")
		if _, err = scalars.Decode(change[v.d*v.r:], rest); err != nil {
			t.Fatal(err)
		}
	}
	floats.Add(known, change)
}

// basis returns the d x r matrix whose columns are one after the other in x.
func (v *spied) basis(x []float64) *mat.Dense {
	return mat.DenseCopyOf(mat.NewDense(v.r, v.d, slices.Clone(x[:v.d*v.r])).T())
}

// packedSize is the length of an upper triangle.
func (v *spied) packedSize() int { return v.r * (v.r + 1) / 2 }

// scalars is how many travel with a basis: P, and the inner products of the acceleration.
func (v *spied) scalars() (n int) {
	switch v.o.Method {
	case difalt.ScaledDiffusion, difalt.GradientTracking:
		return v.packedSize()
	case difalt.Accelerated, difalt.AcceleratedTracking, difalt.Newton:
		if n = 2*v.o.Accelerated.Memory + 1; v.o.Accelerated.Preconditioner == difalt.PreconditionerScaled {
			n += v.packedSize()
		}
	}
	return n
}

// symmetric returns the matrix of an upper triangle.
func (v *spied) symmetric(p []float64) *mat.SymDense {
	s := mat.NewSymDense(v.r, nil)
	k := 0
	for i := range v.r {
		for j := i; j < v.r; j++ {
			s.SetSym(i, j, p[k])
			k++
		}
	}
	return s
}

// orthonormal returns the factor Q of a matrix, with positive diagonal of R.
func orthonormal(z mat.Matrix) *mat.Dense {
	u := kernel.BasisOf(z)
	_, r := u.Dims()
	u.Orthonormalize(make([]float64, r*r), make([]float64, 64*r))
	return mat.DenseCopyOf(u)
}
