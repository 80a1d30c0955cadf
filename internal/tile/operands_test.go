package tile_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// canary is each half of the words around and between operands. Both it and two of it are NaN, so that
// reading them spoils the result, with a payload by which writing them shows.
const canary = 0x7ff8dead

const (
	bufferLen = 1 << 18 // float64 in the longest operand
	guard     = 128     // half words checked before and behind an operand
)

// A buffer holds one operand at a time, close to the beginning or the end of memory that
// can be read, in half words.
type buffer struct {
	halves []uint32
	lo, hi int // of the operand
}

// around returns what is before and behind the operand.
func (b *buffer) around() (before, behind []uint32) {
	return b.halves[max(b.lo-guard, 0):b.lo], b.halves[b.hi:min(b.hi+guard, len(b.halves))]
}

func areCanaries(x []uint32) bool {
	return !slices.ContainsFunc(x, func(v uint32) bool { return v != canary })
}

// halvesOf returns the memory of numbers.
func halvesOf[F tile.Float](x []F) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(F(0)))/4)
}

// A run checks one operation on one tier.
type run struct {
	testing.TB
	rng      *rand.Rand
	value    func(*rand.Rand) float64 // source of the operands
	at       string                   // the operation and the shape, for messages
	buffers  []*buffer
	operands [][]uint32
	scratch  []int // operands whose contents afterwards mean nothing
	inputs   []input
	hash     hash            // of the other operands that calls leave, and of other results
	disturb  func(op func()) // if it is set, operands are on Go's heap, and it calls the operation
}

type input struct {
	name      string
	got, want []uint32
}

func newRun(t testing.TB, rng *rand.Rand) *run {
	r := &run{TB: t, rng: rng, value: normal, hash: 14695981039346656037}
	for range 12 {
		r.buffers = append(r.buffers, &buffer{halves: halvesOf(tiertest.Guarded(t, bufferLen))})
	}
	return r
}

// call calls the operation, and checks that nothing but results was written.
func (r *run) call(op func()) {
	r.Helper()
	if r.disturb != nil {
		r.disturb(op)
		return
	}
	op()
	for i, b := range r.buffers[:len(r.operands)] {
		if before, behind := b.around(); !areCanaries(before) || !areCanaries(behind) {
			r.Errorf("%s: wrote beyond operand %d", r.at, i+1)
		}
		if slices.Contains(r.scratch, i) {
			continue
		}
		for _, v := range r.operands[i] {
			r.hash.add(v)
		}
	}
	for _, in := range r.inputs {
		if !slices.Equal(in.got, in.want) {
			r.Errorf("%s: wrote %s", r.at, in.name)
		}
	}
}

// A hash is FNV-1 of 64 bits. That of the standard library moves every word to the heap.
type hash uint64

func (h *hash) add(word uint32) {
	for shift := 0; shift < 32; shift += 8 {
		*h = *h*1099511628211 ^ hash(word>>shift&255)
	}
}

// results adds numbers to the hash that are in no operand, or in scratch memory.
func (r *run) results(numbers ...float64) {
	for _, v := range numbers {
		if v != v {
			v = math.NaN()
		}
		bits := math.Float64bits(v)
		r.hash.add(uint32(bits))
		r.hash.add(uint32(bits >> 32))
	}
}

// workspace returns scratch memory, which has no part in the hash.
func workspace[F tile.Float](r *run, n int) []F {
	r.scratch = append(r.scratch, len(r.operands))
	return alloc[F](r, n)
}

// alloc returns canaries at any multiple of the size of a number; half of the time they begin or end where
// memory does that can be read.
func alloc[F tile.Float](r *run, n int) []F {
	size := int(unsafe.Sizeof(F(0))) / 4
	if r.disturb != nil {
		x := make([]F, n)
		r.operands = append(r.operands, halvesOf(x))
		return x
	}
	b := r.buffers[len(r.operands)]
	b.lo = 0
	if r.rng.IntN(2) == 0 {
		b.lo = size * r.rng.IntN(9)
	}
	if r.rng.IntN(3) > 0 {
		b.lo = len(b.halves) - b.lo - size*n
	}
	b.hi = b.lo + size*n
	before, behind := b.around()
	for _, part := range [][]uint32{before, b.halves[b.lo:b.hi], behind} {
		for i := range part {
			part[i] = canary
		}
	}
	r.operands = append(r.operands, b.halves[b.lo:b.hi:b.hi])
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(b.halves[b.lo:]))), n)
}

