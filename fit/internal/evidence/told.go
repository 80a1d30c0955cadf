package evidence

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A saying is a point at which nodes have told the sums of the evidence, as far as these depend on it.
type saying struct {
	covariance, mean, meanCovariance *mat.Dense
	noise                            float64
}

// Statistics is the number of the statistics of a task: entries of Z'Z, Z'y, and y'y.
func Statistics(w int) int { return w*(w+1)/2 + w + 1 }

// mostStatistics is how many of them are looked at; of more a part, and the same part of the sums: that finds rather more
// than all would.
const mostStatistics = 1000

// Countable reports whether Determined can count the statistics of tasks of w numbers a row: those of two tasks at least.
func Countable(w int) bool { return 2*Statistics(w) <= mostStatistics }

// Determined returns how many statistics of so many tasks of other nodes what was told of the rows determines to a tenth of what they differ
// by between tasks, if an attacker knows all else and starts near enough: directions of the Jacobian of all sums that stand out of the
// dither. The tasks of hosted node g stand in for those of others: rows drawn from them.
// The statistics must be Countable.
func (r *Rows) Determined(g, tasks int, seed uint64) int {
	w := r.Width
	most := mostStatistics / Statistics(w)
	part := min(float64(most)/float64(tasks), 1)
	draw := rand.New(rand.NewPCG(seed, 77))
	others := r.standIns(g, min(tasks, most), draw)
	if others == nil {
		return 0
	}
	size := make([]float64, Statistics(w))
	spreads(others, func(t *statistics, out []float64) { t.pack(out) }, size)
	n := len(others) * len(size)
	// All moments, as they are.
	moments := mat.NewDense(len(size), n, nil)
	for k := range n {
		moments.Set(k%len(size), k, 1e6)
	}
	seen := mat.NewSymDense(n, nil) // J'J, less 100 of the unit matrix: what is positive is known to a tenth
	for k := range n {
		seen.SetSym(k, k, -100)
	}
	add := func(j *mat.Dense) {
		all, _ := j.Dims()
		kept := 0
		for i := range all {
			if draw.Float64() < part {
				j.SetRow(kept, j.RawRowView(i))
				kept++
			}
		}
		if kept > 0 {
			blas64.Syrk(blas.Trans, 1, j.Slice(0, kept, 0, n).(*mat.Dense).RawMatrix(), 1, seen.RawSymmetric())
		}
	}
	add(moments)
	for _, s := range *r.sayings {
		add(s.jacobian(others, size, r.group.DitherOfOthers()))
	}
	return positive(seen.RawSymmetric()) * tasks / len(others)
}

// positive returns how many eigenvalues of a symmetric matrix are positive: as many as pivots (Sylvester). It overwrites the matrix.
func positive(a blas64.Symmetric) (count int) {
	for k := range a.N {
		row := a.Data[k*a.Stride:][k:a.N]
		pivot := row[0]
		if pivot > 0 {
			count++
		}
		if pivot == 0 {
			continue
		}
		for i, v := range row[1:] {
			if v != 0 {
				floats.AddScaled(a.Data[(k+1+i)*a.Stride:][k+1+i:a.N], -v/pivot, row[1+i:])
			}
		}
	}
	return count
}

// statistics are those of a task.
type statistics struct {
	a  *mat.Dense
	b  *mat.VecDense
	yy float64
}

// pack sets out to the numbers.
func (t *statistics) pack(out []float64) {
	w := t.b.Len()
	n := 0
	for i := range w {
		n += copy(out[n:], t.a.RawRowView(i)[i:])
	}
	n += copy(out[n:], t.b.RawVector().Data)
	out[n] = t.yy
}

// standIns returns the statistics of tasks made of rows of those of a node.
func (r *Rows) standIns(g, tasks int, draw *rand.Rand) (out []*statistics) {
	w := r.Width
	own := r.Tasks[g]
	for range tasks {
		if len(own) == 0 {
			return nil
		}
		model := &own[draw.IntN(len(own))] // for its number of rows
		t := &statistics{a: mat.NewDense(w, w, nil), b: mat.NewVecDense(w, nil)}
		for range len(model.Y) {
			from := &own[draw.IntN(len(own))]
			if len(from.Y) == 0 {
				continue
			}
			i := draw.IntN(len(from.Y))
			sign := float64(1 - 2*draw.IntN(2))
			z := mat.NewVecDense(w, nil)
			z.ScaleVec(sign, mat.NewVecDense(w, from.Z[i*w:][:w]))
			t.a.RankOne(t.a, 1, z, z)
			t.b.AddScaledVec(t.b, sign*from.Y[i], z)
			t.yy += from.Y[i] * from.Y[i]
		}
		out = append(out, t)
	}
	return out
}

