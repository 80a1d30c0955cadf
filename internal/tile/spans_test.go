package tile_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// spanKinds are the layouts of rows of an n x n matrix: triangles, packed or not, with their diagonal or not,
// and the middle of a band, from the first row on or from the last one on.
func spanKinds[F tile.Float](n, kind, skip int) tile.Spans[F] {
	s := tile.Spans[F]{Rows: n}
	lda := n + skip
	switch kind % 4 {
	case 0: // a packed lower triangle
		s.Step, s.Growth, s.End, s.Ahead = 1, 1, 1-skip%2, 1
	case 1: // a packed upper triangle
		s.Step, s.Growth, s.First, s.Forward, s.End = n-1, -1, skip%2, 1, n
	case 2: // an upper triangle
		s.Step, s.First, s.Forward, s.End = lda, skip%2, 1, n
	case 3: // rows of a band, whose first entry is in column 0
		width := 1 + skip%n
		s.Step, s.Rows = width+skip, n-width+1
		s.Forward, s.End, s.Ahead = 1, width, 1
	}
	if kind%8 >= 4 && s.Rows > 0 { // backwards
		last := s.Rows - 1
		s.At, s.Step = s.At+last*s.Step+last*(last-1)/2*s.Growth, -s.Step-(last-1)*s.Growth
		s.First, s.Forward = s.First+last*s.Forward, -s.Forward
		s.End, s.Ahead = s.End+last*s.Ahead, -s.Ahead
	}
	return s
}

// A spanRun has rows of random values, with canaries between them, and where each begins and ends in A.
type spanRun[F tile.Float] struct {
	*run
	tile.Spans[F]
	n        int
	from, to []int // columns
	at       []int // of column 0
}

func newSpanRun[F tile.Float](r *run, s shape, written bool) *spanRun[F] {
	n, skip := 1+(s.d-1)%90, r.rng.IntN(9)
	if r.disturb != nil { // the last entry is used: it is on the diagonal, or the triangle has none
		skip = map[bool]int{true: 1}[s.n%4 == 0]
	}
	p := &spanRun[F]{run: r, n: n, Spans: spanKinds[F](n, s.n, skip)}
	end := 0
	for k := range p.Rows {
		p.from, p.to = append(p.from, p.First+k*p.Forward), append(p.to, p.End+k*p.Ahead)
		p.at = append(p.at, p.At+k*p.Step+k*(k-1)/2*p.Growth)
		end = max(end, p.at[k]+p.to[k])
	}
	p.A = alloc[F](r, end)
	for k := range p.Rows {
		for c := p.from[k]; c < p.to[k]; c++ {
			p.A[p.at[k]+c] = F(r.value(r.rng))
		}
	}
	if !written {
		declare(r, "rows", p.A)
	}
	return p
}

// vector returns n values, and NaN behind them.
func (p *spanRun[F]) vector() []F {
	x := alloc[F](p.run, tile.Pad(p.n))
	for i := range p.n {
		x[i] = F(p.value(p.rng))
	}
	return x
}

// input returns a vector that must not be written.
func (p *spanRun[F]) input(name string) []F {
	x := p.vector()
	declare(p.run, name, x)
	return x
}

// numbers returns some numbers for each row.
func (p *spanRun[F]) numbers(count int) []F {
	b, _ := dense[F](p.run, "b", max(count*p.Rows, 1), 1)
	return b
}

// haveSums checks the products of rows with x, of which every count-th of sums has one.
func (p *spanRun[F]) haveSums(sums []F, count int, x []F) {
	entries(p.run, sums, count, 1, p.Rows, func(want *sum, _, k int) {
		for c := p.from[k]; c < p.to[k]; c++ {
			want.add(float64(p.A[p.at[k]+c]), float64(x[c]))
		}
	})
}

// haveAdded checks the sum of a vector and rows.
func (p *spanRun[F]) haveAdded(y, before, b []F, count int) {
	entries(p.run, y, 0, p.n, 1, func(want *sum, c, _ int) {
		want.add(float64(before[c]), 1)
		for k := range p.Rows {
			if c >= p.from[k] && c < p.to[k] {
				want.add(float64(p.A[p.at[k]+c]), float64(b[k*count]))
			}
		}
	})
	if p.disturb == nil && !areCanaries(halvesOf(y[p.n:])) {
		p.Errorf("%s: wrote behind a vector", p.run.at)
	}
}

