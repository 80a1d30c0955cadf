package tile

import (
	"math"
	"unsafe"
)

// Spans are rows of a triangle or a band of a matrix, in any order. Row r has the entries of columns First +
// r Forward to End + r Ahead, beside each other in A. Its column 0 is, or would be, at A[At + r Step +
// r(r-1)/2 Growth]: packed rows are at distances that grow or shrink by one. No row has entries before those
// of the row before it or, if Step is negative, none behind them.
//
// Vectors that are read or added to have multiples of Width entries, at least as many as columns. An inner
// product is the sum of Width partial sums, each of every Width-th column, in the order of RowDots.
type Spans[F Float] struct {
	A                []F
	At, Step, Growth int
	First, Forward   int
	End, Ahead       int
	Rows             int
}

// row returns the columns of row r, and its entries.
func (s *Spans[F]) row(r int) (first, end int, entries []F) {
	first, end = s.First+r*s.Forward, s.End+r*s.Ahead
	if first >= end {
		return first, end, nil
	}
	at := s.At + r*s.Step + r*(r-1)/2*s.Growth
	return first, end, s.A[at+first : at+end]
}

// badSpans is the panic of spans that are not all within a matrix and vectors.
const badSpans = "tile: spans out of range"

// hold panics unless all rows are within A, and their columns within vectors of n entries.
func (s *Spans[F]) hold(n int) {
	last := s.Rows - 1
	first, end := s.First+last*s.Forward, s.End+last*s.Ahead
	if min(s.First, first) < 0 || max(s.End, end) > n || n%Width != 0 || s.First > s.End || first > end {
		panic(badSpans)
	}
	// From row to row the indices of the first and last entries do not decrease, or they do not increase.
	step, end2 := s.Step, s.Step+max(0, last-1)*s.Growth
	up := min(step+s.Forward, end2+s.Forward, step+s.Ahead, end2+s.Ahead) >= 0
	down := max(step+s.Forward, end2+s.Forward, step+s.Ahead, end2+s.Ahead) <= 0
	if last > 0 && !up && !down {
		panic(badSpans)
	}
	at := s.At + last*s.Step + last*(last-1)/2*s.Growth
	if min(s.At+s.First, at+first) < 0 || max(s.At+s.End, at+end) > len(s.A) {
		panic(badSpans)
	}
}

// race reports the rows to the race detector.
func (s *Spans[F]) race(written bool) {
	for r := 0; Race && r < s.Rows; r++ {
		if _, _, entries := s.row(r); written {
			raceWrite(entries, 1, len(entries), 0)
		} else {
			raceRead(entries, 1, len(entries), 0)
		}
	}
}

// raceReads reports vectors that are read to the race detector, and raceWrites vectors that are written.
func raceReads[F Float](all ...[]F) {
	for _, x := range all {
		raceRead(x, 1, len(x), 0)
	}
}

func raceWrites[F Float](all ...[]F) {
	for _, x := range all {
		raceWrite(x, 1, len(x), 0)
	}
}

// fused returns x y + z, rounded once but in portable Go.
func fused[F Float](x, y, z F) F {
	if active == Generic {
		return F(x*y) + z
	}
	if unsafe.Sizeof(x) == 4 {
		return F(fused32(float64(x), float64(y), float64(z)))
	}
	return F(math.FMA(float64(x), float64(y), float64(z)))
}

// fused32 returns x y + z of numbers in float32, such that its float32 is rounded once. The product is exact.
// A sum that is rounded and whose last bit is 0 may be the middle of two float32: it moves to the float64 on
// the side of the exact sum, whose last bit is 1.
func fused32(x, y, z float64) float64 {
	product := float64(x * y)
	sum := product + z
	part := sum - product
	left := (product - (sum - part)) + (z - part) // the rounding of the sum, which is exact
	if left == 0 || left != left || math.Float64bits(sum)%2 == 1 {
		return sum
	}
	return math.Nextafter(sum, math.Copysign(math.Inf(1), left))
}

// dot returns the product of row r and x.
func (s *Spans[F]) dot(r int, x []F) F {
	var sums [Width]F
	first, _, entries := s.row(r)
	for k, v := range entries {
		c := first + k
		sums[c%Width] = fused(v, x[c], sums[c%Width])
	}
	return foldPartial(&sums)
}

