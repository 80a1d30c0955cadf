package tile_test

import (
	"math"
	"slices"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// checks hold the operations to their definitions, each for a shape.
var checks = map[string]func(*run, shape){
	"MulBasis": mulBasis[float64], "MulBasis32": mulBasis[float32], "MulPacked": mulPacked, "PackBasis": packBasis,
	"MulTransposed": mulTransposed[float64], "MulTransposed32": mulTransposed[float32], "RankUpdate": rankUpdate,
	"Panel": panel[float64], "Panel32": panel[float32], "Panel of W by columns": panelByColumns[float64],
	"Panel32 of W by columns": panelByColumns[float32], "Panel of pairs": panelOfPairs[float64],
	"Panel32 of pairs": panelOfPairs[float32], "PairPanel": pairPanel,
	"Panels": panelsOf[float64], "Panels32": panelsOf[float32], "TriangleOf": besideSquares[float64],
	"TriangleOf32": besideSquares[float32], "ComplexProduct": complexProduct[float64],
	"ComplexProduct32": complexProduct[float32], "Transpose": transpose[float64], "Transpose32": transpose[float32],
	"CopyRows": copyRows[float64], "CopyRows32": copyRows[float32],
	"CopyPanels": copyPanels[float64], "CopyPanels32": copyPanels[float32],
	"RowDots": rowDots[float64], "RowDots32": rowDots[float32], "AddRows": addRows[float64],
	"AddRows32": addRows[float32],
	"AddOuter":  addOuter[float64], "AddOuter32": addOuter[float32], "SymmetricRows": symmetricRows[float64],
	"SymmetricRows32": symmetricRows[float32],
	"RowProducts":     rowProducts[float64], "RowProducts32": rowProducts[float32],
	"GrowingRowDots": growingRowDots[float64], "GrowingRowDots32": growingRowDots[float32],
	"NarrowColumns": narrowColumns[float64], "NarrowColumns32": narrowColumns[float32],
	"SumColumns": sumColumns[float64], "SumColumns32": sumColumns[float32],
	"NarrowRows": narrowRows[float64], "NarrowRows32": narrowRows[float32],
	"NarrowPairs": narrowPairs[float64], "NarrowPairs32": narrowPairs[float32],
	"RowDotPairs": rowDotPairs[float64], "RowDotPairs32": rowDotPairs[float32],
	"AddRowPairs": addRowPairs[float64], "AddRowPairs32": addRowPairs[float32],
	"AddOuterPairs": addOuterPairs[float64], "AddOuterPairs32": addOuterPairs[float32],
	"Span dots": spanDots[float64], "Span dots32": spanDots[float32],
	"Span add": spanAdd[float64], "Span add32": spanAdd[float32],
	"Span both": spanBoth[float64], "Span both32": spanBoth[float32],
	"Span outer": spanOuter[float64], "Span outer32": spanOuter[float32],
	"Span solve": spanSolve[float64], "Span solve32": spanSolve[float32],
	"AddScaled": addScaled[float64], "AddScaled32": addScaled[float32],
	"InnerProduct": innerProduct[float64], "InnerProduct32": innerProduct[float32], "Squares": squares,
	"Absolutes": absolutes[float64], "Absolutes32": absolutes[float32],
	"AddComplex": addComplex[float64], "AddComplex32": addComplex[float32],
	"TimesComplex": timesComplex[float64], "TimesComplex32": timesComplex[float32],
	"DotComplex": dotComplex[float64], "DotComplex32": dotComplex[float32],
	"PackComplex": packComplex[float64], "PackComplex32": packComplex[float32],
	"TurnPairs": turnPairs[float64], "TurnPairs32": turnPairs[float32], "CombinePairs": combinePairs[float64],
	"CombinePairs32": combinePairs[float32], "SplitPairs": splitPairs[float64], "SplitPairs32": splitPairs[float32],
	"TransposeComplex": transposeComplex[float64], "TransposeComplex32": transposeComplex[float32],
	"PlaneRotation": planeRotation[float64], "PlaneRotation32": planeRotation[float32],
	"Turn": turn[float64], "Turn32": turn[float32],
	"LargestPair": largestPair[float64], "LargestPair32": largestPair[float32],
	"GatherPairs": gatherPairs[float64], "GatherPairs32": gatherPairs[float32],
	"ScalePairs": scalePairs[float64], "ScalePairs32": scalePairs[float32],
	"Swap": swap[float64], "Swap32": swap[float32],
	"LargestIndex": largestIndex[float64], "LargestIndex32": largestIndex[float32],
	"AddAbs": addAbs, "Reflect": reflect, "Scale": scale[float64], "Scale32": scale[float32],
	"SolveRows": solveRows[float64], "SolveRows32": solveRows[float32],
	"MultiplyRows": multiplyRows[float64], "MultiplyRows32": multiplyRows[float32],
	"SolveComplexRows": solveComplexRows[float64], "SolveComplexRows32": solveComplexRows[float32],
	"MultiplyComplexRows": multiplyComplexRows[float64], "MultiplyComplexRows32": multiplyComplexRows[float32],
	"Rotate": rotate, "SumDifferences": sumDifferences, "Residual": residual, "SolveUpper": solveUpper,
	"LeastSquares": leastSquares, "LeastSquares of few columns": leastSquaresSmall, "Orthogonalize": setApart,
}

// strided adds the products of n entries of two vectors.
func strided[F, G tile.Float](s *sum, n int, x []F, incX int, y []G, incY int) {
	for k := range n {
		s.add(float64(x[k*incX]), float64(y[k*incY]))
	}
}

// The products with samples are checked alike for both storages.

func mulBasis[F tile.Float](r *run, s shape) {
	x, ldx := padded[F](r, "x", s.d, s.n)
	u, ldu := padded[float64](r, "u", s.d, s.r)
	a, lda := columns[float64](r, s.n, s.r, 1)
	h := r.ahead(a)
	r.call(func() { tile.MulBasis(a, lda, x, ldx, u, ldu, s.n, s.d, s.r, h) })
	entries(r, a, lda, s.n, s.r, func(want *sum, i, j int) { strided(want, s.d, x[i*ldx:], 1, u[j*ldu:], 1) })
}

func mulPacked(r *run, s shape) {
	u, ldu := padded[float64](r, "u", s.d, s.r)
	packed := make([]float64, tile.PackedLen(s.d, s.r))
	r.call(func() { tile.PackBasis(packed, u, ldu, s.d, s.r) })
	x, ldx := padded[float64](r, "x", s.d, s.n)
	p := alloc[float64](r, len(packed))
	copy(p, packed)
	declare(r, "p", p)
	a, lda := columns[float64](r, s.n, s.r, 1)
	h := r.ahead(a)
	r.call(func() { tile.MulPacked(a, lda, x, ldx, p, s.n, s.d, s.r, h) })
	entries(r, a, lda, s.n, s.r, func(want *sum, i, j int) { strided(want, s.d, x[i*ldx:], 1, u[j*ldu:], 1) })
}

// packBasis checks every entry of the panels, and zeros where a panel has no column.
func packBasis(r *run, s shape) {
	u, ldu := padded[float64](r, "u", s.d, s.r)
	p := alloc[float64](r, tile.PackedLen(s.d, s.r))
	r.call(func() { tile.PackBasis(p, u, ldu, s.d, s.r) })
	d := tile.Pad(s.d)
	for i, got := range p {
		j, k, want := i/(tile.PackWidth*d)*tile.PackWidth+i%tile.PackWidth, i/tile.PackWidth%d, 0.0
		if j < s.r {
			want = u[j*ldu+k]
		}
		if !r.same(got, want, k, j) {
			return
		}
	}
}

func mulTransposed[F tile.Float](r *run, s shape) {
	x, ldx := padded[F](r, "x", s.d, s.n)
	e, _ := dense[float64](r, "e", s.n, 1)
	g, h := alloc[float64](r, tile.Pad(s.d)), r.ahead(e)
	r.call(func() { tile.MulTransposed(g, x, ldx, e, s.n, s.d, h) })
	entries(r, g, 0, len(g), 1, func(want *sum, k, _ int) { strided(want, s.n, e, 1, x[min(k, len(x)):], ldx) })
}

func rankUpdate(r *run, s shape) {
	m, d := s.n%19, tile.Pad(s.d)
	v, ldv := padded[float64](r, "v", s.d, m)
	b, ldb := dense[float64](r, "b", s.r, m)
	g, ldg := filled[float64](r, s.d, d, s.r, tile.Width)
	before := slices.Clone(g)
	r.call(func() { tile.RankUpdate(g, ldg, v, ldv, b, ldb, m, s.d, s.r) })
	entries(r, g, ldg, d, s.r, func(want *sum, k, j int) {
		want.add(before[j*ldg+k], 1)
		strided(want, m, b[min(j, len(b)):], ldb, v[min(k, len(v)):], ldv)
	})
}

// panel takes the rank for the length of the products and the features for the number of columns, half of the
// time all of them, once to set the sums and once to add to them.
func panel[F tile.Float](r *run, s shape) {
	w, ldw := dense[F](r, "w", s.r, s.n)
	panelOf(r, s, w, tile.ByRows(ldw))
}

func panelByColumns[F tile.Float](r *run, s shape) {
	w, ldw := dense[F](r, "w", s.n, s.r)
	panelOf(r, s, w, tile.ByColumns(ldw))
}

func panelOfPairs[F tile.Float](r *run, s shape) {
	s.r &^= 1
	w, ldw := dense[F](r, "w", 2*s.n, s.r/2)
	panelOf(r, s, w, tile.PairsByColumns(ldw))
}

func panelOf[F tile.Float](r *run, s shape, w []F, at tile.Layout) {
	cols := tile.PanelWidth[F]()
	if s.d%2 > 0 {
		cols = s.d % cols
	}
	z, ldz := dense[F](r, "z", cols, s.r)
	c, ldc := filled[F](r, cols, cols, s.n, 1)
	size := int(unsafe.Sizeof(F(0)))
	var ahead tile.Ahead
	for _, u := range updates[F]() {
		before := slices.Clone(c)
		r.call(func() { tile.Panel(c, ldc, w, at, z, ldz, s.n, s.r, cols, u, ahead) })
		// also what cannot be read
		ahead = tile.NewAhead(unsafe.Pointer(unsafe.SliceData(c)), ldc*size, 1<<20, s.r*size).From(4096)
		entries(r, c, ldc, cols, s.n, func(want *sum, k, i int) {
			updated(want, u, before, i*ldc+k)
			for j := range s.r {
				place := i*at.Down + (j+1)/2*at.Next + j/2*at.Across
				want.add(float64(u.Alpha)*float64(w[place]), float64(z[j*ldz+k]))
			}
		})
	}
}

// updates are the kinds of updates of C.
func updates[F tile.Float]() []tile.Update[F] {
	return []tile.Update[F]{{Alpha: 1}, {Alpha: 1, Beta: 1}, {Alpha: -.75}, {Alpha: 1, Beta: .5},
		{Alpha: -1, Beta: 1}, {Alpha: .3, Beta: -2}}
}

// updated adds what an update leaves of an entry of C, which it does not read for 0.
func updated[F tile.Float](want *sum, u tile.Update[F], before []F, k int) {
	if u.Beta != 0 {
		want.add(float64(before[k]), float64(u.Beta))
	}
}

// panelsOf takes up to five panels of columns: of a matrix by rows, or packed.
func panelsOf[F tile.Float](r *run, s shape) {
	width := tile.PanelWidth[F]()
	cols := 1 + s.d%(5*width)
	w, ldw := dense[F](r, "w", s.r, s.n)
	var z []F
	ldz, apart := width, width*s.r+3
	if s.d%2 > 0 {
		z = alloc[F](r, max(apart*((cols+width-1)/width-1)+(s.r-1)*width+(cols-1)%width+1, 0))
		for i := range z {
			z[i] = F(r.value(r.rng))
		}
		declare(r, "z", z)
	} else {
		z, ldz = dense[F](r, "z", cols, s.r)
		apart = width
	}
	c, ldc := filled[F](r, cols, cols, s.n, 1)
	for _, u := range updates[F]() {
		before := slices.Clone(c)
		r.call(func() { tile.Panels(c, ldc, w, tile.ByRows(ldw), z, ldz, apart, s.n, s.r, cols, u) })
		entries(r, c, ldc, cols, s.n, func(want *sum, k, i int) {
			updated(want, u, before, i*ldc+k)
			for j := range s.r {
				want.add(float64(u.Alpha)*float64(w[i*ldw+j]), float64(z[k/width*apart+j*ldz+k%width]))
			}
		})
	}
}

// pairPanel takes the rank for the length of the products.
func pairPanel(r *run, s shape) {
	m, n, cols := (s.n+11)/12*12, s.r, 1+s.d%tile.PairColumns
	w, ldw := dense[float64](r, "w", n, m)
	b, ldb := dense[float64](r, "b", cols, n)
	z := alloc[float64](r, tile.PairLen(n))
	tile.PackPairs(z, b, ldb, 1, n, cols)
	declare(r, "z", z)
	c, ldc := filled[float64](r, cols, cols, m, 1)
	r.call(func() { tile.PairPanel(c, ldc, w, ldw, z, m, n, cols) })
	entries(r, c, ldc, cols, m, func(want *sum, k, i int) {
		strided(want, n, w[i*ldw:], 1, b[min(k, len(b)):], ldb)
	})
}

func transpose[F tile.Float](r *run, s shape) {
	src, lds := dense[F](r, "src", s.d, s.n)
	dst, ldd := columns[F](r, s.n, s.d, 1)
	r.call(func() { tile.Transpose(dst, ldd, src, lds, s.n, s.d) })
	entries(r, dst, ldd, s.n, s.d, func(want *sum, i, j int) {
		r.same(float64(dst[j*ldd+i]), float64(src[i*lds+j]), j, i)
		want.add(float64(src[i*lds+j]), 1)
	})
}

func rowDots[F tile.Float](r *run, s shape) {
	a, lda := dense[F](r, "a", s.d, s.n)
	x, _ := dense[F](r, "x", s.d, 1)
	sums := alloc[F](r, s.n)
	r.call(func() { tile.RowDots(sums, a, lda, x, s.n, s.d) })
	entries(r, sums, 0, s.n, 1, func(want *sum, i, _ int) { strided(want, s.d, a[i*lda:], 1, x, 1) })
}

func addRows[F tile.Float](r *run, s shape) {
	a, lda := dense[F](r, "a", s.d, s.n)
	b, _ := dense[F](r, "b", s.n, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	before := slices.Clone(y)
	r.call(func() { tile.AddRows(y, a, lda, b, s.n, s.d) })
	entries(r, y, 0, s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(before[k]), 1)
		strided(want, s.n, b, 1, a[min(k, len(a)):], lda)
	})
}

