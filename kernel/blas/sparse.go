package blas

import (
	"math"
	"sync"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// gonum skips zeros. So it takes less time than the tiles for factors with few nonzero entries.

const (
	// firstSampled is the number of entries that decide whether more of them are read, and sampled the
	// number that decides. A matrix of up to wholeSample entries is counted instead.
	firstSampled, sampled, wholeSample = 64, 1024, 4096
)

// mostlyZero reports whether about one entry in sparseShare of a matrix, or fewer, is not zero. The shape
// decides on the entries that are read.
func mostlyZero[F tile.Float](m, n int, a []F, lda int) bool {
	const step = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spread over the rows and columns
	nonzeros, at := 0, uint64(0)
	for k := range sampled {
		at += step
		i, j := int(at>>32*uint64(m)>>32), int(at&(1<<32-1)*uint64(n)>>32)
		if a[i*lda+j] != 0 {
			nonzeros++
		}
		switch {
		case k < firstSampled && nonzeros > 2*firstSampled/sparseShare:
			return false
		case k == firstSampled && m*n <= wholeSample:
			return countNonzeros(m, n, a, lda) <= m*n/sparseShare
		}
	}
	return nonzeros <= sampled/sparseShare
}

// countNonzeros returns the number of entries of a matrix that are not zero.
func countNonzeros[F tile.Float](m, n int, a []F, lda int) (count int) {
	for i := range m {
		for _, v := range a[i*lda:][:n] {
			if v != 0 {
				count++
			}
		}
	}
	return count
}

// skipZeros returns the index of the first group of four entries from index j on that are not all zero.
// Without one, it returns the index behind the last group.
func skipZeros[F tile.Float](row []F, j int) int {
	if kind[F]() == 0 {
		for x := as[float64](row); j+4 <= len(x); j += 4 {
			v := (*[4]float64)(x[j:])
			all := math.Float64bits(v[0]) | math.Float64bits(v[1]) | math.Float64bits(v[2]) | math.Float64bits(v[3])
			if all<<1 != 0 { // the sign of zero does not count
				break
			}
		}
		return j
	}
	for x := as[float32](row); j+4 <= len(x); j += 4 {
		v := (*[4]float32)(x[j:])
		all := math.Float32bits(v[0]) | math.Float32bits(v[1]) | math.Float32bits(v[2]) | math.Float32bits(v[3])
		if all<<1 != 0 {
			break
		}
	}
	return j
}

// An entry is a number of a factor that is not zero, at an index of its row.
type entry struct {
	index int
	value float64
}

// appendNonzeros appends the entries of a row that are not zero.
func appendNonzeros[F tile.Float](entries []entry, row []F) []entry {
	for j := skipZeros(row, 0); j < len(row); j = skipZeros(row, j) {
		for end := min(j+4, len(row)); j < end; j++ {
			if v := row[j]; v != 0 {
				entries = append(entries, entry{j, float64(v)})
			}
		}
	}
	return entries
}

// entriesPool holds memory for entries.
var entriesPool = sync.Pool{New: func() any { return new([]entry) }}

// addNonzeros adds alpha op(A) B to C, row by row, with the nonzero entries of op(A) only.
func (p *product[F]) addNonzeros() {
	t, rows := teamFor[float64](entryReads*p.m*p.k+p.m*p.n*p.k/sparseShare, true), rowsOfEntries
	if t.threads == 1 || p.m < 2*rowsOfEntries {
		p.rowsOfNonzeros(0, p.m)
		return
	}
	if p.a.transposed { // read in long pieces of its rows
		rows = max(rowsOfEntries, (p.m+t.threads-1)/t.threads)
	}
	of := *p
	t.run((p.m+rows-1)/rows, func(i int) {
		of.rowsOfNonzeros(i*rows, min((i+1)*rows, of.m))
	})
}

const (
	// rowsOfEntries is the number of rows whose nonzero entries are collected together.
	rowsOfEntries = 64
	// entryReads is the number of multiplications that take as long as the look at an entry of a large
	// matrix.
	entryReads = 4
)

// rowsOfNonzeros is addNonzeros for some rows. It takes as many columns together as keep B in the
// second-level cache.
func (p *product[F]) rowsOfNonzeros(lo, hi int) {
	memory := entriesPool.Get().(*[]entry)
	defer entriesPool.Put(memory)
	if p.a.transposed {
		p.columnsOfNonzeros(lo, hi, memory)
		return
	}
	entries := *memory
	var ends [rowsOfEntries + 1]int
	width := max(tune().secondLevel/(2*8*p.k)&^(wholeLine-1), 4*wholeLine)
	for first := lo; first < hi; first += rowsOfEntries {
		rows := min(rowsOfEntries, hi-first)
		entries = entries[:0]
		for i := range rows {
			entries = appendNonzeros(entries, p.a.data[(first+i)*p.a.stride:][:p.k])
			ends[i+1] = len(entries)
		}
		*memory = entries
		for column := 0; column < p.n; column += width {
			n := min(width, p.n-column)
			for i := range rows {
				row := p.c[(first+i)*p.ldc+column:][:n]
				for _, e := range entries[ends[i]:ends[i+1]] {
					by := [1]F{p.update.Alpha * F(e.value)}
					tile.AddOuter(row, n, by[:], p.b.data[e.index*p.b.stride+column:], 1, n)
				}
			}
		}
	}
}

// columnsOfNonzeros is rowsOfNonzeros for a transposed A, whose rows in memory are columns: it reads them
// once. Sums have the same order.
func (p *product[F]) columnsOfNonzeros(lo, hi int, memory *[]entry) {
	for l := range p.k {
		from := p.b.data[l*p.b.stride:][:p.n]
		*memory = appendNonzeros((*memory)[:0], p.a.data[l*p.a.stride+lo:l*p.a.stride+hi])
		for _, e := range *memory {
			by := [1]F{p.update.Alpha * F(e.value)}
			tile.AddOuter(p.c[(lo+e.index)*p.ldc:], p.n, by[:], from, 1, p.n)
		}
	}
}

// wholeLine is the number of float64 in a line of a cache.
const wholeLine = 8

// addSquares adds a triangle of alpha A'A to C, for the nonzero entries of the rows of A only. Of a row with
// NaN or infinity all entries count.
func (p *product[F]) addSquares() {
	memory := entriesPool.Get().(*[]entry)
	defer entriesPool.Put(memory)
	for l := range p.k {
		row := p.b.data[l*p.b.stride:][:p.n]
		entries := appendNonzeros((*memory)[:0], row)
		for _, e := range entries {
			if e.value*0 != 0 {
				entries = entries[:0]
				for j, v := range row {
					entries = append(entries, entry{j, float64(v)})
				}
				break
			}
		}
		*memory = entries
		for i, e := range entries {
			by, others := p.update.Alpha*F(e.value), entries[i:]
			if p.part == blas.Lower {
				others = entries[:i+1]
			}
			sums := p.c[e.index*p.ldc:]
			for _, o := range others {
				sums[o.index] += F(by * F(o.value))
			}
		}
	}
}
