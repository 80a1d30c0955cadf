package difalt_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestGradientsRecovered: in gossip the first message of an iteration, before it is averaged,
// gives a sole neighbour the gradient of a node, whatever the method, with masks or without.
// A codec blurs it. The server's sum does so without masks only.
func TestGradientsRecovered(t *testing.T) {
	s := problemFor(3, 20, 12)
	everyMethod(t, 20, func(t *testing.T, o difalt.Options) {
		masks := allButTwo
		if o.Method == difalt.AltGDmin {
			masks = bare
		}
		v := spyThrough(t, masks, s, victim, o)
		tr := v.follow(t)
		if len(tr.gradient) < 19 {
			t.Fatalf("%d gradients", len(tr.gradient))
		}
		exact := uncoded(o)
		for i, g := range tr.gradient {
			b, want := v.truth(tr.u[i])
			if e := relative(g, want); exact && e > 1e-9 {
				t.Errorf("iteration %d: the gradient is off by %.1e", i, e)
			}
			if tr.gram == nil {
				continue
			}
			var gram mat.Dense
			gram.Mul(b, b.T())
			if e := relative(tr.gram[i], &gram); exact && e > 1e-9 || e > 1e-3 {
				t.Errorf("iteration %d: sum b b' is off by %.1e", i, e)
			}
		}
		if e := relative(tr.u[10], v.bases[9]); e > 1e-3 || exact && e > 1e-12 {
			t.Errorf("U is off by %.1e", e)
		}
		_, want := v.truth(tr.u[1])
		if e := relative(tr.gradient[1], want); e > 0.05 {
			t.Errorf("the codec leaves no more of the gradient than %.1e", e)
		}
	})
}

// TestCoefficientsRecovered: a method that sends sum b b' gives the coefficients of a
// node's only task away, up to the sign. For those of more see TestTasksNotDetermined.
func TestCoefficientsRecovered(t *testing.T) {
	for _, method := range []difalt.Method{difalt.ScaledDiffusion, difalt.GradientTracking, difalt.Accelerated, difalt.AcceleratedTracking} {
		v := spy(t, problemFor(1, 20, 12), victim, spyOptions(method, "none", 20))
		tr := v.follow(t)
		for i, gram := range tr.gram {
			value, guess, _ := leading(gram)
			guess.ScaleVec(math.Sqrt(value), guess)
			if b, _ := v.truth(tr.u[i]); upToSign(guess, b) > 1e-8 {
				t.Errorf("%v, iteration %d: b is off by %.1e", method, i, upToSign(guess, b))
			}
		}
	}
}

// projections returns what the attacker makes of the power iterations: the sum of
// X_t'y_t y_t'X_t / (n_t m)^2 over the tasks of the victim. They send its products with
// bases that are known.
func (v *spied) projections(t *testing.T) *mat.Dense {
	products, bases := v.spectral(t)
	n := len(products) * v.r
	from, to := mat.NewDense(v.d, n, nil), mat.NewDense(v.d, n, nil)
	u := orthonormal(v.Start)
	for l, z := range products {
		for j := range v.r {
			from.SetCol(l*v.r+j, mat.Col(nil, j, u))
			to.SetCol(l*v.r+j, mat.Col(nil, j, z))
		}
		u = bases[l]
	}
	return nystrom(from, to, 1e-10)
}

// backProjected returns X_t'y_t of a task of the victim, from the data.
func (v *spied) backProjected(task int) *mat.VecDense {
	c := new(mat.VecDense)
	c.MulVec(v.x[v.victim][task].T(), mat.NewVecDense(len(v.y[v.victim][task]), v.y[v.victim][task]))
	return c
}

// projectionScale is n_t m: the attacker knows m, and a leaf's parent also n_t of its
// only task.
func (v *spied) projectionScale(rows float64) float64 {
	_, totals := v.totals()
	return rows * totals[2] / (totals[1] * float64(v.d))
}

