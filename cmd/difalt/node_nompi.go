//go:build !mpi

package main

import (
	"context"
	"io"
)

func (f *nodeFlags) runMPI(context.Context, io.Writer, io.Writer) error {
	return usagef("--engine is mpi: this program was built without MPI; build it with CC=mpicc go build -tags mpi ./cmd/difalt")
}
