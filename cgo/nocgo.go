//go:build openblas && !cgo

package openblas

var _ = tag_openblas_needs_cgo__set_CGO_ENABLED_to_1_and_install_a_C_compiler
