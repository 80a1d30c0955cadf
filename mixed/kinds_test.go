package mixed

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// flags returns a table of columns of 0 and 1 with a target of 0 and 1; all depend on one another.
func flags(seed uint64, name string, columns int, rows ...int) *Data {
	r := rand.New(rand.NewPCG(seed, 111))
	d := drawn(seed, name, columns, rows...)
	for i := range d.Targets {
		z := r.Float64()
		draw := func() float64 {
			if r.Float64() < .2+.6*z {
				return 1
			}
			return 0
		}
		for j := range d.Values {
			d.Values[j][i] = draw()
		}
		d.Targets[i] = draw()
	}
	return d
}

// kindsOf returns the numbers of rows of every kind: bit j is column j, and the last one the target.
func kindsOf(d *Data) []int {
	counts := make([]int, 2<<len(d.Values))
	for i, y := range d.Targets {
		kind := int(y) << len(d.Values)
		for j := range d.Values {
			kind |= int(d.Values[j][i]) << j
		}
		counts[kind]++
	}
	return counts
}

// sumsOfFlags returns the sums of products of columns and target of others, as they are, and their rows: from
// X'X and from the optimum of pooled ridge.
func sumsOfFlags(f *fitter, heard []heardTotal, own *Data) (sums [][]float64, rows float64) {
	d, p := f.plain.design, f.plain.p
	g := make([]float64, p*p)
	dense.Unpack(g, p, totalsOf(heard, "X'X")[0].others())
	dense.Mirror(p, g)
	pooled := f.baselines[0]
	xy, x, read := slices.Clone(pooled.m.h), make([]float64, p), f.rows.reader()
	floats.Scale(pooled.q.noise, xy)
	for i := range own.Rows() {
		d.Apply(x, read(i))
		floats.AddScaled(xy, -f.rows.standardized(i, false), x)
	}
	raw := func(i, j int) float64 {
		return d.Scale[i]*d.Scale[j]*g[(1+i)*p+1+j] + d.Scale[i]*d.Center[j]*g[1+i] + d.Center[i]*d.Scale[j]*g[1+j] +
			d.Center[i]*d.Center[j]*g[0]
	}
	y := f.rows.target
	for i := range p - 1 {
		var line []float64
		for j := range p - 1 {
			line = append(line, raw(i, j))
		}
		with := y.Scale*(d.Scale[i]*xy[1+i]+d.Center[i]*xy[0]) + y.Center*(d.Scale[i]*g[1+i]+d.Center[i]*g[0])
		sums = append(sums, append(line, with))
	}
	last := []float64{}
	for i := range p - 1 {
		last = append(last, sums[i][p-1])
	}
	sums = append(sums, append(last, y.Scale*xy[0]+y.Center*g[0]))
	return sums, g[0]
}

// A flagReader goes through all tables whose sums of products are those heard.
type flagReader struct {
	columns, tables int
	left            [][]int // rows left with a column, and with two
	now, least      []int
	free            []int // kinds of three ones and more, which determine the others
}

// newFlagReader returns a reader for sums and a number of rows.
func newFlagReader(sums [][]float64, rows float64) *flagReader {
	r := &flagReader{columns: len(sums), now: make([]int, 1<<len(sums))}
	for _, line := range sums {
		var list []int
		for _, v := range line {
			list = append(list, int(math.Round(v)))
		}
		r.left = append(r.left, list)
	}
	r.least = slices.Repeat([]int{int(math.Round(rows))}, len(r.now))
	for kind := range r.now {
		if bits.OnesCount(uint(kind)) > 2 {
			r.free = append(r.free, kind)
		}
	}
	return r
}

// put adds rows of a kind to the table.
func (r *flagReader) put(kind, n int) {
	r.now[kind] += n
	for i := range r.left {
		for j := range r.left {
			if kind>>i&1 == 1 && kind>>j&1 == 1 {
				r.left[i][j] -= n
			}
		}
	}
}

