package mixed

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	// departs is the least size of a combination of columns, whose largest part is 1, in a row that breaks
	// it.
	departs = 1e-5
	// missedOnce is the chance at most that a combination which few rows break is not found. At least
	// leastSamples are taken, since rows may be such that the chance of one is less than it is for most.
	missedOnce                = 1e-3
	leastSamples, mostSamples = 8, 600
	// spanned is the share of its length that a row has at most beside the rows that it follows from.
	spanned = 1e-6
)

// departing returns the rows, fewer than least, that break a combination of columns: it is 0 in all other
// rows. f is the factor of the weighted products; nil: it finds none.
//
// A sample is a basis of the rows: the first ones of a random order that do not follow from earlier ones. For
// each of them there is the combination that is 1 in it and 0 in the others of the basis. If one row of the
// basis breaks a combination, it is that one. Words of few letters in linear codes are found in this way, by
// information sets.
func (m *matrix) departing(ctx context.Context, f *factor, least int) ([]int, error) {
	samples := samplesOf(len(f.pivots), m.rows, least)
	if samples == 0 {
		return nil, nil
	}
	b := newRowBasis(m, f, least)
	for range samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.draw()
		if list := m.firstDeparture(f, b.open(), least); list != nil {
			return list, nil
		}
	}
	return nil, nil
}

// samplesOf returns the number of samples of a rank that miss fewer rows than least once in a thousand times:
// a sample finds them if at most one of them is among as many rows as the rank, the first ones.
func samplesOf(rank, rows, least int) int {
	if least < 2 || rank == 0 || rank >= rows {
		return 0
	}
	share, few := float64(rank)/float64(rows), float64(least-1)
	others := rounded.Exp(float64((few - 1) * rounded.Log1p(-share)))
	found := float64(others * (1 + float64((few-1)*share)))
	samples := math.Ceil(rounded.Log(missedOnce) / rounded.Log1p(-min(found, 1-missedOnce)))
	return int(min(max(samples, leastSamples), mostSamples))
}

// A rowBasis is a random basis of the rows of a matrix.
type rowBasis struct {
	m       *matrix
	f       *factor
	least   int
	random  *rand.Rand
	order   []int     // of the rows
	rows, x []float64 // of a block, and their coordinates
	// The first columns of table are combinations, one a line, of the coordinates of rows. Its other columns
	// are their values in some rows of a block. Lines before found are rows of the basis.
	table blas64.General
	found int
	block int
	// upper has the values of the first lines in the rows of the basis: lines do not change once they are in
	// it. The inverse turns the combinations into those that are 0 in all rows of the basis but one.
	upper blas64.Triangular
}

// newRowBasis returns a basis to draw.
func newRowBasis(m *matrix, f *factor, least int) *rowBasis {
	rank := len(f.pivots)
	b := &rowBasis{m: m, f: f, least: least,
		random: rand.New(rand.NewPCG(uint64(m.rows), uint64(m.columns)))}
	b.block = min(2*rank+4*least, m.rows)
	b.order, b.rows, b.x = make([]int, m.rows), make([]float64, b.block*m.columns), make([]float64, b.block*rank)
	for i := range b.order {
		b.order[i] = i
	}
	b.table = dense.General(rank, rank+b.block, make([]float64, rank*(rank+b.block)))
	b.upper = dense.Upper(rank, make([]float64, rank*rank))
	return b
}

// draw draws rows until they have a basis, a block at a time, and sets the values of the combinations in the
// last block.
func (b *rowBasis) draw() {
	rank := b.table.Rows
	clear(b.table.Data)
	for k := range rank {
		b.table.Data[k*b.table.Stride+k] = 1
	}
	b.found = 0
	for from := 0; from < b.m.rows && b.found < rank; from += b.block {
		x, lengths := b.read(from)
		for first := 0; first < x.Rows && b.found < rank; first += rank {
			some := min(rank, x.Rows-first)
			b.setValues(dense.General(some, rank, x.Data[first*rank:][:some*rank]))
			for i, length := range lengths[first:][:some] {
				if b.found < rank {
					b.take(rank+i, spanned*length)
				}
			}
		}
		if b.found == rank {
			combinations := b.combinations()
			dense.Trsm(blas.Left, blas.NoTrans, 1, b.upper, combinations)
			b.setValues(x)
		}
	}
}