// rowProducts checks also that entries have the bits of RowDots for several rows.
func rowProducts[F tile.Float](r *run, s shape) {
	d := max(s.d, tile.Width)
	columns := 4 + (s.n*7+d)%11 // on all tiers
	w, ldw := dense[F](r, "w", d, s.n)
	z, ldz := dense[F](r, "z", d, columns)
	c, ldc := filled[F](r, columns, columns, s.n, 1)
	several := make([]F, 4)
	r.call(func() { tile.RowProducts(c, ldc, w, ldw, z, ldz, s.n, columns, d) })
	entries(r, c, ldc, columns, s.n, func(want *sum, j, i int) {
		if i < s.n && j < columns {
			row := slices.Repeat(slices.Clone(z[j*ldz:][:d]), 4)
			tile.RowDots(several, row, d, w[i*ldw:], 4, d)
			r.same(float64(c[i*ldc+j]), float64(several[0]), j, i)
		}
		strided(want, d, w[i*ldw:], 1, z[min(j*ldz, len(z)):], 1)
	})
}

// atGrowingDistances returns a copy of rows of s.d entries at distances that begin with s.d + s.n + 1 and
// grow, with NaN between them.
func atGrowingDistances[F tile.Float](a []F, lda, growth int, s shape) []F {
	to := make([]F, s.n*(s.d+2*s.n+2)+1)
	for k := range to {
		to[k] = F(math.NaN())
	}
	at, step := 0, s.d+s.n+1
	for i := range s.n {
		copy(to[at:], a[i*lda:][:s.d])
		at += step
		step += growth
	}
	return to
}