// seconds returns whether there is a second vector.
func seconds(s shape) (second bool, count int) {
	if s.r%2 == 1 {
		return true, 2
	}
	return false, 1
}

// sumsOfSpans are apart, so that entries finds what was written between those of one vector.
func spanDots[F tile.Float](r *run, s shape) {
	p := newSpanRun[F](r, s, false)
	second, count := seconds(s)
	x := p.input("x")
	var z []F
	if second {
		z = p.input("z")
	}
	sums := alloc[F](r, count*p.Rows)
	r.call(func() { p.Dots(sums, x, z) })
	p.checkSums(sums, x, z, count)
}

func (p *spanRun[F]) checkSums(sums, x, z []F, count int) {
	for i, with := range [][]F{x, z}[:count] {
		single := make([]F, p.Rows)
		for k := range single {
			single[k] = sums[k*count+i]
		}
		p.haveSums(single, 1, with)
	}
}

func spanAdd[F tile.Float](r *run, s shape) {
	p := newSpanRun[F](r, s, false)
	second, count := seconds(s)
	b, y := p.numbers(count), p.vector()
	before := slices.Clone(y)
	if !second {
		r.call(func() { p.Add(b, y, nil) })
		p.haveAdded(y, before, b, 1)
		return
	}
	w := p.vector()
	other := slices.Clone(w)
	r.call(func() { p.Add(b, y, w) })
	p.haveAdded(y, before, b, 2)
	p.haveAdded(w, other, b[1:], 2)
}

// spanBoth checks also that results have the bits of Dots and Add.
func spanBoth[F tile.Float](r *run, s shape) {
	p := newSpanRun[F](r, s, false)
	second, count := seconds(s)
	x, b, y := p.input("x"), p.numbers(count), p.vector()
	var z, w []F
	if second {
		z, w = p.input("z"), p.vector()
	}
	sums, before, other := alloc[F](r, count*p.Rows), slices.Clone(y), slices.Clone(w)
	r.call(func() { p.DotsAndAdd(sums, b, x, z, y, w) })
	p.checkSums(sums, x, z, count)
	apart := make([]F, len(sums))
	p.Dots(apart, x, z)
	p.haveAdded(y, before, b, count)
	if second {
		p.haveAdded(w, other, b[1:], 2)
	}
	if p.Rows > 0 {
		p.Add(b, before, other)
	}
	for _, pair := range [][2][]F{{sums, apart}, {y, before}, {w, other}} {
		for i, v := range pair[1] {
			if i < p.n || len(pair[1]) == len(sums) {
				r.same(float64(pair[0][i]), float64(v), i, 0)
			}
		}
	}
}

func spanOuter[F tile.Float](r *run, s shape) {
	p := newSpanRun[F](r, s, true)
	vectors := 1 << (s.r % 3)
	b, n := p.numbers(vectors), tile.Pad(p.n)
	y := alloc[F](r, vectors*n)
	for i := range vectors {
		for k := range p.n {
			y[i*n+k] = F(p.value(p.rng))
		}
	}
	declare(r, "y", y)
	before := slices.Clone(p.A)
	r.call(func() { p.AddOuter(b, y, vectors) })
	inRows := make([]bool, len(p.A))
	for k := range p.Rows {
		at := p.at[k] + p.from[k]
		entries(r, p.A[max(at, 0):], 0, max(p.to[k]-p.from[k], 0), 1, func(want *sum, c, _ int) {
			inRows[at+c] = true
			want.add(float64(before[at+c]), 1)
			for i := range vectors {
				want.add(float64(b[k*vectors+i]), float64(y[i*n+p.from[k]+c]))
			}
		})
	}
	for i, in := range inRows {
		if r.disturb == nil && !in && !areCanaries(halvesOf(p.A[i:i+1])) {
			r.Errorf("%s: wrote entry %d, which is in no row", r.at, i)
			return
		}
	}
}

