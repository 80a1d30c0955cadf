//go:build mpi

#include "bridge.h"
#include <stdlib.h>

/* Of its own for who leaves, so that it is never taken for what others are still at. */
static MPI_Comm leaving;

int difalt_init(void) {
	int level, err = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
	if (err == MPI_SUCCESS && level < MPI_THREAD_SERIALIZED)
		err = MPI_ERR_UNSUPPORTED_OPERATION;
	if (err == MPI_SUCCESS)
		err = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* and of what is made of it */
	if (err == MPI_SUCCESS)
		err = MPI_Comm_dup(MPI_COMM_WORLD, &leaving);
	return err;
}

int difalt_rank(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); return rank; }
int difalt_size(void) { int size; MPI_Comm_size(MPI_COMM_WORLD, &size); return size; }

int difalt_barrier(MPI_Request *r) { return MPI_Ibarrier(leaving, r); }

int difalt_gather(const void *p, int n, void *all, MPI_Request *r) {
	return MPI_Iallgather(p, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD, r);
}

int difalt_gatherv(const void *p, int n, void *all, const int *counts, const int *at, MPI_Request *r) {
	return MPI_Iallgatherv(p, n, MPI_BYTE, all, counts, at, MPI_BYTE, MPI_COMM_WORLD, r);
}

int difalt_graph(int n, const int *peers, MPI_Comm *graph) {
	/* volatile: compilers warn that this address, which MPI only compares, has nothing behind it */
	int *volatile none = (int *)MPI_UNWEIGHTED;
	return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, peers, none, n, peers, none, MPI_INFO_NULL, 0, graph);
}

/* Sets open to the first request that is under way or has failed, or to n. */
int difalt_test(int n, MPI_Request *r, int tries, int *open) {
	int err = MPI_SUCCESS, done = 1;
	for (*open = 0; *open < n && tries > 0; tries--)
		for (; *open < n; ++*open) {
			err = MPI_Test(r + *open, &done, MPI_STATUS_IGNORE);
			if (err != MPI_SUCCESS)
				return err;
			if (!done)
				break;
		}
	return MPI_SUCCESS;
}

void difalt_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

difalt_links *difalt_links_new(int n) {
	difalt_links *l = calloc(1, sizeof *l);
	l->n = n;
	l->out = calloc(n, sizeof *l->out);
	l->in = calloc(n, sizeof *l->in);
	l->from = calloc(n, sizeof *l->from);
	l->to = calloc(n, sizeof *l->to);
	l->types = calloc(n, sizeof *l->types);
	l->requests = calloc(1 + 2 * n, sizeof *l->requests);
	for (int k = 0; k < n; k++)
		l->types[k] = MPI_BYTE;
	for (int k = 0; k < 1 + 2 * n; k++)
		l->requests[k] = MPI_REQUEST_NULL;
	return l;
}

int difalt_exchange(difalt_links *l, MPI_Comm graph) {
	return MPI_Ineighbor_alltoallw(MPI_BOTTOM, l->out, l->from, l->types, MPI_BOTTOM, l->in, l->to, l->types, graph, l->requests);
}

int difalt_send(difalt_links *l, int k, int peer, const void *p, int n, MPI_Comm graph) {
	return MPI_Isend(p, n, MPI_BYTE, peer, 0, graph, l->requests + 1 + k);
}

int difalt_receive(difalt_links *l, int k, int peer, void *p, int n, MPI_Comm graph) {
	return MPI_Irecv(p, n, MPI_BYTE, peer, 0, graph, l->requests + 1 + l->n + k);
}
