//go:build mpi

#include "bridge.h"
#include <stdlib.h>

/* A separate communicator for leaving, so that its barrier cannot match other traffic. */
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

int difalt_all_there(MPI_Request *r) { return MPI_Ibarrier(MPI_COMM_WORLD, r); }

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
	l->link = calloc(n, sizeof *l->link);
	l->requests = calloc(2 * n, sizeof *l->requests);
	for (int k = 0; k < 2 * n; k++)
		l->requests[k] = MPI_REQUEST_NULL;
	return l;
}

static int begin(difalt_links *l) {
	int err = MPI_SUCCESS;
	for (int k = 0; k < l->n && err == MPI_SUCCESS; k++) {
		difalt_link *link = l->link + k;
		l->open = k;
		if (link->size > 0)
			err = MPI_Isend(link->out, link->size, MPI_BYTE, link->peer, 0, l->graph, l->requests + l->n + k);
	}
	return err;
}

/* Begins to receive the frame along link k, if it has come and is not longer than limit. */
static int take(difalt_links *l, int k, int limit) {
	difalt_link *link = l->link + k;
	MPI_Message message;
	MPI_Status status;
	int come, err = MPI_Improbe(link->peer, 0, l->graph, &come, &message, &status);
	if (err == MPI_SUCCESS && come)
		err = MPI_Get_count(&status, MPI_BYTE, &link->length);
	if (err != MPI_SUCCESS || !come)
		return err;
	if (link->length > limit)
		return MPI_ERR_TRUNCATE;
	if (link->length > link->room) {
		free(link->in);
		link->in = malloc(link->length);
		link->room = link->in ? link->length : 0;
		if (!link->in)
			return MPI_ERR_NO_MEM;
	}
	return MPI_Imrecv(link->in, link->length, MPI_BYTE, &message, l->requests + k);
}

int difalt_exchange(difalt_links *l, int limit, int tries) {
	int err = l->fresh ? begin(l) : MPI_SUCCESS;
	l->fresh = 0;
	if (err != MPI_SUCCESS)
		return err;
	for (l->open = 0; l->open < 3 * l->n && tries > 0; tries--) {
		int missing = l->n;
		for (int k = l->n - 1; k >= 0; k--)
			if (l->link[k].length < 0) {
				l->open = k;
				if ((err = take(l, k, limit)) != MPI_SUCCESS)
					return err;
				if (l->link[k].length < 0)
					missing = k;
			}
		l->open = missing;
		if (missing < l->n)
			continue;
		err = difalt_test(2 * l->n, l->requests, 1, &l->open);
		l->open += l->n;
		if (err != MPI_SUCCESS)
			return err;
	}
	return err;
}
