// Package mpi is a consensus.Transport between the processes of one MPI job, for one
// site whose network is trusted: nothing is encrypted, and who is in the job may speak.
// It is part of builds with -tags mpi only, which need cgo and the compiler of an MPI
// library of version 3 or later:
//
//	CC=mpicc go build -tags mpi ./...
//	mpirun -np 4 program
//	srun --mpi=pmix -n 4 program
//
// The process of rank i hosts node i. Frames cross all edges of a node at once, by one
// neighbourhood collective over MPI_Dist_graph_create_adjacent. How long the next frame
// is nobody knows but its sender, and to say so first would take a round of its own. So
// both ends of a link expect what its last frame had, or half of what they expected
// before if that is more: a round is one collective while lengths stay, and at most
// twice the bytes are sent. What exceeds the expectation follows as a message between the
// two, of the length that the header says.
//
// MPI takes a node that is lost for the end of the job. Whoever fails ends it with
// MPI_Abort, after it has said why; who hears nothing for the time of a round does too.
package mpi
