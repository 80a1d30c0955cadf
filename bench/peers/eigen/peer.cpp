// One iteration over all tasks with Eigen, the rank fixed at compile time; OpenMP
// threads share the tasks.
#include "../c/protocol.h"
#include <Eigen/Dense>
#include <memory>
#include <omp.h>
#include <vector>

using Eigen::Dynamic;
using Eigen::Map;
using Eigen::VectorXd;

static int threads;

// A Worker is the memory of one thread, allocated once.
template <int R> struct Worker {
	Eigen::Matrix<double, Dynamic, R> a, g;
	Eigen::HouseholderQR<Eigen::Matrix<double, Dynamic, R>> qr;
	VectorXd e, v, c, work;
	Worker(int64_t n, int64_t d) : a(n, R), g(d, R), qr(n, R), e(n), v(d), c(n), work(n) {}
};

template <int R> static void iterate(const problem *p, double *g, double *b) {
	using RowMajor = Eigen::Matrix<double, Dynamic, Dynamic, Eigen::RowMajor>;
	using Basis = Eigen::Matrix<double, Dynamic, R>;
	static std::vector<std::unique_ptr<Worker<R>>> workers;
	while ((int)workers.size() < threads)
		workers.push_back(std::make_unique<Worker<R>>(p->n, p->d));
	Map<const Basis> u(p->u, p->d, R);
#pragma omp parallel num_threads(threads)
	{
		int id = omp_get_thread_num();
		Worker<R> &w = *workers[id];
		w.g.setZero();
		for (int64_t t = p->tasks * id / threads; t < p->tasks * (id + 1) / threads; t++) {
			Map<const RowMajor> x(p->x + t * p->n * p->d, p->n, p->d);
			Map<const VectorXd> y(p->y + t * p->n, p->n);
			Map<Eigen::Matrix<double, R, 1>> bt(b + t * R);
			w.a.noalias() = x * u;
			w.qr.compute(w.a);
			w.c = y;
			w.c.applyOnTheLeft(w.qr.householderQ().transpose());
			bt = w.qr.matrixQR().template topRows<R>().template triangularView<Eigen::Upper>().solve(w.c.template head<R>());
			w.e.noalias() = w.a * bt;
			w.e -= y;
			w.v.noalias() = x.transpose() * w.e;
			w.g.noalias() += w.v * bt.transpose();
		}
	}
	Map<Basis> sum(g, p->d, R);
	sum = workers[0]->g;
	for (int i = 1; i < threads; i++)
		sum += workers[i]->g;
}

int main(int argc, char **argv) {
	if (argc != 3)
		fail("usage: peer PROBLEM THREADS");
	problem p = load(argv[1]);
	threads = atoi(argv[2]);
	Eigen::setNbThreads(1);
	char version[64];
	snprintf(version, sizeof version, "Eigen %d.%d.%d", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
	switch (p.r) {
	case 4: serve(&p, version, iterate<4>); break;
	case 5: serve(&p, version, iterate<5>); break;
	case 10: serve(&p, version, iterate<10>); break;
	case 16: serve(&p, version, iterate<16>); break;
	default: fail("compiled for ranks 4, 5, 10 and 16 only");
	}
	return 0;
}
