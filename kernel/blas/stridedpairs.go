package blas

import "github.com/difalt/difalt/internal/tile"

// Complex vectors whose entries are not beside each other are moved and scaled entry by entry, in loops that
// have checked before that all entries are within memory. For sums and largest values some entries at a time
// are copied, and the tiles of vectors take the copies.

// piecePairs is the number of complex numbers that are copied together.
const piecePairs = 128

// doublePairsOf returns the entries of a complex vector. x holds them.
func doublePairsOf(n int, x []complex128, inc int) apart[[2]float64] {
	return apart[[2]float64](entriesOf(n, x, inc))
}

// singlePairsOf is doublePairsOf in complex64.
func singlePairsOf(n int, x []complex64, inc int) apart[[2]float32] {
	return apart[[2]float32](entriesOf(n, x, inc))
}

// wordsOf returns the entries of a complex vector as words, for moves.
func wordsOf(n int, x []complex64, inc int) apart[uint64] {
	return apart[uint64](entriesOf(n, x, inc))
}

// pairsApart reports whether n entries of a complex vector have an increment of 2 or more, are as many as
// least, and are in memory. gonum has the other increments, for which it returns or panics.
func pairsApart[T complex64 | complex128](n, least int, x []T, inc int) bool {
	return n >= least && inc > 1 && holds(x, n, inc) && vectorized()
}

// A pieceOfPairs is a copy of some complex numbers.
type pieceOfPairs[F tile.Float] [2 * piecePairs]F

// take copies some of n entries of x, inc apart, from number at on, and returns their parts.
func (p *pieceOfPairs[F]) take(n int, x []F, inc, at int) []F {
	n = min(n-at, piecePairs)
	tile.GatherPairs(p[:], x[2*inc*at:], inc, n)
	return p[:2*n]
}

// absolutesOfPairs returns the sum of the absolute values of the parts of n complex numbers, inc apart.
func absolutesOfPairs[F tile.Float](n int, x []F, inc int) (sum F) {
	var piece pieceOfPairs[F]
	for at := 0; at < n; at += piecePairs {
		sum += tile.Absolutes(piece.take(n, x, inc, at))
	}
	return sum
}

// squaresOfPairs returns the sum of the squares of the parts of n complex numbers, inc apart.
func squaresOfPairs(n int, x []float32, inc int) (sum float64) {
	var piece pieceOfPairs[float32]
	for at := 0; at < n; at += piecePairs {
		sum += tile.Squares(piece.take(n, x, inc, at))
	}
	return sum
}

// largestOfPairs returns the index of the first of the n complex numbers whose parts have the largest sum of
// absolute values. As in gonum, NaN counts as the first entry only.
func largestOfPairs[F tile.Float](n int, x []F, inc int) int {
	var piece pieceOfPairs[F]
	most, index := F(0), 0
	for at := 0; at < n; at += piecePairs {
		parts := piece.take(n, x, inc, at)
		if !isSize(parts) {
			if at == 0 {
				return 0
			}
			parts[0], parts[1] = 0, 0
		}
		k := tile.LargestPair(parts)
		if size := tile.PairSize(parts[2*k], parts[2*k+1]); size > most {
			most, index = size, at+k
		}
	}
	return index
}

// isSize reports whether the absolute values of the first two parts have a sum.
func isSize[F tile.Float](parts []F) bool { return parts[0] == parts[0] && parts[1] == parts[1] }

// timesPairsApart multiplies n complex numbers by one.
func timesPairsApart(n int, x apart[[2]float32], re, im float32) {
	i := 0
	for ; n >= 2; n -= 2 {
		p, q := x.at(i), x.at(i+x.step)
		v, w := p[0], p[1]
		p[0], p[1] = float32(v*re)-float32(w*im), float32(w*re)+float32(v*im)
		v, w = q[0], q[1]
		q[0], q[1] = float32(v*re)-float32(w*im), float32(w*re)+float32(v*im)
		i += 2 * x.step
	}
	if n > 0 {
		p := x.at(i)
		v, w := p[0], p[1]
		p[0], p[1] = float32(v*re)-float32(w*im), float32(w*re)+float32(v*im)
	}
}

// stridedSquares returns the sum of the squares of the parts of n complex numbers, inc apart, in float64.
func stridedSquares[F tile.Float](n int, x []F, inc int) float64 {
	var even, evenIm, odd, oddIm float64
	step := 2 * inc
	for n >= 2 {
		v, w := x[:2], x[step:][:2]
		a, b, c, d := float64(v[0]), float64(v[1]), float64(w[0]), float64(w[1])
		even += float64(a * a)
		evenIm += float64(b * b)
		odd += float64(c * c)
		oddIm += float64(d * d)
		if n -= 2; n > 0 {
			x = x[2*step:]
		}
	}
	if n == 1 {
		a, b := float64(x[0]), float64(x[1])
		even += float64(a * a)
		evenIm += float64(b * b)
	}
	return (even + odd) + (evenIm + oddIm)
}
