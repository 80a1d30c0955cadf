package blas

import (
	"sync"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// Products are the same for both types of numbers, but for the tiles below.

var pools = [2]sync.Pool{
	{New: func() any { return new(buffers[float64]) }},
	{New: func() any { return new(buffers[float32]) }},
}

// poolOf returns the memory of products of a type.
func poolOf[F tile.Float]() *sync.Pool { return &pools[kind[F]()] }

var memories = [2]sync.Pool{
	{New: func() any { return new([]float64) }},
	{New: func() any { return new([]float32) }},
}

// memoryOf returns slices of a type for any use.
func memoryOf[F tile.Float]() *sync.Pool { return &memories[kind[F]()] }

// kind returns 0 for float64, and 1 for float32.
func kind[F tile.Float]() int { return 2 - int(unsafe.Sizeof(F(0))/4) }

// width returns the number of columns of a panel.
func width[F tile.Float]() int {
	if unsafe.Sizeof(F(0)) == 4 {
		return tile.PackWidth32
	}
	return tile.PackWidth
}

// as returns the same numbers under the name of their type.
func as[T, F tile.Float](x []F) []T { return *(*[]T)(unsafe.Pointer(&x)) }

// panel computes n columns of C = W Z, or adds them to C, by rows, for a panel Z of depth rows.
func panel[F tile.Float](c []F, ldc int, w []F, ldw int, z []F, ldz, rows, depth, n int, add bool) {
	switch {
	case unsafe.Sizeof(F(0)) == 4:
		tile.Panel32(as[float32](c), ldc, as[float32](w), ldw, as[float32](z), ldz, rows, depth, n, add)
	case n < tile.PackWidth:
		tile.PanelTail(as[float64](c), ldc, as[float64](w), ldw, as[float64](z), ldz, rows, depth, n, add)
	default:
		tile.Panel(as[float64](c), ldc, as[float64](w), ldw, as[float64](z), ldz, rows, depth, add)
	}
}

// transpose sets the rows of dst to the columns of the m x n matrix src.
func transpose[F tile.Float](dst []F, ldd int, src []F, lds, m, n int) {
	if unsafe.Sizeof(F(0)) == 4 {
		tile.Transpose32(as[float32](dst), ldd, as[float32](src), lds, m, n)
		return
	}
	tile.Transpose(as[float64](dst), ldd, as[float64](src), lds, m, n)
}

// rowDots sets sums to the products of m rows of a and x.
func rowDots[F tile.Float](sums, a []F, lda int, x []F, m, n int) {
	if unsafe.Sizeof(F(0)) == 4 {
		tile.RowDots32(as[float32](sums), as[float32](a), lda, as[float32](x), m, n)
		return
	}
	tile.RowDots(as[float64](sums), as[float64](a), lda, as[float64](x), m, n)
}

// addRows adds m rows of a, times the numbers b, to y.
func addRows[F tile.Float](y, a []F, lda int, b []F, m, n int) {
	if unsafe.Sizeof(F(0)) == 4 {
		tile.AddRows32(as[float32](y), as[float32](a), lda, as[float32](b), m, n)
		return
	}
	tile.AddRows(as[float64](y), as[float64](a), lda, as[float64](b), m, n)
}

// addOuter adds y, times the numbers b, to m rows of a.
func addOuter[F tile.Float](a []F, lda int, b, y []F, m, n int) {
	if unsafe.Sizeof(F(0)) == 4 {
		tile.AddOuter32(as[float32](a), lda, as[float32](b), as[float32](y), m, n)
		return
	}
	tile.AddOuter(as[float64](a), lda, as[float64](b), as[float64](y), m, n)
}
