//go:build !purego && !openblas

package kernel

const build = "default"

func library() string { return "" }

func useOpenBLAS() bool { return false }
