//go:build purego && !openblas

package kernel

const build = "purego"
