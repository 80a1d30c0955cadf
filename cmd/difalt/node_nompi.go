//go:build !mpi

package main

import (
	"context"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// runMPI returns the error of a program without MPI.
func runMPI(context.Context, *cli.Streams, nodeOptions) error {
	return cli.WrongValue("engine", "mpi",
		"this program was built without MPI; build it with CC=mpicc go build -tags mpi ./cmd/difalt")
}
