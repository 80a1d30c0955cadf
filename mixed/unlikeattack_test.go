package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// flagsOf returns a table of a flag, with tasks of equal size in which so many rows have the flag.
func flagsOf(seed uint64, name string, size int, having []int) *Data {
	r := rand.New(rand.NewPCG(seed, 41))
	d := &Data{Names: []string{"flag"}}
	for k, flags := range having {
		level, effect := r.NormFloat64(), 1+r.NormFloat64()
		for i := range size {
			flag := 0.0
			if i < flags {
				flag = 1
			}
			y := math.Round(10*(level+effect*flag+r.NormFloat64())) / 10
			check.Done(d.Append(fmt.Sprint(name, k), y, flag))
		}
	}
	return d
}

// A countedTasks reads sums over the tasks of a kind, which have equal numbers of rows with a flag, from the
// totals of two strengths and more. All tasks have one size, which the reader knows.
type countedTasks struct {
	f     *fitter
	heard []evaluationHeard // without the rows of the readers
	size  int
}

// solved returns the inverse of noise I + G D for a task with products G: 1, the flag, and its square.
func (e *evaluationHeard) solved(rows, sum, squares float64) *mat.Dense {
	v := mat.NewDense(2, 2, []float64{e.noise + rows*square(e.deviations[0]), sum * square(e.deviations[1]),
		sum * square(e.deviations[0]), e.noise + squares*square(e.deviations[1])})
	check.Done(v.Inverse(v))
	return v
}

// without takes the rows of a reader out of all totals.
func (c *countedTasks) without(own *Data) {
	for i := range c.heard {
		e := &c.heard[i]
		for k := range own.TaskNames {
			var g [5]float64 // 1, z, z^2, y, z y
			for row := range own.Rows() {
				if own.TaskOf[row] == k {
					z := (own.Values[0][row] - c.f.plain.design.Center[0]) / c.f.plain.design.Scale[0]
					y := c.f.rows.target.Standardize(own.Targets[row])
					floats.Add(g[:], []float64{1, z, z * z, y, z * y})
				}
			}
			s := e.solved(g[0], g[1], g[2])
			floats.Sub(e.sums, []float64{
				s.At(0, 0)*g[0] + s.At(0, 1)*g[1], s.At(0, 0)*g[1] + s.At(0, 1)*g[2],
				s.At(1, 0)*g[1] + s.At(1, 1)*g[2],
				s.At(0, 0)*g[3] + s.At(0, 1)*g[4], s.At(1, 0)*g[3] + s.At(1, 1)*g[4],
			})
		}
	}
}

// products returns the sums of 1, of the standardised flag, and of its square over the rows of a task, some
// of which have the flag.
func (c *countedTasks) products(flags int) (rows, sum, squares float64) {
	d := c.f.plain.design
	off, on, k, n := -d.Center[0]/d.Scale[0], (1-d.Center[0])/d.Scale[0], float64(flags), float64(c.size)
	return n, (n-k)*off + k*on, (n-k)*off*off + k*on*on
}

// counts returns how many tasks have each number of flags, up to a number; nil where reduction finds none.
func (c *countedTasks) counts(most int) []float64 {
	const digits = 38
	var functions [][]float64
	var sums []float64
	for i := range c.heard {
		sums = append(sums, c.heard[i].sums[:3]...)
	}
	for flags := range most + 1 {
		var row []float64
		for i := range c.heard {
			n, sum, squares := c.products(flags)
			s := c.heard[i].solved(n, sum, squares)
			row = append(row, s.At(0, 0)*n+s.At(0, 1)*sum, s.At(0, 0)*sum+s.At(0, 1)*squares,
				s.At(1, 0)*sum+s.At(1, 1)*squares)
		}
		functions = append(functions, row)
	}
	return smallIntegers(functions, sums, make([]float64, len(functions)), digits)
}

// target returns the sum of the targets of the rows with the flag in the tasks with so many flags. counts
// says how many tasks have each number.
func (c *countedTasks) target(counts []float64, flags int) float64 {
	var kinds []int
	at := -1
	for k, n := range counts {
		if k == flags {
			at = len(kinds)
		}
		if n > 0 {
			kinds = append(kinds, k)
		}
	}
	a, b := mat.NewDense(2*len(c.heard), 2*len(kinds), nil), mat.NewVecDense(2*len(c.heard), nil)
	for i := range c.heard {
		for j, kind := range kinds {
			a.Slice(2*i, 2*i+2, 2*j, 2*j+2).(*mat.Dense).Copy(c.heard[i].solved(c.products(kind)))
		}
		b.SetVec(2*i, c.heard[i].sums[3])
		b.SetVec(2*i+1, c.heard[i].sums[4])
	}
	var svd mat.SVD
	svd.Factorize(a, mat.SVDThin)
	var x mat.VecDense
	svd.SolveVecTo(&x, b, svd.Rank(1e-13))
	d, target := c.f.plain.design, c.f.rows.target
	standard := d.Center[0]*x.AtVec(2*at) + d.Scale[0]*x.AtVec(2*at+1) // of the flag times the standardised target
	return counts[flags]*float64(flags)*target.Center + target.Scale*standard
}

// A member that only listens reads the row that is alone with a flag in its task, in tables of any number of
// tasks, where no other column varies within tasks. Owners that pool what they know are one such member.
func TestTasksByCounts(t *testing.T) {
	rank := 0
	for name, c := range map[string]struct {
		size, tasks, readers int
		others               []int // flags of all tasks but the first, in turn
	}{
		"12 tasks, two of three owners": {20, 12, 2, []int{10}},
		"25 tasks":                      {20, 25, 1, []int{10}},
		"25 tasks of two kinds":         {20, 25, 1, []int{3, 10}},
		"80 tasks":                      {20, 80, 1, []int{10}},
		"60 tasks of three rows":        {3, 60, 1, []int{0, 3}},
	} {
		for rules, o := range map[bool]Options{false: open, true: {}} {
			o.Rank, o.NoCurves, o.CommonNoise = &rank, true, true
			having := []int{1}
			for k := range c.tasks - 1 {
				having = append(having, c.others[k%len(c.others)])
			}
			victim := flagsOf(uint64(c.tasks), "v", c.size, having)
			var readers []*Data
			var partners []Input
			for k := range c.readers {
				own := flagsOf(uint64(7+k), fmt.Sprint("a", k), c.size, []int{1, 2, 1, 2, 1, 2, 1, 2})
				if readers = append(readers, own); k > 0 {
					partners = append(partners, Input{Table: own})
				}
			}
			f, heard := listenWith(t, []Input{{Table: victim}}, partners, Input{Table: readers[0]}, o)
			a := &countedTasks{f, evaluationsOf(heard), c.size}
			check.FailIf(t, f.plain == nil || f.plain.p != 2, "%s, rules %v: no training with the flag", name, rules)
			for _, own := range readers[1:] { // the first one's part is not in what others added
				a.without(own)
			}
			counts := a.counts(min(c.size, 12))
			got := math.NaN()
			if counts != nil && counts[1] == 1 {
				got = a.target(counts, 1)
			}
			t.Logf("%s, rules %v: %d evaluations, numbers of flags %v", name, rules, len(a.heard), counts)
			read := math.Abs(got-victim.Targets[0]) < .05
			check.FailIf(t, read == rules, "%s, rules %v: the row was read: %v", name, rules, read)
		}
	}
}
