/* A round of a ring by a C program, as a floor for the transport: every process sends the
 * same bytes to its two neighbours, ROUNDS times, and rank 0 prints the seconds of each of
 * 20 equal parts. Usage: round BYTES ROUNDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	int bytes = atoi(argv[1]), rounds = atoi(argv[2]);
	int peers[2] = {(rank + size - 1) % size, (rank + 1) % size}, weights[2] = {1, 1};
	MPI_Comm ring;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0, &ring);
	char *out = malloc(bytes), *in = malloc(2 * (size_t)bytes);
	memset(out, 1, bytes);
	memset(in, 1, 2 * (size_t)bytes);
	for (int part = 0; part < 20; part++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double began = MPI_Wtime();
		for (int k = 0; k < rounds; k++)
			MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring);
		if (rank == 0)
			printf("%.9f\n", (MPI_Wtime() - began) / rounds);
	}
	MPI_Finalize();
	return 0;
}
