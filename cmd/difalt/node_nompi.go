//go:build !mpi

package main

import (
	"context"

	"github.com/difalt/difalt/cmd/difalt/internal/options"
)

func (t *training) runMPI(context.Context) error {
	return options.Usagef("--engine is mpi: this program was built without MPI; build it with CC=mpicc go build -tags mpi ./cmd/difalt")
}