// spreads sets out to what numbers differ by between tasks, and at least a tenth of their mean.
func spreads(tasks []*statistics, of func(t *statistics, out []float64), out []float64) {
	sum, squares, one := make([]float64, len(out)), make([]float64, len(out)), make([]float64, len(out))
	for _, t := range tasks {
		of(t, one)
		for k, v := range one {
			sum[k] += v
			squares[k] += v * v
		}
	}
	n := float64(len(tasks))
	for k := range out {
		mean := sum[k] / n
		out[k] = math.Max(math.Sqrt(math.Max(squares[k]-sum[k]*mean, 0)/math.Max(n-1, 1)+mean*mean/100), 1e-12)
	}
}

// sums sets out to what a task adds to the sums at a point, in the order of pointSums and the slope.
func (s *saying) sums(t *statistics, out []float64) {
	w := t.b.Len()
	k, gram, zy := s.seen(t)
	n := 0
	for i := range w {
		n += copy(out[n:], gram.RawRowView(i)[i:])
	}
	n += copy(out[n:], zy.RawVector().Data)
	sz := new(mat.VecDense)
	sz.MulVec(s.covariance, t.b)
	out[n] = t.yy - mat.Dot(sz, zy)
	det, _ := mat.LogDet(k)
	out[n+1] = -det
	n += 2
	slope := s.slope(gram, s.gradient(gram, zy))
	for i := range w {
		n += copy(out[n:], slope.RawRowView(i)[i:])
	}
}

// seen returns (I + S A)^-1, and Z'V^-1 Z and Z'V^-1 y of a task.
func (s *saying) seen(t *statistics) (k, gram *mat.Dense, zy *mat.VecDense) {
	w := t.b.Len()
	k, gram, zy = new(mat.Dense), new(mat.Dense), new(mat.VecDense)
	k.Mul(s.covariance, t.a)
	for i := range w {
		k.Set(i, i, k.At(i, i)+1)
	}
	if k.Inverse(k) != nil {
		k.Zero()
	}
	gram.Mul(t.a, k)
	zy.MulVec(k.T(), t.b)
	return k, gram, zy
}

func (s *saying) gradient(gram *mat.Dense, zy *mat.VecDense) *mat.VecDense {
	g := new(mat.VecDense)
	g.MulVec(gram, s.mean.ColView(0))
	g.SubVec(zy, g)
	return g
}

// slope returns A - A C A - g g' / noise.
func (s *saying) slope(gram *mat.Dense, g *mat.VecDense) *mat.Dense {
	out := new(mat.Dense)
	out.Product(gram, s.meanCovariance, gram)
	out.Sub(gram, out)
	out.RankOne(out, -1/s.noise, g, g)
	return out
}

// jacobian returns the derivatives of the sums by the statistics of tasks, over the dither of the former and in units of the size
// of the latter.
func (s *saying) jacobian(tasks []*statistics, size []float64, dither float64) *mat.Dense {
	w := tasks[0].b.Len()
	rows := w*(w+1) + w + 2
	noise := make([]float64, rows)
	spreads(tasks, s.sums, noise)
	floats.Scale(dither, noise)
	out := mat.NewDense(rows, len(tasks)*len(size), nil)
	here, there, v := make([]float64, rows), make([]float64, rows), make([]float64, len(size))
	for at, t := range tasks {
		s.sums(t, here)
		t.pack(v)
		for k := range size {
			const step = 1e-5 // of a size: four or five digits of a derivative are plenty
			at, was := at*len(size)+k, v[k]
			v[k] += step * size[k]
			s.sums(unpacked(v, w), there)
			v[k] = was
			for i := range rows {
				out.Set(i, at, (there[i]-here[i])/(step*noise[i]))
			}
		}
	}
	return out
}

func unpacked(v []float64, w int) *statistics {
	t := &statistics{a: mat.NewDense(w, w, nil), b: mat.NewVecDense(w, nil)}
	for i := range w {
		for j := i; j < w; j++ {
			t.a.Set(i, j, v[0])
			t.a.Set(j, i, v[0])
			v = v[1:]
		}
	}
	copy(t.b.RawVector().Data, v[:w])
	t.yy = v[w]
	return t
}

func newSaying(pt *Point) saying {
	w := pt.W
	return saying{
		covariance: mat.NewDense(w, w, pt.Covariance()), mean: mat.NewDense(w, 1, append([]float64(nil), pt.Mean...)),
		meanCovariance: mat.NewDense(w, w, append([]float64(nil), pt.MeanCovariance...)), noise: pt.Noise,
	}
}
