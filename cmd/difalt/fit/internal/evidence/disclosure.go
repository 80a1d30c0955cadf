package evidence

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A release is a point at which nodes have told the sums of the evidence, as far as these depend on it.
type release struct {
	covariance, mean, meanCovariance *mat.Dense
	noise                            float64
	axes                             *axes
}

func newRelease(pt *Point) release {
	w := pt.W
	return release{
		covariance: mat.NewDense(w, w, pt.Covariance()), mean: mat.NewDense(w, 1, append([]float64(nil), pt.Mean...)),
		meanCovariance: mat.NewDense(w, w, append([]float64(nil), pt.MeanCovariance...)), noise: pt.Noise, axes: pt.axes,
	}
}

// Statistics is the number of the statistics of a task: entries of Z'Z, Z'y, and y'y.
func Statistics(w int) int { return w*(w+1)/2 + w + 1 }

// sumsOf is the number of the sums of a release: those of a point, and its slope.
func sumsOf(w int) int { return w*(w+1) + w + 2 }

// mostStatistics is how many of them are looked at, if these are of few tasks twice as many; of more a part, and the same part of the
// sums: that finds as many in that part, to some percent.
const mostStatistics, fewTasks = 1000, 4

// Countable reports whether Determined can count the statistics of tasks of w numbers a row: those of two tasks at least.
func Countable(w int) bool { return Statistics(w) <= mostStatistics }

// Determined returns how many statistics of so many tasks of other nodes what was told of the rows determines to a tenth of what they differ
// by between tasks, if an attacker knows all else and starts near enough: directions of the Jacobian of all sums that stand out of the
// dither. The tasks of hosted node g stand in for those of others: rows drawn from them.
// The statistics must be Countable.
func (r *Rows) Determined(g, tasks int, seed uint64) int {
	p := Statistics(r.Width)
	draw := rand.New(rand.NewPCG(seed, 77))
	others := r.standIns(g, min(tasks, max(mostStatistics/p, min(fewTasks, 2*mostStatistics/p))), draw)
	if others == nil {
		return 0
	}
	releases := r.released.releases
	size, noise := r.scales(releases, others)
	j, part := jacobian(releases, others, size, noise), float64(len(others))/float64(tasks)
	subtractMeans(j, p)
	return p + int(float64(above(keep(j, part, draw), 10))/part+0.5)
}

// subtractMeans leaves of every statistic of a Jacobian what tasks differ by: the sums of all p are told as they are.
func subtractMeans(j *mat.Dense, p int) {
	rows, sums := j.Dims()
	mean := make([]float64, sums)
	for first := range p {
		clear(mean)
		for k := first; k < rows; k += p {
			floats.AddScaled(mean, float64(p)/float64(rows), j.RawRowView(k))
		}
		for k := first; k < rows; k += p {
			floats.Sub(j.RawRowView(k), mean)
		}
	}
}

// keep returns a Jacobian of a part of the sums, each with that probability.
func keep(j *mat.Dense, part float64, draw *rand.Rand) *mat.Dense {
	rows, sums := j.Dims()
	var columns []float64
	for i := range sums {
		if draw.Float64() < part {
			columns = append(columns, mat.Col(nil, i, j)...)
		}
	}
	if columns == nil {
		return mat.NewDense(1, rows, nil)
	}
	return mat.NewDense(len(columns)/rows, rows, columns)
}

// above returns how many singular values are larger than a bound: as many eigenvalues of a Gram matrix are positive less its square.
func above(j *mat.Dense, bound float64) int {
	var gram mat.SymDense
	if rows, columns := j.Dims(); rows <= columns {
		gram.SymOuterK(1, j)
	} else {
		gram.SymOuterK(1, j.T())
	}
	for k := range gram.SymmetricDim() {
		gram.SetSym(k, k, gram.At(k, k)-bound*bound)
	}
	return positive(mat.DenseCopyOf(&gram))
}