// read goes through the numbers of rows of the free kinds from one on. rows are those that are left.
func (r *flagReader) read(at, rows int) {
	if at < len(r.free) {
		kind, n := r.free[at], 0
		for possible := true; possible; n++ {
			r.read(at+1, rows-n)
			r.put(kind, 1)
			for i := range r.left {
				for j := range r.left {
					possible = possible && r.left[i][j] >= 0
				}
			}
		}
		r.put(kind, -n)
		return
	}
	var put [][2]int
	for i := range r.left {
		alone := r.left[i][i]
		for j := range r.left {
			if j != i {
				alone -= r.left[i][j]
			}
			if j > i {
				put = append(put, [2]int{1<<i | 1<<j, r.left[i][j]})
			}
		}
		put = append(put, [2]int{1 << i, alone})
	}
	none := rows
	for _, p := range put {
		if none -= p[1]; p[1] < 0 {
			return
		}
	}
	if none < 0 {
		return
	}
	r.tables++
	for kind := range r.now {
		n := r.now[kind]
		if kind == 0 {
			n = none
		}
		for _, p := range put {
			if p[0] == kind {
				n = p[1]
			}
		}
		r.least[kind] = min(r.least[kind], n)
	}
}

// Sums of products of 0 and 1 count rows. Where all columns and the target are of that kind, few tables have
// the sums that a listener hears, and rows that no more than one other equals are in all of them. The rules
// leave these rows out.
func TestRowsOfFlags(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		o.NoCurves = true
		read, asked, trained := 0, 0, 0
		for _, columns := range []int{2, 3} {
			for _, rows := range []int{14, 20, 30, 45} {
				for seed := range uint64(4) {
					victim, own := flags(1000*seed+uint64(rows), "v", columns, rows), flags(7, "a", columns, 60, 60)
					f, heard := listen(t, victim, own, o)
					truth := kindsOf(victim)
					for _, n := range truth {
						if n < rareKind {
							asked += n
						}
					}
					if f.plain == nil || len(f.baselines) == 0 || f.plain.p != 1+columns {
						continue
					}
					trained++
					r := newFlagReader(sumsOfFlags(f, heard, own))
					r.read(0, r.least[0])
					check.FailIf(t, r.tables == 0, "%d columns, %d rows, rules %v: no table has the sums", columns,
						rows, rules)
					for kind, n := range r.least {
						if truth[kind] < rareKind {
							read += min(n, truth[kind])
						}
					}
				}
			}
		}
		t.Logf("rules %v: %d trainings, %d of %d rows are read", rules, trained, read, asked)
		check.FailIf(t, trained < 10 || rules && read > 0 || !rules && 8*read < asked,
			"rules %v: %d trainings, %d of %d rows are read", rules, trained, read, asked)
	}
}

// Somebody who knows the sums of products of every task, as members may in tables of few tasks, reads no row
// of a task of flags either.
func TestRowsOfTasksOfFlags(t *testing.T) {
	for rules, o := range map[bool]Options{false: open, true: {}} {
		o.NoCurves = true
		read, rows := 0, 0
		for seed := range uint64(6) {
			list := []Input{{Table: flags(seed, "v", 3, 16, 24, 40, 40)}, {Table: flags(7, "a", 3, 60, 60)}}
			fits, _ := describeTogether(t, list, o)
			own := fits[0].rows
			for _, k := range own.list {
				task := flags(1, "", 3)
				for _, i := range own.of(k) {
					d := list[0].Table.(*Data)
					check.Done(task.Append("t", d.Targets[i], d.Values[0][i], d.Values[1][i], d.Values[2][i]))
				}
				rows += task.Rows()
				truth, sums := kindsOf(task), make([][]float64, 4)
				for i := range sums {
					sums[i] = make([]float64, 4)
					for j := range sums[i] {
						for kind, n := range truth {
							sums[i][j] += float64(n * (kind >> i & 1) * (kind >> j & 1))
						}
					}
				}
				r := newFlagReader(sums, float64(task.Rows()))
				r.read(0, task.Rows())
				for kind, n := range r.least {
					if truth[kind] < rareKind {
						read += min(n, truth[kind])
					}
				}
			}
		}
		t.Logf("rules %v: %d of %d rows are read", rules, read, rows)
		check.FailIf(t, rows < 300 || rules && read > 0 || !rules && read < 15,
			"rules %v: %d of %d rows are read", rules, read, rows)
	}
}
