package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// Threads share rows of a triangle or a band here.

// entries returns about how many entries are stored.
func (s *storedRows[F]) entries() int {
	if s.layout == bandedRows {
		return s.m * (s.below + s.above + 1)
	}
	return s.n * (s.n + 1) / 2
}

// cut returns the first row of part i of several parts that have about as many entries: a multiple of
// rowsOfATile, or the end.
func (s *storedRows[F]) cut(i, parts int) int {
	share := float64(i) / float64(parts)
	switch {
	case i == parts:
		return s.m
	case s.layout == bandedRows:
	case s.upper():
		share = 1 - math.Sqrt(1-share)
	default:
		share = math.Sqrt(share)
	}
	return int(share*float64(s.m)) / rowsOfATile * rowsOfATile
}

// addVectors adds some vectors, one after the other in y, times the numbers of b for each row, to the rows.
// Several threads take parts of the rows in turn if that pays.
func (s *storedRows[F]) addVectors(b, y []F, vectors int) {
	t := teamOver[F](s.entries(), false)
	if t.threads == 1 {
		s.addTo(0, s.m, b, y, vectors)
		return
	}
	of, parts := *s, t.parts(4, s.m/rowsOfATile) // a copy, so that one thread needs no memory of the heap
	t.run(parts, func(i int) { of.addTo(of.cut(i, parts), of.cut(i+1, parts), b, y, vectors) })
}

// addTo is addVectors for rows lo to hi.
func (s *storedRows[F]) addTo(lo, hi int, b, y []F, vectors int) {
	r := s.runs().within(lo, hi)
	for k := range 3 {
		if rows, ok := s.spans(&r, k, whole, false); ok {
			rows.AddOuter(b[vectors*r[k]:], y, vectors)
		}
	}
}

// dots sets sums to the products of a part of each row and x. Several threads take parts of the rows in turn
// if that pays.
func (s *storedRows[F]) dots(of part, sums, x []F) {
	t := teamOver[F](s.entries(), false)
	if t.threads == 1 {
		s.dotsOf(0, s.m, of, sums, x)
		return
	}
	all, parts := *s, t.parts(4, s.m/rowsOfATile) // a copy, so that one thread needs no memory of the heap
	t.run(parts, func(i int) { all.dotsOf(all.cut(i, parts), all.cut(i+1, parts), of, sums, x) })
}

// dotsOf is dots for rows lo to hi.
func (s *storedRows[F]) dotsOf(lo, hi int, of part, sums, x []F) {
	r := s.runs().within(lo, hi)
	for k := range 3 {
		if rows, ok := s.spans(&r, k, of, false); ok {
			rows.Dots(sums[r[k]:], x, nil)
		}
	}
}

// A dotsAndSums adds a part of each row times an entry of x to sums. If own is not nil, it also sets own to
// the products of the parts and x.
type dotsAndSums[F tile.Float] struct {
	of     part
	own, x []F
}

// sharedSums is the least number of entries whose rows are added in two parts, so that two threads take one
// each. Tri·v, Tpmv, Spmv, Zhemv, Band.MulVecTo 150 to 600, two threads.
const sharedSums = 22_000

// addSums carries out d for all rows. Those of many entries have two parts with sums of their own, which
// several threads take in turn if that pays.
func (s *storedRows[F]) addSums(d dotsAndSums[F], sums []F) {
	if s.entries() < sharedSums {
		s.addSumsOf(&d, 0, s.m, sums)
		return
	}
	middle := s.cut(1, 2)
	memory := borrow[F](tile.Pad(s.n))
	defer giveBack(memory)
	others := *memory
	if t := teamOver[F](s.entries(), false); t.threads == 1 {
		s.addSumsOf(&d, 0, middle, sums)
		s.addSumsOf(&d, middle, s.m, cleared(others, s.n))
	} else {
		of, rows := *s, d // copies, so that one thread needs no memory of the heap
		t.run(2, func(i int) {
			if i == 0 {
				of.addSumsOf(&rows, 0, middle, sums)
			} else {
				of.addSumsOf(&rows, middle, of.m, cleared(others, of.n)) // by the thread that adds to them
			}
		})
	}
	tile.AddScaled(sums[:s.n], others[:s.n], 1)
}

// addSumsOf is addSums for rows lo to hi.
func (s *storedRows[F]) addSumsOf(d *dotsAndSums[F], lo, hi int, sums []F) {
	r := s.runs().within(lo, hi)
	for k := range 3 {
		rows, ok := s.spans(&r, k, d.of, false)
		switch {
		case !ok:
		case d.own == nil:
			rows.Add(d.x[r[k]:], sums, nil)
		default:
			rows.DotsAndAdd(d.own[r[k]:], d.x[r[k]:], d.x, nil, sums, nil)
		}
	}
}