// addRowPairs checks also that both sums have the bits of AddRows.
func addRowPairs[F tile.Float](r *run, s shape) {
	a, lda := dense[F](r, "a", s.d, s.n)
	b, _ := dense[F](r, "b", 2*s.n, 1)
	y, _ := filled[F](r, s.d, s.d, 1, 1)
	z, _ := filled[F](r, s.d, s.d, 1, 1)
	before := [][]F{slices.Clone(y), slices.Clone(z)}
	r.call(func() { tile.AddRowPairs(y, z, a, lda, 0, b, s.n, s.d) })
	for growth := -1; growth <= 1; growth += 2 {
		apart, step := atGrowingDistances(a, lda, growth, s), s.d+s.n+1
		again, other := slices.Clone(before[0]), slices.Clone(before[1])
		r.call(func() { tile.AddRowPairs(again, other, apart, step, growth, b, s.n, s.d) })
		for k := range s.d {
			r.same(float64(again[k]), float64(y[k]), k, growth)
			r.same(float64(other[k]), float64(z[k]), k, growth)
		}
	}
	for part, got := range [][]F{y, z} {
		single, by := slices.Clone(before[part]), make([]F, s.n)
		for i := range by {
			by[i] = b[2*i+part]
		}
		tile.AddRows(single, a, lda, by, s.n, s.d)
		for k, v := range single {
			r.same(float64(got[k]), float64(v), k, part)
		}
		entries(r, got, 0, s.d, 1, func(want *sum, k, _ int) {
			want.add(float64(before[part][k]), 1)
			strided(want, s.n, by, 1, a[min(k, len(a)):], lda)
		})
	}
}