// positive returns how many eigenvalues of a symmetric matrix are: those of a block and those of its Schur complement (Haynsworth 1968), which takes
// the place of the rest of the matrix.
func positive(a *mat.Dense) (count int) {
	const block = 64
	var e mat.EigenSym
	var q, along, over, change mat.Dense
	for n, _ := a.Dims(); ; n -= block {
		k := min(n, block)
		e.Factorize(symmetric(a.Slice(0, k, 0, k).(*mat.Dense)), true)
		values := e.Values(nil)
		for _, v := range values {
			if v > 0 {
				count++
			}
		}
		if k == n {
			return count
		}
		for _, m := range []*mat.Dense{&q, &along, &over, &change} {
			m.Reset()
		}
		e.VectorsTo(&q)
		along.Mul(q.T(), a.Slice(0, k, k, n))
		over.Apply(func(i, _ int, v float64) float64 { return v / values[i] }, &along)
		change.Mul(along.T(), &over)
		a = a.Slice(k, n, k, n).(*mat.Dense)
		a.Sub(a, &change)
	}
}

// statistics are those of a task.
type statistics struct {
	a  *mat.Dense
	b  *mat.VecDense
	yy float64
}

// pack sets out to the numbers.
func (t *statistics) pack(out []float64) {
	n := copyTriangle(out, t.a)
	n += copy(out[n:], t.b.RawVector().Data)
	out[n] = t.yy
}

