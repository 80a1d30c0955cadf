//go:build !race

package tiertest

const racing = false
