//go:build purego && !openblas

package kernel

const build = "purego"

func library() string { return "" }

func useOpenBLAS() bool { return false }