// foldPartial adds the partial sums of an inner product of several rows.
func foldPartial[F Float](s *[Width]F) F {
	if unsafe.Sizeof(F(0)) == 4 {
		return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
	}
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// add adds row r, times a number, to y.
func (s *Spans[F]) add(r int, by F, y []F) {
	first, _, entries := s.row(r)
	for k, v := range entries {
		y[first+k] = fused(v, by, y[first+k])
	}
}

// address returns the address of a vector, or nil for none.
func address[F Float](x []F) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// tiled checks the operands, and reports whether the tier has tiles of spans.
func (s *Spans[F]) tiled(n int, others ...[]F) bool {
	s.hold(n)
	for _, x := range others {
		if x != nil && len(x) < n {
			panic(badSpans)
		}
	}
	return tiles.spanDots[1] != 0
}

// numbersOf panics unless there are as many numbers as rows, and twice as many with a second vector.
func (s *Spans[F]) numbersOf(numbers []F, second []F) (count int) {
	count = 1
	if second != nil {
		count = 2
	}
	if len(numbers) < count*s.Rows {
		panic(badSpans)
	}
	return count
}

// Dots sets sums to the products of the rows and x. If z is not nil, it sets pairs of them to the products
// with x and z.
func (s *Spans[F]) Dots(sums, x, z []F) {
	if s.Rows == 0 {
		return
	}
	count := s.numbersOf(sums, z)
	if !s.tiled(len(x), z) {
		for r := range s.Rows {
			sums[r*count] = s.dot(r, x)
			if z != nil {
				sums[r*count+1] = s.dot(r, z)
			}
		}
		return
	}
	if Race {
		s.race(false)
		raceReads(x, z)
		raceWrites(sums)
	}
	spanDotsTile(
		address(sums), address(x), address(z),
		address(s.A), s.At, s.Step, s.Growth, s.First, s.Forward,
		s.End, s.Ahead, s.Rows, of[F](count),
	)
}

// Add adds the rows, times numbers of b, to y. If w is not nil, b has pairs, whose second ones are for w.
func (s *Spans[F]) Add(b, y, w []F) {
	if s.Rows == 0 {
		return
	}
	count := s.numbersOf(b, w)
	if !s.tiled(len(y), w) {
		for r := range s.Rows {
			s.add(r, b[r*count], y)
			if w != nil {
				s.add(r, b[r*count+1], w)
			}
		}
		return
	}
	if Race {
		s.race(false)
		raceReads(b)
		raceWrites(y, w)
	}
	spanAddTile(
		address(b), address(y), address(w),
		address(s.A), s.At, s.Step, s.Growth, s.First, s.Forward,
		s.End, s.Ahead, s.Rows, of[F](count),
	)
}

// DotsAndAdd is Dots with x and z, and Add to y and w. It loads the rows once.
func (s *Spans[F]) DotsAndAdd(sums, b, x, z, y, w []F) {
	if s.Rows == 0 {
		return
	}
	count := s.numbersOf(sums, z)
	s.numbersOf(b, w)
	if !s.tiled(len(x), z, y, w) {
		s.Dots(sums, x, z)
		s.Add(b, y, w)
		return
	}
	if Race {
		s.race(false)
		raceReads(b, x, z)
		raceWrites(sums, y, w)
	}
	spanBothTile(
		address(sums), address(b), address(x), address(z), address(y), address(w),
		address(s.A), s.At, s.Step, s.Growth, s.First, s.Forward,
		s.End, s.Ahead, s.Rows, of[F](count),
	)
}

// AddOuter adds one, two or four vectors, times numbers of b, to the rows: one vector after the
// other, in this order, to each entry. b has as many numbers for each row as there are vectors, and y has the
// vectors one after the other.
func (s *Spans[F]) AddOuter(b, y []F, vectors int) {
	if s.Rows == 0 {
		return
	}
	n := len(y) / vectors
	few := vectors == 1 || vectors == 2 || vectors == OuterVectors
	if len(y) != vectors*n || !few || len(b) < vectors*s.Rows {
		panic(badSpans)
	}
	if !s.tiled(n) {
		for r := range s.Rows {
			first, end, entries := s.row(r)
			for i := range vectors {
				AddOuter(entries, len(entries), b[r*vectors+i:], y[i*n:][min(first, end):end], 1, len(entries))
			}
		}
		return
	}
	if Race {
		raceReads(b, y)
		s.race(true)
	}
	spanOuterTile(
		address(b), address(y), n,
		address(s.A), s.At, s.Step, s.Growth, s.First, s.Forward,
		s.End, s.Ahead, s.Rows, of[F](vectors),
	)
}

// Solve sets b to unknowns: unknown r is y[own+r change] over d[r], or as it is if d is nil. Its row, times
// the unknown, is subtracted from y before the next one.
func (s *Spans[F]) Solve(b, d, y []F, own, change int) {
	if s.Rows == 0 {
		return
	}
	s.numbersOf(b, nil)
	if last := own + (s.Rows-1)*change; min(own, last) < 0 || max(own, last) >= len(y) || d != nil && len(d) < s.Rows {
		panic(badSpans)
	}
	if !s.tiled(len(y)) {
		for r := range s.Rows {
			v := y[own+r*change]
			if d != nil {
				v /= d[r]
			}
			b[r] = v
			s.add(r, -v, y)
		}
		return
	}
	if Race {
		s.race(false)
		raceReads(d)
		raceWrites(b, y)
	}
	spanSolveTile(
		address(b), address(d), address(y), unsafe.Pointer(&y[own]), change,
		address(s.A), s.At, s.Step, s.Growth, s.First, s.Forward,
		s.End, s.Ahead, s.Rows, of[F](1),
	)
}
