#include <mpi.h>

/* What cgo cannot name, since it is a macro, or cannot call without it. */

int difalt_init(void);
int difalt_rank(void);
int difalt_size(void);
int difalt_barrier(MPI_Request *r);
int difalt_all_there(MPI_Request *r);
int difalt_graph(int n, const int *peers, MPI_Comm *graph);
int difalt_test(int n, MPI_Request *r, int tries, int *open);
void difalt_abort(int code);

/* A link of a node, and the frame that comes along it. */
typedef struct {
	int peer;
	int length; /* negative until it has begun to come; 0 if none is due */
	int room;   /* bytes at in */
	void *in;
	const void *out; /* the frame that goes along it */
	int size; /* 0: none goes */
} difalt_link;

typedef struct {
	int n;
	MPI_Comm graph;
	difalt_link *link;
	MPI_Request *requests; /* one each that receives, then one each that sends */
	int fresh;             /* the exchange has not begun */
	int open;              /* see difalt_exchange */
} difalt_links;

difalt_links *difalt_links_new(int n);

/* Goes on with an exchange for so many tries. Sets open to the first link along which
 * nothing comes yet, or which has failed; when all do, to n plus the first request that is
 * under way or has failed, and to 3 n when the exchange is complete. A frame longer than
 * limit is an error. */
int difalt_exchange(difalt_links *l, int limit, int tries);