// standIns returns the statistics of tasks made of rows of those of a node.
func (r *Rows) standIns(g, tasks int, draw *rand.Rand) (out []*statistics) {
	w := r.Width
	own := len(r.Tasks[g])
	for range tasks {
		if own == 0 {
			return nil
		}
		model := draw.IntN(own) // for its number of rows
		t := &statistics{a: mat.NewDense(w, w, nil), b: mat.NewVecDense(w, nil)}
		for range r.Len(g, model) {
			from, memory := r.Task(g, draw.IntN(own))
			if n := len(from.Y); n > 0 {
				i, sign := draw.IntN(n), float64(1-2*draw.IntN(2))
				z := mat.NewVecDense(w, nil)
				z.ScaleVec(sign, mat.NewVecDense(w, from.Z[i*w:][:w]))
				t.a.RankOne(t.a, 1, z, z)
				t.b.AddScaledVec(t.b, sign*from.Y[i], z)
				t.yy += from.Y[i] * from.Y[i]
			}
			memory.Put()
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
func (s *release) sums(t *statistics, out []float64) {
	k, gram, zy := s.seen(t)
	slope, sz := s.slope(gram, s.gradient(gram, zy)), new(mat.VecDense)
	sz.MulVec(s.covariance, t.b)
	rest := t.yy - mat.Dot(sz, zy)
	det, _ := mat.LogDet(k)
	s.axes.enter(gram)
	s.axes.enter(slope)
	s.axes.vector(zy.RawVector().Data)
	n := copyTriangle(out, gram)
	n += copy(out[n:], zy.RawVector().Data)
	out[n], out[n+1] = rest, -det
	copyTriangle(out[n+2:], slope)
}

// copyTriangle sets out to the upper triangle of a matrix, by rows, and returns its length.
func copyTriangle(out []float64, m *mat.Dense) (n int) {
	w, _ := m.Dims()
	for i := range w {
		n += copy(out[n:], m.RawRowView(i)[i:])
	}
	return n
}

// seen returns (I + S A)^-1, and Z'V^-1 Z and Z'V^-1 y of a task.
func (s *release) seen(t *statistics) (k, gram *mat.Dense, zy *mat.VecDense) {
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

func (s *release) gradient(gram *mat.Dense, zy *mat.VecDense) *mat.VecDense {
	g := new(mat.VecDense)
	g.MulVec(gram, s.mean.ColView(0))
	g.SubVec(zy, g)
	return g
}

// slope returns A - A C A - g g' / noise.
func (s *release) slope(gram *mat.Dense, g *mat.VecDense) *mat.Dense {
	out := new(mat.Dense)
	out.Product(gram, s.meanCovariance, gram)
	out.Sub(gram, out)
	out.RankOne(out, -1/s.noise, g, g)
	return out
}

// scales returns the sizes of statistics, and the dither of the sums of every release that a node does not make itself.
func (r *Rows) scales(releases []release, tasks []*statistics) (size []float64, noise [][]float64) {
	w := tasks[0].b.Len()
	l, share := newPointSums(w), math.Sqrt(1-1/float64(r.group.Len()))
	by := r.dither(l.coarse())
	size = make([]float64, Statistics(w))
	spreads(tasks, func(t *statistics, out []float64) { t.pack(out) }, size)
	for _, s := range releases {
		isMoment := mat.Norm(s.covariance, 1) == 0
		one := make([]float64, sumsOf(w))
		spreads(tasks, s.sums, one)
		for j := range one {
			switch {
			case by == nil:
				one[j] *= 1e-15 // of float64
			case isMoment && j < l.Len-1:
				one[j] *= 1e-6 // as it is, and no reason for larger numbers
			case j < l.Len-1: // but for failures
				one[j] *= share * by(j)
			default: // the slope
				one[j] *= share * by(0)
			}
		}
		noise = append(noise, one)
	}
	return size, noise
}

// jacobian returns the derivatives of the sums of releases by the statistics of tasks, a row each, over the dither of the former and in units of the
// size of the latter.
func jacobian(releases []release, tasks []*statistics, size []float64, noise [][]float64) *mat.Dense {
	p, sums := len(size), len(noise[0])
	j := mat.NewDense(p*len(tasks), sums*len(releases), nil)
	for at, t := range tasks {
		for n, s := range releases {
			row := func(k int) []float64 { return j.RawRowView(at*p + k)[n*sums:][:sums] }
			s.differentiate(t, row)
			for k, v := range size {
				floats.Div(row(k), noise[n])
				floats.Scale(v, row(k))
			}
		}
	}
	return j
}

// differentiate sets row(k), of zeros, to the derivatives of the sums of a task by its statistic k. With K = (I + S A)^-1 a
// change of A makes one of K' dA K in Z'V^-1 Z: where it is one of A_ij, products of rows i and j of K.
func (s *release) differentiate(t *statistics, row func(k int) []float64) {
	w := t.b.Len()
	inverse, gram, zy := s.seen(t)
	g := s.gradient(gram, zy)
	u, h, logDet, c := new(mat.VecDense), new(mat.VecDense), new(mat.Dense), new(mat.Dense)
	u.MulVec(s.covariance, zy)
	h.MulVec(inverse, s.mean.ColView(0))
	h.AddVec(h, u)
	logDet.Mul(inverse, s.covariance)
	c.Product(inverse, s.meanCovariance, gram) // rows K_i / 2 - K_i C G + h_i g' / noise
	c.Apply(func(i, j int, v float64) float64 { return inverse.At(i, j)/2 - v + h.AtVec(i)*g.AtVec(j)/s.noise }, c)
	s.axes.vector(g.RawVector().Data)
	copy(inverse.RawMatrix().Data, s.axes.rows(inverse.RawMatrix().Data, w))
	copy(c.RawMatrix().Data, s.axes.rows(c.RawMatrix().Data, w))
	triangle := w * (w + 1) / 2
	n := 0
	for i := range w {
		for j := i; j < w; j++ {
			out, times := row(n), 1.0
			if n++; i == j { // one entry, not two
				times = 0.5
			}
			ki, kj := inverse.RawRowView(i), inverse.RawRowView(j)
			addProducts(out, times, ki, kj)
			zy, rest := out[triangle:][:w], out[triangle+w:]
			floats.AddScaled(zy, -times*u.AtVec(j), ki)
			floats.AddScaled(zy, -times*u.AtVec(i), kj)
			rest[0], rest[1] = times*2*u.AtVec(i)*u.AtVec(j), times*2*logDet.At(i, j)
			addProducts(rest[2:], times, ki, c.RawRowView(j))
			addProducts(rest[2:], times, kj, c.RawRowView(i))
		}
	}
	for i := range w {
		out := row(n + i)
		copy(out[triangle:], inverse.RawRowView(i))
		out[triangle+w] = -2 * u.AtVec(i)
		addProducts(out[triangle+w+2:], -1/s.noise, inverse.RawRowView(i), g.RawVector().Data)
	}
	row(n + w)[triangle+w] = 1
}

// addProducts adds the upper triangle of x y' + y x', by rows.
func addProducts(sum []float64, times float64, x, y []float64) {
	for i := range x {
		n := len(x) - i
		floats.AddScaled(sum[:n], times*x[i], y[i:])
		floats.AddScaled(sum[:n], times*y[i], x[i:])
		sum = sum[n:]
	}
}
