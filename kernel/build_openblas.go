//go:build openblas

package kernel

import "github.com/difalt/difalt/kernel/blas"

const build = openBLAS

func library() string { return blas.Backend() }