// TestInitializationRecovered: in gossip the first message of a run gives X'y of a node's only
// task away, up to its sign, and the power iterations give those of a few tasks up to a rotation,
// masks or not. The accelerated methods add up along the tree, and with masks nothing is seen.
func TestInitializationRecovered(t *testing.T) {
	for name, masks := range views {
		for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
			for _, tasks := range []int{1, 2, 6} {
				o := spyOptions(method, "int8", 2)
				if o.Initialization.PowerIterations = 1; tasks > o.Rank {
					o.Initialization.PowerIterations = 5
				}
				v := spyThrough(t, masks, problemFor(tasks, 20, 24), victim, o)
				sum, want := v.projections(t), mat.NewDense(v.d, v.d, nil)
				value, guess, _ := leading(sum)
				guess.ScaleVec(math.Sqrt(value), guess)
				seen := name == "bare" || method == difalt.DifAltGDmin
				for task := range tasks {
					var outer mat.Dense
					c := v.backProjected(task)
					c.ScaleVec(1/v.projectionScale(20), c)
					outer.Outer(1, c, c)
					want.Add(want, &outer)
					if e := upToSign(guess, c); seen && tasks == 1 && e > 1e-8 || !seen && min(e, unlike(guess, c)) < atRandom {
						t.Errorf("%v, %s, %d tasks: X'y is off by %.1e", method, name, tasks, e)
					}
				}
				if e := relative(sum, want); seen && e > 1e-6 || !seen && min(e, unlike(sum, want)) < atRandom {
					t.Errorf("%v, %s, %d tasks: the sum of X'y y'X is off by %.1e", method, name, tasks, e)
				}
			}
		}
	}
}

// attackAsOne is least squares on the transcript of a node as if it had one task: X'X
// from its products with theta in all iterations.
func attackAsOne(t *testing.T, v *spied, tolerance float64) (gram *mat.Dense, c *mat.VecDense) {
	value, c, _ := leading(v.projections(t))
	rows := len(v.y[v.victim][0]) // of which there are not many to try
	c.ScaleVec(math.Sqrt(value)*v.projectionScale(float64(rows)), c)
	thetas, products := v.thetas(v.follow(t), c)
	return nystrom(thetas, products, tolerance), c
}

// TestOneTaskRecovered: without masks a node with a single task of few rows gives X'X and X'y
// away, in some forty iterations of any method, and so its rows and responses up to a rotation. In
// gossip it does so with masks, too, where P goes to neighbours. Without P the length of b is in
// sums only.
func TestOneTaskRecovered(t *testing.T) {
	for _, method := range difalt.Methods() {
		for name, masks := range views {
			if name != "bare" && method != difalt.ScaledDiffusion {
				continue
			}
			v := spyThrough(t, masks, problemFor(1, 5, 12), victim, spyOptions(method, "none", 40))
			gram, c := attackAsOne(t, v, 1e-11)
			var want mat.Dense
			want.Mul(v.x[victim][0].T(), v.x[victim][0])
			if e := relative(gram, &want); e > 1e-4 {
				t.Errorf("%v, %s: X'X is off by %.1e", method, name, e)
			}
			if e := upToSign(c, v.backProjected(0)); e > 1e-8 {
				t.Errorf("%v, %s: X'y is off by %.1e", method, name, e)
			}
		}
		// Of many rows, only the directions in which U moved by more than rounding.
		v := spy(t, problemFor(1, 60, 60), victim, spyOptions(method, "none", 40))
		gram, _ := attackAsOne(t, v, 1e-8)
		var want mat.Dense
		want.Mul(v.x[victim][0].T(), v.x[victim][0])
		if e := relative(gram, &want); e < 0.5 {
			t.Errorf("%v: X'X of many rows is off by only %.1e", method, e)
		}
	}
}

// TestManyTasksNotRecovered: the same attack finds no task of a node that has many. For
// better attacks see TestDetermined.
func TestManyTasksNotRecovered(t *testing.T) {
	for _, method := range difalt.Methods() {
		v := spy(t, problemFor(12, 10, 12), victim, spyOptions(method, "none", 40))
		for _, tolerance := range []float64{1e-2, 1e-4, 1e-6, 1e-8, 1e-11} {
			gram, c := attackAsOne(t, v, tolerance)
			for task, x := range v.x[victim] {
				var want mat.Dense
				want.Mul(x.T(), x)
				if e := relative(gram, &want); e < 0.5 {
					t.Errorf("%v: X'X of task %d is off by only %.1e", method, task, e)
				}
				if e := upToSign(c, v.backProjected(task)); e < 0.3 {
					t.Errorf("%v: X'y of task %d is off by only %.1e", method, task, e)
				}
			}
		}
	}
}

// turned returns a problem whose victim has Q X_t and Q y_t of a rotation Q for each task,
// or of random signs.
func turned(s *synthetic, rng *rand.Rand, signs bool) *synthetic {
	other := *s
	other.Problem = &difalt.Problem{Start: s.Start, Truth: s.Truth, Nodes: slices.Clone(s.Nodes)}
	other.x, other.y = slices.Clone(s.x), slices.Clone(s.y)
	other.x[victim], other.y[victim] = nil, nil
	for t, x := range s.x[victim] {
		n, _ := x.Dims()
		q := orthonormal(normal(rng, n, n))
		if signs {
			q.Zero()
			for i := range n {
				q.Set(i, i, float64(2*rng.IntN(2)-1))
			}
		}
		var qx mat.Dense
		var qy mat.VecDense
		qx.Mul(q, x)
		qy.MulVec(q, mat.NewVecDense(n, s.y[victim][t]))
		other.x[victim], other.y[victim] = append(other.x[victim], &qx), append(other.y[victim], qy.RawVector().Data)
	}
	other.rebuild()
	return &other
}