// combinations returns the first columns of the table.
func (b *rowBasis) combinations() blas64.General {
	t := b.table
	return blas64.General{Rows: t.Rows, Cols: t.Rows, Stride: t.Stride, Data: t.Data}
}

// read returns the coordinates of the next rows of a random order, and the lengths of these.
func (b *rowBasis) read(from int) (x blas64.General, lengths []float64) {
	rank, n := b.table.Rows, min(b.block, b.m.rows-from)
	p := b.m.columns
	for i := range n {
		at := from + i
		other := at + b.random.IntN(b.m.rows-at)
		b.order[at], b.order[other] = b.order[other], b.order[at]
		b.m.read(b.rows[i*p:][:p], b.order[at])
	}
	x = b.f.coordinates(b.x, dense.General(n, p, b.rows[:n*p]))
	for i := range n {
		lengths = append(lengths, rounded.Norm(x.Data[i*rank:][:rank]))
	}
	return x, lengths
}

// setValues sets the values of the combinations in rows with given coordinates.
func (b *rowBasis) setValues(x blas64.General) {
	rank, stride := b.table.Rows, b.table.Stride
	values := blas64.General{Rows: rank, Cols: x.Rows, Stride: stride, Data: b.table.Data[rank:]}
	dense.Gemm(blas.NoTrans, blas.Trans, 1, b.combinations(), x, 0, values)
	b.table.Cols = rank + x.Rows
}

// take adds the row of a column of the table to the basis, if its values beside the values of the basis are
// larger than least. It takes the row out of the lines that follow, in the columns of combinations and from
// its own column on.
func (b *rowBasis) take(column int, least float64) {
	t, at := b.table, b.found
	value := func(line int) float64 { return t.Data[line*t.Stride+column] }
	for line := at; line < t.Rows; line++ {
		if math.Abs(value(line)) > math.Abs(value(at)) {
			at = line
		}
	}
	if !(math.Abs(value(at)) > least) {
		return
	}
	line := func(k int) []float64 { return t.Data[k*t.Stride:][:t.Cols] }
	own, other := line(b.found), line(at)
	if at != b.found {
		for k := range own {
			own[k], other[k] = other[k], own[k]
		}
	}
	floats.Scale(1/value(b.found), own)
	for k := range b.found {
		b.upper.Data[k*b.upper.Stride+b.found] = value(k)
	}
	b.upper.Data[b.found*(b.upper.Stride+1)] = 1
	for k := b.found + 1; k < t.Rows; k++ {
		if v := value(k); v != 0 {
			rounded.AddScaled(line(k)[:t.Rows], -v, own[:t.Rows])
			rounded.AddScaled(line(k)[column:], -v, own[column:])
		}
	}
	b.found++
}

// open returns the combinations of the basis that few rows of the last block may break, in the columns of the
// factor. Their largest parts are 1.
func (b *rowBasis) open() (list []departure) {
	t := b.table
	if b.found < t.Rows {
		return nil
	}
	dense.Trsm(blas.Right, blas.Trans, 1, b.f.r, b.combinations())
	for line := range t.Rows {
		own := t.Data[line*t.Stride:][:t.Cols]
		part, values := own[:t.Rows], own[t.Rows:]
		largest := rounded.MaxNorm(part)
		broken := 0
		for _, v := range values {
			if math.Abs(v) > departs*largest {
				broken++
			}
		}
		if broken < b.least {
			floats.Scale(1/largest, part)
			list = append(list, departure{parts: part})
		}
	}
	return list
}

// A departure is a combination of columns, and the rows that break it.
type departure struct {
	parts []float64
	rows  []int
}

// firstDeparture returns the rows of the first of some combinations of independent columns that some rows
// break, but fewer than least; nil for none. It reads every row once.
func (m *matrix) firstDeparture(f *factor, open []departure, least int) []int {
	row, picked := make([]float64, m.columns), make([]float64, len(f.pivots))
	for i := 0; i < m.rows && len(open) > 0; i++ {
		m.read(row, i)
		f.pick(picked, row)
		left := open[:0]
		for _, d := range open {
			if math.Abs(rounded.Dot(d.parts, picked)) > departs {
				d.rows = append(d.rows, i)
			}
			if len(d.rows) < least {
				left = append(left, d)
			}
		}
		open = left
	}
	for _, d := range open {
		if len(d.rows) > 0 {
			return d.rows
		}
	}
	return nil
}
