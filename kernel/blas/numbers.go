package blas

import (
	"sync"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

var pools = [2]sync.Pool{
	{New: func() any { return new(buffers[float64]) }},
	{New: func() any { return new(buffers[float32]) }},
}

// poolOf returns the memory of products of a type.
func poolOf[F tile.Float]() *sync.Pool { return &pools[kind[F]()] }

// memories are slices of a type for any use; see borrow.
var memories = [2]sync.Pool{
	{New: func() any { return new([]float64) }},
	{New: func() any { return new([]float32) }},
}

// kind returns 0 for float64, and 1 for float32.
func kind[F tile.Float]() int { return 2 - int(unsafe.Sizeof(F(0))/4) }

// as returns the same numbers under the name of their type.
func as[T, F tile.Float](x []F) []T { return *(*[]T)(unsafe.Pointer(&x)) }
