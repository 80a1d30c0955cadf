package blas

import (
	"sync"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// pool holds the memory of products, and memories slices for any use, see borrow. Both types of numbers use them.
var (
	pool     = sync.Pool{New: func() any { return new(buffers[float64]) }}
	memories = sync.Pool{New: func() any { return new([]float64) }}
)

// buffersOf returns memory of a product, and giveBuffers keeps it for the next one.
func buffersOf[F tile.Float]() *buffers[F] {
	return (*buffers[F])(unsafe.Pointer(pool.Get().(*buffers[float64])))
}

func giveBuffers[F tile.Float](b *buffers[F]) { pool.Put((*buffers[float64])(unsafe.Pointer(b))) }

// borrow returns memory for at least n numbers, of any value; giveBack keeps it for the next caller.
func borrow[F tile.Float](n int) *[]F {
	m := memories.Get().(*[]float64)
	if len(*m) < n {
		*m = make([]float64, n)
	}
	return (*[]F)(unsafe.Pointer(m))
}

func giveBack[F tile.Float](m *[]F) { memories.Put((*[]float64)(unsafe.Pointer(m))) }

// kind returns 0 for float64, and 1 for float32.
func kind[F tile.Float]() int { return 2 - int(unsafe.Sizeof(F(0))/4) }

// as returns the same numbers under the name of their type.
func as[T, F tile.Float](x []F) []T { return *(*[]T)(unsafe.Pointer(&x)) }
