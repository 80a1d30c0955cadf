//go:build openblas

package kernel

import openblas "github.com/difalt/difalt/cgo"

const build = openBLAS

func library() string { return openblas.Version() }

func useOpenBLAS() bool {
	openblas.Use()
	return true
}
