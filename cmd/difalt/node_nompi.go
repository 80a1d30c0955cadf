//go:build !mpi

package main

import (
	"context"
	"io"

	"github.com/difalt/difalt/internal/options"
)

func (f *nodeFlags) runMPI(context.Context, io.Writer, io.Writer) error {
	return options.Usagef("--engine is mpi: this program was built without MPI; build it with CC=mpicc go build -tags mpi ./cmd/difalt")
}
