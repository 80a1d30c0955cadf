package tile_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// canary surrounds every operand. It is a NaN, so that reading it spoils the
// result, with a payload by which writing it shows.
var canary = math.Float64frombits(0x7ff8dead_beefcafe)

const (
	bufferLen = 1 << 18 // longest operand
	guard     = 64      // words checked before and behind an operand
)

// A buffer holds one operand at a time, close to the beginning or the end of memory that
// can be read.
type buffer struct {
	words  []float64
	lo, hi int // of the operand
}

// take returns n canaries that end slack others before the end of the buffer, or begin so
// many after its beginning.
func (b *buffer) take(n, slack int, front bool) []float64 {
	if b.lo = slack; !front {
		b.lo = len(b.words) - slack - n
	}
	b.hi = b.lo + n
	around := b.around()
	for i := range around {
		around[i] = canary
	}
	return b.words[b.lo:b.hi:b.hi]
}

// around returns the operand with the guard words before and behind it.
func (b *buffer) around() []float64 {
	return b.words[max(b.lo-guard, 0):min(b.hi+guard, len(b.words))]
}

func (b *buffer) intact() bool {
	around, before := b.around(), min(guard, b.lo)
	return all(around[:before], isCanary) && all(around[before+b.hi-b.lo:], isCanary)
}

func all(x []float64, f func(float64) bool) bool {
	for _, v := range x {
		if !f(v) {
			return false
		}
	}
	return true
}

func isCanary(v float64) bool { return math.Float64bits(v) == math.Float64bits(canary) }

// A run checks one operation on one tier.
type run struct {
	testing.TB
	rng     *rand.Rand
	value   func(*rand.Rand) float64 // source of the operands
	at      string                   // the shape, for messages
	buffers []*buffer
	used    int
	inputs  []input
}

type input struct {
	name      string
	got, want []float64
}

func newRun(t testing.TB, rng *rand.Rand) *run {
	r := &run{TB: t, rng: rng, value: normal}
	for range 8 {
		b := &buffer{words: tiertest.Guarded(t, bufferLen)}
		r.buffers = append(r.buffers, b)
	}
	return r
}

// start begins a new case.
func (r *run) start() { r.used, r.inputs = 0, nil }

// finish checks that nothing but the results was written.
func (r *run) finish(operation string) {
	r.Helper()
	for i, b := range r.buffers[:r.used] {
		if !b.intact() {
			r.Errorf("%s: %s: wrote beyond operand %d", operation, r.at, i+1)
		}
	}
	for _, in := range r.inputs {
		for i, v := range in.want {
			if math.Float64bits(v) != math.Float64bits(in.got[i]) {
				r.Errorf("%s: %s: wrote %s[%d]", operation, r.at, in.name, i)
				break
			}
		}
	}
}

// alloc returns canaries at any multiple of 8 bytes; half of the time they begin or end
// where memory does that can be read.
func (r *run) alloc(n int) []float64 {
	slack := 0
	if r.rng.IntN(2) == 0 {
		slack = r.rng.IntN(9)
	}
	r.used++
	return r.buffers[r.used-1].take(n, slack, r.rng.IntN(3) == 0)
}

// stride returns a column or row stride for vectors of n entries.
func (r *run) stride(n, multiple int) int {
	return max(n+multiple*r.rng.IntN(4)*r.rng.IntN(2), 1)
}

// columns returns a matrix of cols vectors of rows entries, with canaries in
// between.
func (r *run) columns(rows, cols, multiple int) (m []float64, ld int) {
	ld = r.stride(rows, multiple)
	return r.alloc(extent(rows, cols, ld)), ld
}

// extent is the length of cols vectors of the given length and stride.
func extent(rows, cols, ld int) int {
	if cols == 0 {
		return 0
	}
	return (cols-1)*ld + rows
}

// fill sets the first used of every vector's entries to values, and the ones up to
// rows to zero.
func (r *run) fill(m []float64, ld, used, rows, cols int) {
	for j := range cols {
		for i := range rows {
			m[j*ld+i] = 0
			if i < used {
				m[j*ld+i] = r.value(r.rng)
			}
		}
	}
}

