//go:build mpi && !cgo

package mpi

var _ = tag_mpi_needs_cgo__set_CGO_ENABLED_to_1_and_CC_to_mpicc
