package difalt_test

import (
	"fmt"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// baselineReference runs a baseline with dense matrices on X_g itself, which is not orthonormal, with
// the gradient of the objective without the b_t there.
type baselineReference struct {
	reference
	x, memory, grads []*mat.Dense
	ps               []*mat.Dense // the agreed P of every node; nil before the first
}

// slopes returns L times the gradients at X, and L B B'.
func (r *baselineReference) slopes() (d, p []*mat.Dense) {
	for g := range r.x {
		grad := r.gradient(g)
		grad.Scale(float64(len(r.x)), grad)
		d = append(d, grad)
		_, k := r.x[g].Dims()
		sum := mat.NewDense(k, k, nil)
		for t, x := range r.reference.x[g] {
			var a, b, outer mat.Dense
			a.Mul(x, r.u[g])
			if err := b.Solve(&a, mat.NewVecDense(len(r.y[g][t]), r.y[g][t])); err != nil {
				panic(err)
			}
			outer.Mul(&b, b.T())
			sum.Add(sum, &outer)
		}
		sum.Scale(float64(len(r.x)), sum)
		p = append(p, sum)
	}
	return d, p
}

func combination(a float64, x *mat.Dense, b float64, y *mat.Dense) *mat.Dense {
	var s, t mat.Dense
	s.Scale(a, x)
	t.Scale(b, y)
	s.Add(&s, &t)
	return &s
}

// step is one iteration with steps of length a.
func (r *baselineReference) stepBaseline(method difalt.Method, a float64) {
	copy(r.u, r.x)
	d, p := r.slopes()
	l, first := len(r.x), r.memory == nil
	if method == difalt.ScaledExactDiffusion {
		if r.ps == nil {
			sum := mat.NewDense(p[0].RawMatrix().Rows, p[0].RawMatrix().Cols, nil)
			for _, v := range p {
				sum.Add(sum, v)
			}
			sum.Scale(1/float64(l), sum)
			for range p {
				r.ps = append(r.ps, sum)
			}
		}
		for g := range d {
			var inverse, v mat.Dense
			if err := inverse.Inverse(r.ps[g]); err != nil {
				panic(err)
			}
			v.Mul(d[g], &inverse)
			d[g] = &v
		}
		r.ps = agree(r.w, p, r.tcon)
	}
	next, memory := make([]*mat.Dense, l), make([]*mat.Dense, l)
	switch method {
	case difalt.EXTRA:
		for g, wx := range agree(r.w, r.x, r.tcon) {
			memory[g] = combination(0.5, r.x[g], 0.5, wx)
			if next[g] = combination(1, wx, -a, d[g]); !first {
				next[g] = combination(1, combination(1, r.x[g], 1, wx), -1, r.memory[g])
				next[g] = combination(1, next[g], -a, combination(1, d[g], -1, r.grads[g]))
			}
		}
	case difalt.ExactDiffusion, difalt.ScaledExactDiffusion:
		f := make([]*mat.Dense, l)
		for g := range f {
			memory[g] = combination(1, r.x[g], -a, d[g])
			if f[g] = memory[g]; !first {
				f[g] = combination(1, memory[g], 1, combination(1, r.x[g], -1, r.memory[g]))
			}
		}
		for g, wf := range agree(r.w, f, r.tcon) {
			next[g] = combination(0.5, f[g], 0.5, wf)
		}
	case difalt.DIGing:
		copy(memory, d)
		if !first {
			for g := range d {
				memory[g] = combination(1, r.memory[g], 1, combination(1, d[g], -1, r.grads[g]))
			}
		}
		memory = agree(r.w, memory, r.tcon)
		for g := range d {
			next[g] = combination(1, r.x[g], -a, memory[g])
		}
		next = agree(r.w, next, r.tcon)
	}
	r.x, r.memory, r.grads = next, memory, d
}

// TestBaselines holds the baselines to a dense reference, iteration by iteration.
func TestBaselines(t *testing.T) {
	const nodes, d, rank, tcon = 5, 14, 3, 2
	relative := map[difalt.Method]float64{difalt.EXTRA: 0.55, difalt.ExactDiffusion: 0.8, difalt.ScaledExactDiffusion: 0.5, difalt.DIGing: 1.7}
	for _, method := range difalt.Baselines() {
		s := gaussian(3, nodes, d, 25, rank, fixed(12), 0.1)
		net := network(t, "er:0.6", nodes, topology.Metropolis, 5)
		o := difalt.Options{Rank: rank, Rounds: tcon, Initialization: difalt.InitializationOptions{Rounds: 60}}
		initial, err := difalt.Initialize(t.Context(), s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		s.U0 = initial.U
		o.Method, o.Step, o.Iterations, o.EveryIteration, o.Scaled.Step = method, initial.Step/2, 50, true, 0.3
		ref := &baselineReference{reference: reference{synthetic: s, w: mat.NewDense(nodes, nodes, nil), tcon: tcon, u: make([]*mat.Dense, nodes)}}
		squares, entries := 0.0, 0.0
		for g := range nodes {
			for j := range nodes {
				ref.w.Set(g, j, net.Weights().At(g, j))
			}
			ref.x = append(ref.x, mat.DenseCopyOf(initial.U[g]))
			for _, x := range s.x[g] {
				squares += mat.Norm(x, 2) * mat.Norm(x, 2)
				entries += 12 * d
			}
		}
		a := relative[method] * o.Step
		if method == difalt.ScaledExactDiffusion {
			a = 0.5 * 0.3 / (12 * squares / entries)
		}
		solver, err := difalt.NewSolver(s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		defer solver.Close()
		for it := range 40 {
			ref.stepBaseline(method, a)
			if _, err := solver.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			for g := range nodes {
				var diff mat.Dense
				diff.Sub(solver.U()[g], project(ref.x[g]))
				if e := mat.Norm(&diff, 2); !(e < 1e-9) {
					t.Fatalf("%v, iteration %d, node %d: U differs from the reference by %g", method, it+1, g, e)
				}
			}
		}
	}
}

// TestBaselinesCorrect: under noise they end at the minimiser for the data of all nodes, with few
// rounds, where diffusion does not, and neither does the scaled one: its nodes do not have the
// same P.
func TestBaselinesCorrect(t *testing.T) {
	s := noisy(1, 5, 20, 60, 2, 25, 1.5, 0.05)
	alone := network(t, "complete", 1, topology.Metropolis, 1)
	s.Truth = run(t, &difalt.Problem{Nodes: []*kernel.Tasks{pooled(s)}}, alone, difalt.Options{Rank: 2, Method: difalt.Accelerated, Tolerance: 1e-13}).U[0]
	net := network(t, "er:0.6", 5, topology.Metropolis, 1)
	o := difalt.Options{Rank: 2, Rounds: 3, Iterations: 500, EveryIteration: true, Scaled: difalt.ScaledOptions{Step: 0.4}}
	for _, method := range append(difalt.Baselines(), difalt.ScaledDiffusion) {
		o.Method = method
		far := run(t, s.Problem, net, o).Last.SDMax
		if biased := method == difalt.ScaledDiffusion || method == difalt.ScaledExactDiffusion; biased != (far > 1e-6) {
			t.Errorf("%v ends %g from the minimiser", method, far)
		}
	}
}

// TestBaselineTransactions: interrupted and restored, with any number of workers and processes,
// and when exchanges fail, a run of a baseline has the same bits; and it does not allocate.
func TestBaselineTransactions(t *testing.T) {
	const nodes = 4
	s := gaussian(1, nodes, 12, 20, 2, fixed(15), 0.01)
	w := network(t, "ring", nodes, topology.Metropolis, 1).Weights()
	for _, method := range difalt.Baselines() {
		for _, codec := range []consensus.Codec{consensus.None, consensus.Int8} {
			o := difalt.Options{Rank: 2, Method: method, Iterations: 25, Rounds: 2, Workers: 1, Initialization: difalt.InitializationOptions{PowerIterations: 2}, Agreement: consensus.Agreement{Codec: codec, RoundByRound: true}}
			fresh := func() *consensus.Network {
				net, err := consensus.New(w, nil)
				if err != nil {
					t.Fatal(err)
				}
				return net
			}
			want := run(t, s.Problem, fresh(), o)
			for _, at := range []int{1, 2, 13} {
				got := restored(t, s.Problem, fresh(), o, interrupted(t, s.Problem, fresh(), o, at))
				if got.Last.Compute = want.Last.Compute; got.Last != want.Last || !mat.Equal(got.U[1], want.U[1]) {
					t.Errorf("%v, %v, interrupted at %d: ends at %+v, want %+v", method, codec, at, got.Last, want.Last)
				}
			}
			for _, k := range []int{2, nodes} {
				sameApart(t, fmt.Sprintf("%v, %d processes", method, k), want, s.Problem, w, together(nodes, k), o)
			}
			o.Iterations = 4
			retried(t, s, w, o, 10, 45)
			o.Iterations, o.EveryIteration = 200, true
			solver, err := difalt.NewSolver(s.Problem, fresh(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer solver.Close()
			step := func() {
				if _, err := solver.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			step()
			step()
			if n := testing.AllocsPerRun(20, step); n != 0 && codec == consensus.None {
				t.Errorf("%v: %g allocations an iteration", method, n)
			}
		}
	}
}
