package minimum

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// together adds rows of the nodes of one process.
type together struct{}

func (together) Hosted() []int { return []int{0, 1} }

func (together) Sum(_ context.Context, rows [][]float64) error {
	for _, row := range rows[1:] {
		floats.Add(rows[0], row)
	}
	for _, row := range rows[1:] {
		copy(row, rows[0])
	}
	return nil
}

// setting has tasks of two nodes, y = X (b_1 e_1 + size_t b_2 e_2) + noise, and U = [e_1 e_2].
func setting(n int, size func(task int) float64,
	noise float64) (tasks []*kernel.Tasks, u []*kernel.Basis, xs [][]*mat.Dense) {
	const d, perNode = 6, 12
	rng := rand.New(rand.NewPCG(5, 6))
	for node := range 2 {
		rows := make([]int, perNode)
		for t := range rows {
			rows[t] = n
		}
		b := kernel.NewBuilder(d, rows, kernel.Float64)
		var dense []*mat.Dense
		for t := range perNode {
			x, y := mat.NewDense(n, d, nil), make([]float64, n)
			b1, b2 := rng.NormFloat64(), size(node*perNode+t)*rng.NormFloat64()
			for i := range y {
				for j := range d {
					x.Set(i, j, rng.NormFloat64())
				}
				y[i] = b1*x.At(i, 0) + b2*x.At(i, 1) + noise*rng.NormFloat64()
				b.SetRow(t, i, x.RawRowView(i), y[i])
			}
			dense = append(dense, x)
		}
		basis := kernel.NewBasis(d, 2)
		basis.Col(0)[0], basis.Col(1)[1] = 1, 1
		tasks, u, xs = append(tasks, b.Tasks()), append(u, basis), append(xs, dense)
	}
	return tasks, u, xs
}

// A reference holds the numbers of an Outcome, computed from dense matrices by their definitions.
type reference struct {
	singular             []float64
	weakest, next, share float64
}

func referenceOf(tasks []*kernel.Tasks, xs [][]*mat.Dense, ridge float64) reference {
	const r = 2
	_, d := xs[0][0].Dims()
	p, outer := mat.NewSymDense(r, nil), mat.NewSymDense(d, nil)
	var bs []*mat.VecDense
	var inverses []*mat.Dense
	var objective, squares, samples, count float64
	for i, k := range tasks {
		for t := range k.Len() {
			x, y := xs[i][t], mat.NewVecDense(k.Samples(t), k.Y(t))
			a := x.Slice(0, k.Samples(t), 0, r)
			var gram, inverse mat.Dense
			var rhs, b, e, back mat.VecDense
			gram.Mul(a.T(), a)
			plain := mat.DenseCopyOf(&gram)
			for j := range r {
				gram.Set(j, j, gram.At(j, j)+ridge)
			}
			rhs.MulVec(a.T(), y)
			_ = b.SolveVec(&gram, &rhs)
			e.MulVec(a, &b)
			e.SubVec(y, &e)
			back.MulVec(x.T(), &e)
			outer.SymRankOne(outer, 1, &back)
			p.SymRankOne(p, 1, &b)
			// The energy of a direction is |b|^2 over the variance of its estimate, (G + ridge)^-1 G (G +
			// ridge)^-1.
			var g mat.Dense
			_ = g.Inverse(&gram)
			inverse.Product(&g, plain, &g)
			bs, inverses = append(bs, &b), append(inverses, &inverse)
			objective += mat.Dot(&e, &e) + ridge*mat.Dot(&b, &b)
			squares += mat.Dot(flat(x), flat(x))
			samples, count = samples+float64(k.Samples(t)), count+1
		}
	}
	var eig, strongest mat.EigenSym
	eig.Factorize(p, true)
	strongest.Factorize(outer, true)
	var axes mat.Dense
	eig.VectorsTo(&axes)
	out := reference{weakest: math.Inf(1)}
	perTask := samples / count
	for a, v := range eig.Values(nil) {
		out.singular = append(out.singular, math.Sqrt(v))
		q := axes.ColView(a)
		var energy, second, fourth float64
		for t, b := range bs {
			c := mat.Dot(q, b)
			energy += c * c / mat.Inner(q, inverses[t], q)
			second, fourth = second+c*c, fourth+c*c*c*c
		}
		out.weakest = min(out.weakest, energy)
		out.share = max(out.share, float64(d)*fourth/(second*second)/(perTask-r))
	}
	edge := objective / (samples - count*r - float64(d)*r) * math.Pow(math.Sqrt(float64(d))+math.Sqrt(count), 2)
	out.weakest /= edge
	out.next = strongest.Values(nil)[d-1] / (perTask * squares / (samples * float64(d)) * edge)
	return out
}

