//go:build purego && !openblas

package kernel

const build = "purego"

func library() string { return "" }