func absolutes[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", s.d, 1)
	got := alloc[F](r, 1)
	r.call(func() { got[0] = tile.Absolutes(x) })
	entries(r, got, 0, 1, 1, func(want *sum, _, _ int) {
		for _, v := range x {
			want.add(math.Abs(float64(v)), 1)
		}
	})
}

func squares(r *run, s shape) {
	x, _ := dense[float32](r, "x", s.d, 1)
	got := alloc[float64](r, 1)
	r.call(func() { got[0] = tile.Squares(x) })
	entries(r, got, 0, 1, 1, func(want *sum, _, _ int) { strided(want, s.d, x, 1, x, 1) })
}

// symmetricRows checks the products of rows in the middle of a symmetric matrix, by each of its triangles.
func symmetricRows[F tile.Float](r *run, s shape) {
	first := min(s.n, 70)
	n := first + tile.Width + (s.d+51)%70 // none beside the last rows for 19, so that all of a is used
	a, lda := dense[F](r, "a", n, n)
	x, _ := dense[F](r, "x", n, 1)
	for _, upper := range []bool{true, false} {
		y, _ := filled[F](r, n, n, 1, 1)
		before := slices.Clone(y)
		r.call(func() { tile.SymmetricRows(y, a, lda, x, upper, first, n) })
		entries(r, y, 0, n, 1, func(want *sum, k, _ int) {
			want.add(float64(before[k]), 1)
			for i := range n {
				at, row, column := i*lda+k, i, k
				if (i > k) == upper {
					at, row, column = k*lda+i, k, i
				}
				if row >= first && row < first+tile.Width && row < n && column < n {
					want.add(float64(a[at]), float64(x[i]))
				}
			}
		})
	}
}

func addOuter[F tile.Float](r *run, s shape) {
	b, _ := dense[F](r, "b", s.n, 1)
	y, _ := dense[F](r, "y", s.d, 1)
	a, lda := filled[F](r, s.d, s.d, s.n, 1)
	before := slices.Clone(a)
	r.call(func() { tile.AddOuter(a, lda, b, y, s.n, s.d) })
	entries(r, a, lda, s.d, s.n, func(want *sum, k, i int) {
		want.add(float64(before[i*lda+k]), 1)
		want.add(float64(b[i]), float64(y[k]))
	})
}
