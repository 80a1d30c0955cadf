#include <mpi.h>

/* What cgo cannot name, since it is a macro, or cannot call without it. */

int difalt_init(void);
int difalt_rank(void);
int difalt_size(void);
int difalt_barrier(MPI_Request *r);
int difalt_gather(const void *p, int n, void *all, MPI_Request *r);
int difalt_gatherv(const void *p, int n, void *all, const int *counts, const int *at, MPI_Request *r);
int difalt_graph(int n, const int *peers, MPI_Comm *graph);
int difalt_test(int n, MPI_Request *r, int tries, int *open);
void difalt_abort(int code);

/* Of the n links of a node: how many bytes go each way, and where they are. */
typedef struct {
	int n;
	int *out, *in;
	MPI_Aint *from, *to;
	MPI_Datatype *types;
	MPI_Request *requests; /* the collective, then one each that sends, then one each that receives */
} difalt_links;

difalt_links *difalt_links_new(int n);
int difalt_exchange(difalt_links *l, MPI_Comm graph);
int difalt_send(difalt_links *l, int k, int peer, const void *p, int n, MPI_Comm graph);
int difalt_receive(difalt_links *l, int k, int peer, void *p, int n, MPI_Comm graph);