func flat(x *mat.Dense) mat.Vector {
	raw := x.RawMatrix()
	return mat.NewVecDense(len(raw.Data), raw.Data)
}

// TestCheck compares the numbers of suspicious points with their definitions, and the verdicts with how the
// data were made.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		size  func(task int) float64
		noise float64
		ridge float64
		want  Verdict
	}{
		{"determined", 14, func(int) float64 { return 1 }, .5, 0, Minimum},
		{"determined, with a ridge", 14, func(int) float64 { return 1 }, .5, 2, Minimum},
		{"a direction of noise beside a better one", 14, func(int) float64 { return 0 }, .5, 0, Saddle},
		{"one task", 7, func(t int) float64 { return 40 * max(0, float64(1-t)) }, .1, 0, Undetermined},
	} {
		t.Run(c.name, func(t *testing.T) {
			tasks, u, xs := setting(c.n, c.size, c.noise)
			got, err := Check(t.Context(), together{}, tasks, u, Options{Ridge: c.ridge, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			want := referenceOf(tasks, xs, c.ridge)
			if got.Verdict != c.want || (got.U != nil) != (got.Verdict == Saddle) {
				t.Errorf("verdict %d, want %d: %+v", got.Verdict, c.want, got)
			}
			for _, v := range []struct {
				name                string
				got, want, relative float64
			}{
				{"smallest singular value", got.SingularValues[0], want.singular[0], 1e-10},
				{"largest singular value", got.SingularValues[1], want.singular[1], 1e-10},
				{"WeakestDirection", got.WeakestDirection, want.weakest, 1e-10},
				{"ParametersPerSample", got.ParametersPerSample, want.share, 1e-10},
				{"NextDirection", got.NextDirection, want.next, .03}, // four power iterations
			} {
				if !(math.Abs(v.got/v.want-1) <= v.relative) {
					t.Errorf("%s is %v, want %v", v.name, v.got, v.want)
				}
			}
		})
	}
	plain, u, _ := setting(7, func(int) float64 { return 1 }, .1)
	if s, err := Check(t.Context(), together{}, plain, u, Options{}); err != nil || s.Verdict != Minimum ||
		!math.IsNaN(s.WeakestDirection) {
		t.Errorf("nothing is suspicious: %+v, %v", s, err)
	}
	exactly, u, _ := setting(14, func(int) float64 { return 1 }, 0)
	if s, err := Check(t.Context(), together{}, exactly, u, Options{}); err != nil || s.Verdict != Minimum ||
		!math.IsNaN(s.WeakestDirection) || s.StatisticalError != 0 {
		t.Errorf("without noise: %+v, %v", s, err)
	}
}

// TestTilt compares the angle between a direction that stands out of noise and its estimate with drawn
// matrices, and with the eigenvalue that a known angle makes.
func TestTilt(t *testing.T) {
	const d, count, trials = 60, 120, 30
	rng := rand.New(rand.NewPCG(7, 8))
	k := &problem{data: sums.Data{Features: d, Tasks: count}}
	for _, theta := range []float64{1.5, 4} { // of the variance of the noise
		var lambda, sine float64
		for range trials {
			c := mat.NewDense(d, count, nil)
			for t := range count {
				a := math.Sqrt(theta) * rng.NormFloat64()
				for j := range d {
					c.Set(j, t, rng.NormFloat64())
				}
				c.Set(0, t, c.At(0, t)+a)
			}
			var s mat.SVD
			s.Factorize(c, mat.SVDThin)
			var v mat.Dense
			s.UTo(&v)
			lambda += math.Pow(s.Values(nil)[0], 2) / count / trials
			sine += math.Sqrt(max(0, 1-v.At(0, 0)*v.At(0, 0))) / trials
		}
		edge := math.Pow(1+math.Sqrt(d/float64(count)), 2)
		if got := k.tilt(lambda / edge); !(math.Abs(got/sine-1) < .08) {
			t.Errorf("theta %v: the sine is %.3f, drawn %.3f", theta, got, sine)
		}
	}
	const ratio = d / float64(count)
	for _, theta := range []float64{.8, 2, 30} {
		lambda, edge := (1+theta)*(1+ratio/theta), math.Pow(1+math.Sqrt(ratio), 2)
		want := math.Sqrt(1 - (1-ratio/(theta*theta))/(1+ratio/theta))
		if got := k.tilt(lambda / edge); !(math.Abs(got-want) < 1e-12) {
			t.Errorf("theta %v: the sine is %v, want %v", theta, got, want)
		}
	}
	for _, weakest := range []float64{0, .5, 1} {
		if got := k.tilt(weakest); got < 1-1e-6 {
			t.Errorf("a direction of %v times the noise has the sine %v, want 1", weakest, got)
		}
	}
}
