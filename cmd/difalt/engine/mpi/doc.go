// Package mpi is a wire.Transport between the processes of one MPI job, for one
// site whose network is trusted: nothing is encrypted, and who is in the job may speak.
// It is part of builds with -tags mpi only, which need cgo and the compiler of an MPI
// library of version 3 or later:
//
//	CC=mpicc go build -tags mpi ./...
//	mpirun -np 4 program
//	srun --mpi=pmix -n 4 program
//
// The process of rank i hosts node i. Frames cross all edges of a node at once, each as one
// message on the communicator of MPI_Dist_graph_create_adjacent. How long the next frame is
// nobody knows but its sender, so it is not received before it has begun to come, with room
// for as much as has come (MPI_Improbe). A neighbourhood collective would need to know before;
// within MPI libraries it is such messages too, and it does not say whose is missing.
//
// MPI takes a node that is lost for the end of the job. Whoever fails ends it with
// MPI_Abort, after it has said why; who hears nothing for the time of a round does too.
package mpi
