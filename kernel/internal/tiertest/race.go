//go:build race

package tiertest

const racing = true
