package blas

import (
	"runtime"
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A factor with few nonzero entries takes less time entry by entry than by tiles. gonum skips zeros, so
// that it takes less time for such factors than tiles do.

// sampled is the number of entries that decide whether all entries of a factor are counted.
const sampled = 64

// mostlyZero reports whether at most one entry in sparseShare of a matrix is not zero.
func mostlyZero[F tile.Float](m, n int, a []F, lda int) bool {
	const step = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spread over the rows and columns
	nonzeros, at := 0, uint64(0)
	for range sampled {
		at += step
		i, j := int(at>>32*uint64(m)>>32), int(at&(1<<32-1)*uint64(n)>>32)
		if a[i*lda+j] != 0 {
			nonzeros++
		}
		if nonzeros > 2*sampled/sparseShare {
			return false
		}
	}
	nonzeros = 0
	for i := range m {
		for _, v := range a[i*lda:][:n] {
			if v != 0 {
				nonzeros++
			}
		}
	}
	return nonzeros <= m*n/sparseShare
}

// An entry is a number of a factor that is not zero, at an index of its row.
type entry struct {
	index int
	value float64
}

// entriesPool holds memory for entries.
var entriesPool = sync.Pool{New: func() any { return new([]entry) }}

// addNonzeros adds alpha op(A) B to C, row by row, with the nonzero entries of op(A) only.
func (p *product[F]) addNonzeros() {
	parts := 1
	if p.m >= 2*rowsOfEntries {
		parts = (p.m + rowsOfEntries - 1) / rowsOfEntries
	}
	if p.m*p.n*p.k/sparseShare < tune().parallelMultiplications || parts == 1 {
		p.rowsOfNonzeros(0, p.m)
		return
	}
	of := *p
	inTurn(runtime.GOMAXPROCS(0), parts, false, func(i int) {
		of.rowsOfNonzeros(i*rowsOfEntries, min((i+1)*rowsOfEntries, of.m))
	})
}

// rowsOfEntries is the number of rows whose nonzero entries are collected together.
const rowsOfEntries = 64

// rowsOfNonzeros is addNonzeros for some rows. It takes as many columns together as keep B in the
// second-level cache.
func (p *product[F]) rowsOfNonzeros(lo, hi int) {
	if p.a.transposed {
		p.columnsOfNonzeros(lo, hi)
		return
	}
	down, across := p.a.steps()
	memory := entriesPool.Get().(*[]entry)
	defer entriesPool.Put(memory)
	entries := *memory
	var ends [rowsOfEntries + 1]int
	width := max(tune().secondLevel/(2*8*p.k)&^(wholeLine-1), 4*wholeLine)
	for first := lo; first < hi; first += rowsOfEntries {
		rows := min(rowsOfEntries, hi-first)
		entries = entries[:0]
		for i := range rows {
			at := (first + i) * down
			for l := range p.k {
				if v := p.a.data[at+l*across]; v != 0 {
					entries = append(entries, entry{l, float64(p.alpha * v)})
				}
			}
			ends[i+1] = len(entries)
		}
		*memory = entries
		for column := 0; column < p.n; column += width {
			n := min(width, p.n-column)
			for i := range rows {
				row := p.c[(first+i)*p.ldc+column:][:n]
				for _, e := range entries[ends[i]:ends[i+1]] {
					by := [1]F{F(e.value)}
					tile.AddOuter(row, n, by[:], p.b.data[e.index*p.b.stride+column:], 1, n)
				}
			}
		}
	}
}

// columnsOfNonzeros is rowsOfNonzeros for a transposed A, whose rows in memory are columns: it reads them
// once. The order of a sum is the same.
func (p *product[F]) columnsOfNonzeros(lo, hi int) {
	for l := range p.k {
		from := p.b.data[l*p.b.stride:][:p.n]
		for i, v := range p.a.data[l*p.a.stride+lo : l*p.a.stride+hi] {
			if v != 0 {
				by := [1]F{p.alpha * v}
				tile.AddOuter(p.c[(lo+i)*p.ldc:], p.n, by[:], from, 1, p.n)
			}
		}
	}
}

// wholeLine is the number of float64 in a line of a cache.
const wholeLine = 8

// addSquares adds a triangle of alpha A'A to C, for the nonzero entries of the rows of A only.
func (p *product[F]) addSquares() {
	memory := entriesPool.Get().(*[]entry)
	defer entriesPool.Put(memory)
	entries := *memory
	for l := range p.k {
		entries = entries[:0]
		for j, v := range p.b.data[l*p.b.stride:][:p.n] {
			if v != 0 {
				entries = append(entries, entry{j, float64(v)})
			}
		}
		*memory = entries
		for i, e := range entries {
			row, by, others := p.c[e.index*p.ldc:], p.alpha*F(e.value), entries[i:]
			if p.part == blas.Lower {
				others = entries[:i+1]
			}
			for _, o := range others {
				row[o.index] += by * F(o.value)
			}
		}
	}
}
