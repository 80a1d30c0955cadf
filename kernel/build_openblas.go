//go:build openblas

package kernel

const build = "openblas"
