//go:build openblas

package kernel

import openblas "github.com/difalt/difalt/cgo"

const build = openBLASName

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

func useBLAS() { openblas.Use() }
