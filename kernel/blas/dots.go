package blas

import "github.com/difalt/difalt/internal/tile"

// isDots reports whether the entries of A B' take less time as inner products of rows. Tiles pack B, which
// takes long beside few rows of A.
func isDots[F tile.Float](m, n, k int) bool {
	few, depth, terms, of := dotRows, dotDepths, dotTerms, min(m, 2*n)
	if kind[F]() == 1 {
		few, depth, terms = dotRows32, dotDepths32, dotTerms32
	}
	return min(m, n) <= few && k >= max(terms, depth*of)
}

// mostColumns is the largest number of columns of a product A B whose entries are inner products with them,
// of columnTerms terms or more, or twoTerms with two columns. A has at least columnEntries entries. The
// others are sizes for float32. Gemm of 4 x 16 to 1000 x 600 by 2 to 8.
const (
	mostColumns, columnTerms, columnEntries, twoTerms = 4, 40, 3 << 9, 24
	mostColumns32, columnTerms32, columnEntries32     = 8, 32, 1 << 10
)

// isColumns reports whether the entries of A B take less time as inner products of rows of A and columns of
// B: these are few, and a row of them fills a part of a vector.
func isColumns[F tile.Float](m, n, k int) bool {
	most, terms, entries := mostColumns, columnTerms, columnEntries
	if kind[F]() == 1 {
		most, terms, entries = mostColumns32, columnTerms32, columnEntries32
	}
	if n == 2 {
		terms = twoTerms
	}
	return n > 0 && n <= most && k >= terms && m*k >= entries
}

// byColumns is byDots for B that is not transposed, by way of a copy of its transpose.
func (p *product[F]) byColumns() {
	memory := borrow[F](p.n * p.k)
	tile.Transpose(*memory, p.k, p.b.data, p.b.stride, p.k, p.n)
	p.b = factor[F]{*memory, p.k, true}
	p.byDots()
	giveBack(memory)
}

// wholeColumns is a number of columns that fill vectors on all tiers. rowsOfBoth is the least number of rows
// for which the columns behind them are computed separately. Gemm of 12 x 48 to 300 x 500 by 17 to 40.
const wholeColumns, rowsOfBoth = 16, 16

// isBoth reports whether the last columns of A B, which would fill a part of a vector, take less time as
// inner products.
func isBoth[F tile.Float](m, n, k int) bool {
	last := n % wholeColumns
	return n > wholeColumns && m >= rowsOfBoth && last <= mostColumns && isColumns[F](m, last, k)
}

// byBoth computes the last columns by byColumns, and the others by tiles.
func (p *product[F]) byBoth() {
	first, last := *p, *p
	first.n = p.n / wholeColumns * wholeColumns
	last.n, last.b, last.c = p.n-first.n, p.b.from(0, first.n), p.c[first.n:]
	first.compute()
	last.byColumns()
}

// byDots computes C = alpha A B' + beta C by inner products of rows of A and of B, on one thread or more:
// each entry is computed alike, whatever part it is in.
func (p *product[F]) byDots() {
	t, long := teamFor[F](p.m*p.n*p.k, !p.alone), max(p.m, p.n)
	parts := t.parts(4, long/rowsOfAPart)
	if t.threads == 1 || parts == 1 {
		p.dots()
		return
	}
	of := *p // a copy, so that products on one thread need no memory of the heap
	t.run(parts, func(i int) {
		part, lo, hi := of, i*long/parts, (i+1)*long/parts
		if of.m > of.n {
			part.a, part.c, part.m = of.a.from(lo, 0), of.c[lo*of.ldc:], hi-lo
		} else {
			part.b, part.c, part.n = of.b.from(0, lo), of.c[lo:], hi-lo
		}
		part.dots()
	})
}

// dots computes a part of byDots. A product that is not turned writes sums of few terms to C where they are.
func (p *product[F]) dots() {
	plain := p.update == tile.Update[F]{Alpha: 1}
	switch turned := p.turnsDots(plain && p.k <= mostDotTerms); {
	case max(p.m, p.n) < rowsOfDots:
		p.eachDot()
	case turned:
		memory := borrow[F](3 * p.m * p.n)
		sums, others := (*memory)[:p.m*p.n], (*memory)[p.m*p.n:]
		p.transposed().sumDots(sums, others)
		if plain {
			tile.Transpose(p.c, p.ldc, sums, p.m, p.n, p.m)
		} else {
			tile.Transpose(others, p.n, sums, p.m, p.n, p.m)
			p.updateBy(others)
		}
		giveBack(memory)
	case plain && p.k <= mostDotTerms:
		tile.RowProducts(p.c, p.ldc, p.a.data, p.a.stride, p.b.data, p.b.stride, p.m, p.n, p.k)
	default:
		memory := borrow[F](2 * p.m * p.n)
		sums, others := (*memory)[:p.m*p.n], (*memory)[p.m*p.n:]
		p.sumDots(sums, others)
		p.updateBy(sums)
		giveBack(memory)
	}
}

// transposed returns B A', without C.
func (p *product[F]) transposed() *product[F] {
	return &product[F]{a: p.b.transpose(), b: p.a.transpose(), m: p.n, n: p.m, k: p.k}
}

// rowsOfDots is the least number of rows whose products with another row are computed together, on all tiers.
const rowsOfDots = 4

// sumDots sets sums to A B', some terms of all sums at a time; more is memory for as many numbers.
func (p *product[F]) sumDots(sums, more []F) {
	depth, to := even(p.k, mostDotTerms, tile.Width), sums
	for at := 0; at < p.k; at += depth {
		a, b, terms := p.a.data[at:], p.b.data[at:], min(depth, p.k-at)
		tile.RowProducts(to, p.n, a, p.a.stride, b, p.b.stride, p.m, p.n, terms)
		if at > 0 {
			tile.AddScaled(sums, to[:len(sums)], 1)
		}
		to = more
	}
}

// updateBy sets C to alpha times some sums plus beta C.
func (p *product[F]) updateBy(sums []F) {
	alpha, beta := p.update.Alpha, p.update.Beta
	for i := range p.m {
		row, by := p.c[i*p.ldc:][:p.n], sums[i*p.n:][:p.n]
		if beta == 0 {
			for j, s := range by {
				row[j] = F(alpha * s)
			}
			continue
		}
		for j, s := range by {
			row[j] = F(alpha*s) + F(beta*row[j])
		}
	}
}

// eachDot computes each entry by itself, some terms of all entries at a time: those of all rows stay in the
// first-level cache. A A' of 3x10000.
func (p *product[F]) eachDot() {
	const most = 2 * mostDotTerms
	var sums [rowsOfDots * rowsOfDots]F
	for at := 0; at < p.k; at += most {
		terms := min(most, p.k-at)
		for i := range p.m {
			row := p.a.data[i*p.a.stride+at:][:terms]
			for j := range p.n {
				sums[i*p.n+j] += tile.InnerProduct(row, p.b.data[j*p.b.stride+at:][:terms])
			}
		}
	}
	p.updateBy(sums[:])
}

// turnsDots reports whether the transpose of a product takes less time: the tile computes whole columns of a
// number. A direct product is not copied otherwise.
func (p *product[F]) turnsDots(direct bool) bool {
	if p.m < rowsOfDots {
		return false
	}
	width := tile.ProductColumns[F]()
	whole := func(n int) int { return (n + width - 1) / width * width }
	saved := p.m*whole(p.n) - p.n*whole(p.m) // products
	if direct && p.n >= rowsOfDots {
		return p.k*saved > copiedDots*p.m*p.n
	}
	return p.n < rowsOfDots || saved > 0
}