// sameMessages compares two hauls, number by number, and
// returns the largest difference relative to the largest number of a frame.
func sameMessages(t *testing.T, a, b haul) (worst float64) {
	t.Helper()
	x, y := a.numbers, b.numbers
	if len(x) != len(y) || len(x) < 20 {
		t.Fatalf("%d and %d messages", len(x), len(y))
	}
	for i := range x {
		worst = max(worst, floats.Distance(x[i], y[i], math.Inf(1))/floats.Norm(x[i], math.Inf(1)))
	}
	return worst
}

// TestRowsNotDetermined: runs on Q X_t and Q y_t send the same as on X_t and y_t, for any
// rotation. Whatever is computed from the messages is the same for both, so that its error
// is at least half of their distance for one of them. With a codec that needs the same
// bits, signs do, in which case all bytes are the same.
func TestRowsNotDetermined(t *testing.T) {
	inFull(t)
	everyMethod(t, 12, func(t *testing.T, o difalt.Options) {
		for _, tasks := range []int{1, 4} {
			s := problemFor(tasks, 20, 12)
			rng := rand.New(rand.NewPCG(5, 5))
			v := spy(t, s, victim, o)
			signs := turned(s, rng, true)
			if w := spy(t, signs, victim, o); !slices.Equal(v.haul(t).bytes, w.haul(t).bytes) {
				t.Errorf("%d tasks: bytes depend on the signs of rows", tasks)
			}
			other := turned(s, rng, false)
			if o.Agreement.Codec == consensus.None {
				if e := sameMessages(t, v.haul(t), spy(t, other, victim, o).haul(t)); e > 1e-7 {
					t.Errorf("%d tasks: messages on rotated rows differ by %.1e", tasks, e)
				}
			}
			for task, x := range s.x[victim] {
				ys := [2]*mat.VecDense{mat.NewVecDense(20, s.y[victim][task]), mat.NewVecDense(20, other.y[victim][task])}
				if e := relative(other.x[victim][task], x) / 2; e < 0.5 {
					t.Errorf("rows are determined to %.2f", e)
				}
				if e := relative(ys[1], ys[0]) / 2; e < 0.5 {
					t.Errorf("responses are determined to %.2f", e)
				}
			}
			leaky, others := v.haul(t), spy(t, signs, victim, o).haul(t)
			leaky.numbers = append(leaky.numbers, slices.Concat(s.x[victim][0].RawRowView(0), s.y[victim][0]))
			others.numbers = append(others.numbers, slices.Concat(signs.x[victim][0].RawRowView(0), signs.y[victim][0]))
			if sameMessages(t, leaky, others) < 0.1 {
				t.Error("a row that is sent makes no difference")
			}
		}
	})
}

// TestTasksNotDetermined: tasks with the same X whose responses are mixed by a rotation
// send the same, so that no attack tells their coefficients: B and B Q have one B B'.
func TestTasksNotDetermined(t *testing.T) {
	for _, method := range difalt.Methods() {
		for _, tasks := range []int{2, 4} {
			s := problemFor(tasks, 20, 12)
			y := mat.NewDense(20, tasks, nil)
			for task := range tasks {
				s.x[victim][task] = s.x[victim][0]
				y.SetCol(task, s.y[victim][task])
			}
			s.rebuild()
			other := turned(s, rand.New(rand.NewPCG(5, 5)), true) // a copy
			var mixed mat.Dense
			mixed.Mul(y, orthonormal(normal(rand.New(rand.NewPCG(6, 6)), tasks, tasks)))
			for task := range tasks {
				other.x[victim][task] = s.x[victim][0]
				other.y[victim][task] = mat.Col(nil, task, &mixed)
			}
			other.rebuild()
			o := spyOptions(method, "none", 12)
			v, w := spy(t, s, victim, o), spy(t, other, victim, o)
			if e := sameMessages(t, v.haul(t), w.haul(t)); e > 1e-7 {
				t.Errorf("%v: messages on mixed tasks differ by %.1e", method, e)
			}
			if e := floats.Distance(v.result.B[0], w.result.B[0], 2) / floats.Norm(v.result.B[0], 2); e < 0.2 {
				t.Errorf("%v: the coefficients differ only by %.1e", method, e)
			}
		}
	}
}