// spanSolve checks, for each unknown of a triangle, the sum that it is: of what it was and the products of
// entries and other unknowns. Entries are small, so that unknowns do not grow.
func spanSolve[F tile.Float](r *run, s shape) {
	value := r.value
	r.value = func(rng *rand.Rand) float64 { return value(rng) / 64 }
	s.n = []int{4, 1, 2}[s.n%3] // triangles whose first row waits for no other
	p := newSpanRun[F](r, s, false)
	own, change := 0, 1
	if s.n == 4 {
		own, change = p.n-1, -1
	}
	if len(p.from) > 0 && own >= p.from[0] && own < p.to[0] {
		p.cutDiagonal()
	}
	d := alloc[F](r, p.Rows)
	for k := range d {
		d[k] = F(1 + r.rng.Float64())
	}
	declare(r, "d", d)
	pivots := d
	if r.disturb == nil && s.d%3 == 0 {
		pivots = nil
	}
	x := p.vector()
	given, unknown := slices.Clone(x), alloc[F](r, p.Rows)
	r.call(func() { p.Solve(unknown, pivots, x, own, change) })
	sums := slices.Clone(unknown)
	for k := range sums {
		if pivots != nil {
			sums[k] *= d[k]
		}
	}
	entries(r, sums, 0, p.Rows, 1, func(want *sum, k, _ int) {
		c := own + k*change
		want.add(float64(given[c]), 1)
		for j := range k {
			if c >= p.from[j] && c < p.to[j] {
				want.add(-float64(p.A[p.at[j]+c]), float64(unknown[j]))
			}
		}
	})
}

// cutDiagonal takes the columns of the unknowns from their rows.
func (p *spanRun[F]) cutDiagonal() {
	if p.Forward != 0 { // an upper triangle
		p.First++
	} else {
		p.End--
	}
	for k := range p.Rows {
		p.from[k], p.to[k] = p.First+k*p.Forward, p.End+k*p.Ahead
	}
}

// Operands that are one entry too short for the rows, and rows that go forth and back, panic before a tile
// reads or writes beyond them.
func TestShortSpans(t *testing.T) {
	const n = 16
	lens := []int{n * (n + 1) / 2, n, n, 2 * n, 2 * n, n, n, 2 * n} // of A, x, z, sums, b, y, w, and two vectors
	call := func(short int, change func(*tile.Spans[float64])) any {
		of := make([][]float64, len(lens))
		for i, length := range lens {
			if i == short {
				length--
			}
			of[i] = make([]float64, length)
		}
		s := tile.Spans[float64]{A: of[0], Step: 1, Growth: 1, End: 1, Ahead: 1, Rows: n}
		change(&s)
		return panicOf(func() {
			s.DotsAndAdd(of[3], of[4], of[1], of[2], of[5], of[6])
			s.AddOuter(of[4], of[7], 2)
			s.Solve(of[3][:max(0, len(of[3])-n)], nil, of[5], 0, 1)
		})
	}
	unchanged := func(*tile.Spans[float64]) {}
	tiertest.Every(t, func(t *testing.T) {
		if msg := call(-1, unchanged); msg != nil {
			t.Fatalf("operands that are long enough: panic %v", msg)
		}
		for short := range lens {
			if call(short, unchanged) == nil {
				t.Errorf("operand %d too short: no panic", short)
			}
		}
		for i, change := range []func(*tile.Spans[float64]){
			func(s *tile.Spans[float64]) { s.At = -1 },
			func(s *tile.Spans[float64]) { s.First = -1 },
			func(s *tile.Spans[float64]) { s.End, s.Ahead = 0, 2 },
			func(s *tile.Spans[float64]) { s.Step, s.Growth = -8, 1 },
			func(s *tile.Spans[float64]) { s.Rows++ },
		} {
			if call(-1, change) == nil {
				t.Errorf("change %d of the rows: no panic", i)
			}
		}
	})
}

// A product of float32 whose sum with an entry is between two others, but for what no float64 holds, is
// rounded once on every tier with FMA.
func TestSpansRoundOnce(t *testing.T) {
	const ulp = 0x1p-23
	tiertest.Every(t, func(t *testing.T) {
		if tile.Active() == tile.Generic {
			t.Skip("it rounds the product")
		}
		for _, c := range []struct{ of, by, to, want float32 }{
			{(1 + 0x1p-20) * ulp / 2, 1 - 0x1p-20, 1 + ulp, 1 + ulp}, // 1 - 2^-40 of half an ulp
			{(1 + 0x1p-20) * ulp / 2, 0x1p-20 - 1, 1 + ulp, 1 + ulp},
			{ulp / 2, 1, 1 + ulp, 1 + 2*ulp}, // the middle itself, to even
		} {
			y := make([]float32, tile.Width)
			y[0] = c.to
			s := tile.Spans[float32]{A: []float32{c.of}, End: 1, Rows: 1}
			s.Add([]float32{c.by}, y, nil)
			if y[0] != c.want {
				t.Errorf("%v + %v by %v is %v, want %v", c.to, c.of, c.by, y[0], c.want)
			}
		}
	})
}