// columns returns a matrix of count vectors of n entries, with canaries in between: their stride is larger
// by a multiple of some number.
func columns[F tile.Float](r *run, n, count, multiple int) (m []F, ld int) {
	ld = max(n+multiple*r.rng.IntN(4)*r.rng.IntN(2), 1)
	if count == 0 {
		return alloc[F](r, 0), ld
	}
	return alloc[F](r, (count-1)*ld+n), ld
}

// filled is columns with n values in each vector, and zeros up to the given length.
func filled[F tile.Float](r *run, n, length, count, multiple int) (m []F, ld int) {
	m, ld = columns[F](r, length, count, multiple)
	for j := range count {
		clear(m[j*ld:][:length])
		for i := range n {
			m[j*ld+i] = F(r.value(r.rng))
		}
	}
	return m, ld
}

// declare declares an operand that must not be written.
func declare[F tile.Float](r *run, name string, m []F) {
	r.inputs = append(r.inputs, input{name, halvesOf(m), slices.Clone(halvesOf(m))})
}

// padded returns an input of count vectors of d values, padded with zeros.
func padded[F tile.Float](r *run, name string, d, count int) (m []F, ld int) {
	m, ld = filled[F](r, d, tile.Pad(d), count, tile.Width)
	declare(r, name, m)
	return m, ld
}

// dense returns an input of count vectors of n values.
func dense[F tile.Float](r *run, name string, n, count int) (m []F, ld int) {
	m, ld = filled[F](r, n, n, count, 1)
	declare(r, name, m)
	return m, ld
}

// entries checks a result of count vectors of n entries, and that the memory between them was not written.
func entries[F tile.Float](r *run, m []F, ld, n, count int, want func(s *sum, i, j int)) {
	r.Helper()
	if r.disturb != nil {
		return
	}
	var s sum
	for j := range count {
		for i := range n {
			s = sum{single: unsafe.Sizeof(F(0)) == 4}
			if want(&s, i, j); !r.element(float64(m[j*ld+i]), &s, i, j) {
				return
			}
		}
		if j+1 < count && !areCanaries(halvesOf(m[j*ld+n:(j+1)*ld])) {
			r.Errorf("%s: wrote between vectors %d and %d of stride %d", r.at, j, j+1, ld)
			return
		}
	}
}

// element checks one number.
func (r *run) element(got float64, want *sum, i, j int) bool {
	if r.disturb == nil && !want.matches(got) {
		r.Helper() // it takes longer than all else
		r.Errorf("%s: entry (%d, %d) is %v, want %v within %g (NaN %t, +Inf %t, -Inf %t)",
			r.at, i, j, got, want.hi+want.lo, want.bound(), want.nan, want.pos, want.neg)
		return false
	}
	return true
}

// same checks that the bits of a number are the wanted ones, or both are NaN.
func (r *run) same(got, want float64, i, j int) bool {
	if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
		r.Helper()
		r.Errorf("%s: entry (%d, %d) is %v, want %v", r.at, i, j, got, want)
		return false
	}
	return true
}

// hint returns an address to prefetch from, which need not be readable.
func (r *run) hint(x []float64) uintptr {
	end := uintptr(unsafe.Pointer(unsafe.SliceData(x))) + 8*uintptr(len(x))
	return []uintptr{0, end, end + 1<<20, 8}[r.rng.IntN(4)]
}

// ahead returns what to prefetch.
func (r *run) ahead(x []float64) *tile.PrefetchPlan {
	return &tile.PrefetchPlan{Basis: r.hint(x), Gradient: r.hint(x), Eighths: r.rng.IntN(9)}
}

// values are the sources of operands.
var values = []func(*rand.Rand) float64{normal, special, tiny, huge, small}

func normal(rng *rand.Rand) float64 { return rng.NormFloat64() }

// special mixes numbers with zeros of both signs, NaN and infinities.
func special(rng *rand.Rand) float64 {
	rare := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 0, 0, 0, math.Copysign(0, -1)}
	if i := rng.IntN(400); i < len(rare) {
		return rare[i]
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