// input declares an operand that must not be written.
func (r *run) input(name string, m []float64) []float64 {
	r.inputs = append(r.inputs, input{name, m, append([]float64(nil), m...)})
	return m
}

// padded returns an input of count vectors of d values, padded with zeros.
func (r *run) padded(name string, d, count int) (m []float64, ld int) {
	m, ld = r.columns(tile.Pad(d), count, tile.Width)
	r.fill(m, ld, d, tile.Pad(d), count)
	return r.input(name, m), ld
}

// dense returns an input of cols vectors of rows values.
func (r *run) dense(name string, rows, cols int) (m []float64, ld int) {
	m, ld = r.columns(rows, cols, 1)
	r.fill(m, ld, rows, rows, cols)
	return r.input(name, m), ld
}

// samples returns the samples of a shape in either storage, an input.
func samples[F tile.Float](r *run, s shape) (x []F, ldx int) {
	switch p := any(&x).(type) {
	case *[]float64:
		*p, ldx = r.padded("x", s.d, s.n)
	case *[]float32:
		*p, ldx = r.padded32(s.d, s.n)
	}
	return x, ldx
}

// padded32 is padded for float32.
func (r *run) padded32(d, count int) (m []float32, ld int) {
	return r.dense32("x", d, tile.Pad(d), count, tile.Width)
}

// gap32 is NaN of float32, twice: the memory between vectors of it.
const gap32 = 0x7fc00001_7fc00001

// dense32 returns an input of count vectors of d float32, padded with zeros to the given length.
func (r *run) dense32(name string, d, pad, count, multiple int) (m []float32, ld int) {
	ld = r.stride(pad, multiple)
	n := extent(pad, count, ld)
	words := r.alloc((n + 1) / 2)
	for i := range words {
		words[i] = math.Float64frombits(gap32)
	}
	m = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(words))), n)
	for j := range count {
		clear(m[j*ld:][:pad])
		for i := range d {
			m[j*ld+i] = float32(r.value(r.rng))
		}
	}
	r.input(name, words)
	return m, ld
}

// gaps checks that the memory between the vectors of a result was not written.
func (r *run) gaps(operation string, m []float64, ld, rows, cols int) {
	r.Helper()
	for j := range max(cols-1, 0) {
		if !all(m[j*ld+rows:(j+1)*ld], isCanary) {
			r.Errorf("%s: %s: wrote between columns %d and %d of stride %d", operation, r.at, j, j+1, ld)
			return
		}
	}
}

// hint returns an address to prefetch from, which need not be readable.
func (r *run) hint(x []float64) uintptr {
	end := uintptr(unsafe.Pointer(unsafe.SliceData(x))) + 8*uintptr(len(x))
	return []uintptr{0, end, end + 1<<20, 8}[r.rng.IntN(4)]
}

// ahead returns what to prefetch.
func (r *run) ahead(x []float64) tile.Hint { return tile.Hint{Next: r.hint(x), Eighths: r.rng.IntN(9)} }

func normal(rng *rand.Rand) float64 { return rng.NormFloat64() }

// special mixes numbers with zeros of both signs, NaN and infinities.
func special(rng *rand.Rand) float64 {
	switch rng.IntN(400) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.Inf(-1)
	case 3, 4, 5, 6:
		return 0
	case 7:
		return math.Copysign(0, -1)
	}
	return rng.NormFloat64()
}

// huge and small are far from 1, but neither do products overflow nor do they underflow.
func huge(rng *rand.Rand) float64  { return 0x1p480 * rng.NormFloat64() }
func small(rng *rand.Rand) float64 { return 0x1p-480 * rng.NormFloat64() }

// tiny mixes numbers around the smallest ones with small integers.
func tiny(rng *rand.Rand) float64 {
	if rng.IntN(2) == 0 {
		return float64(rng.IntN(9) - 4)
	}
	return math.Ldexp(rng.NormFloat64(), -1020-rng.IntN(60))
}
