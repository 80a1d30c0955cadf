//go:build !mpi

package main

import (
	"context"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

func (t *training) runMPI(context.Context) error {
	return cli.WrongValue("engine", "mpi", "this program was built without MPI; build it with CC=mpicc go build -tags mpi ./cmd/difalt")
}
