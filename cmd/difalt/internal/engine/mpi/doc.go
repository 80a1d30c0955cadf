// Package mpi implements transport.Transport between the processes of one MPI job, on one site whose
// network is trusted: nothing is encrypted, and every process of the job is accepted. It needs builds with
// -tags mpi, cgo and the compiler of an MPI library of version 3 or later:
//
//	CC=mpicc go build -tags mpi ./...
//	mpirun -np 4 program
//	srun --mpi=pmix -n 4 program
//
// The process of rank i hosts node i. Frames cross all edges of a node together, each as one message on the
// communicator of MPI_Dist_graph_create_adjacent. Only its sender has the length of a frame, so a frame is
// received after it has started to arrive, into memory of its length (MPI_Improbe). A neighbourhood
// collective would need the length before, and would not report the neighbour that is late.
//
// MPI ends the job when a process is lost. A process that fails reports its reason and ends the job with
// MPI_Abort; so does a process that receives nothing for the time of a round.
package mpi
