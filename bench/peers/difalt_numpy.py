#!/usr/bin/env python3
"""The whole algorithm in NumPy: Dif-AltGDmin and its baselines on a problem file.

An implementation that shares nothing with the Go code but the problem file, to
check its curves against and to compare the time of whole runs with:

    difalt simulate --trials 1 --export problem.npz
    difalt fit --data problem.npz --iterations 500 --trace trace.csv
    python difalt_numpy.py problem.npz --rank 4 --method dif --compare trace.csv

The problem file is an .npz with X (T, n, d) or (N, d) with task (N,), y, node (T,),
weights or adjacency (L, L), and optionally U0 (L, d, r), Ustart (d, r) and
Ustar (d, r). References to algorithms are to the paper.
"""

import argparse
import csv
import sys
import time

import numpy as np

METHODS = ("dif", "altgdmin", "dec", "dgd")


class Batch:
    """Nodes with the same number m of tasks: X (L_b, m, n, d), y (L_b, m, n). Tasks
    of fewer samples than n are filled with zero rows, which change nothing."""

    def __init__(self, nodes, x, y, samples):
        self.nodes, self.x, self.y, self.samples = nodes, x, y, samples

    def step(self, u):
        """Least squares and gradients on u (L, d, r) (Alg. 3, lines 7 to 11)."""
        k, m, n, d = self.x.shape
        u = u[self.nodes]
        a = (self.x.reshape(k, m * n, d) @ u).reshape(k, m, n, -1)
        q, r = np.linalg.qr(a)
        b = np.linalg.solve(r, np.swapaxes(q, 2, 3) @ self.y[..., None])
        e = a @ b - self.y[..., None]
        v = (np.swapaxes(self.x, 2, 3) @ e)[..., 0]
        return np.swapaxes(v, 1, 2) @ b[..., 0], b[..., 0], np.sum(e * e)


class Problem:
    def __init__(self, path, rule):
        f = np.load(path)
        x, y = np.asarray(f["X"], float), np.asarray(f["y"], float)
        if x.ndim == 3:
            tasks, counts = x.shape[0], np.full(x.shape[0], x.shape[1])
        else:
            order = np.argsort(f["task"], kind="stable")
            counts = np.bincount(f["task"])
            tasks = len(counts)
            x, y = fill(x[order], counts), fill(y[order], counts)
        self.T, self.n, self.d = x.shape
        self.mean_samples = counts.mean()
        self.W = weights(f, rule)
        self.L = len(self.W)
        node = f["node"] if "node" in f else np.arange(tasks) * self.L // tasks
        held = np.bincount(node, minlength=self.L)
        self.batches = []
        for m in np.unique(held):
            nodes = np.flatnonzero(held == m)
            index = np.stack([np.flatnonzero(node == g) for g in nodes])
            self.batches.append(Batch(nodes, x[index], y[index], counts[index]))
        self.U0, self.Ustart, self.Ustar = (f[k] if k in f else None for k in ("U0", "Ustart", "Ustar"))
        if self.Ustar is not None:
            self.Ustar = np.linalg.qr(self.Ustar)[0]


def fill(rows, counts):
    """Cuts stacked rows into tasks of counts rows, filled with zeros to the longest."""
    out = np.zeros((len(counts), counts.max()) + rows.shape[1:])
    out[np.arange(counts.max()) < counts[:, None]] = rows
    return out


def weights(f, rule):
    if "weights" in f:
        return np.asarray(f["weights"], float)
    if "adjacency" not in f:
        raise SystemExit("the problem file has neither weights nor adjacency")
    adjacent = np.asarray(f["adjacency"]) != 0
    degree = adjacent.sum(axis=1)
    if rule == "equal":
        return adjacent / degree[:, None]
    w = adjacent / (1 + np.maximum(degree[:, None], degree))
    return w + np.diag(1 - w.sum(axis=1))


def agree(power, z):
    """AGREE (Alg. 1), power = W^rounds, over the first axis of z."""
    return (power @ z.reshape(len(z), -1)).reshape(z.shape)


def orthonormal(z):
    """Thin QR with positive diagonal of each matrix in z."""
    q, r = np.linalg.qr(z)
    sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * sign[..., None, :], r * sign[..., :, None]


def initialise(p, rank, rounds, iterations, seed, kappa=1.0, mu=1.0):
    """Truncated spectral initialisation (Alg. 2): U (L, d, r) and sigma_max^2."""
    power = np.linalg.matrix_power(p.W, rounds)
    total = p.mean_samples * p.T
    alpha = np.zeros(p.L)
    for k in p.batches:
        alpha[k.nodes] = 9 * kappa**2 * mu**2 * p.L / total * np.sum(k.y**2, axis=(1, 2))
    alpha = power @ alpha
    thetas = []
    for k in p.batches:
        kept = np.where(k.y**2 <= alpha[k.nodes, None, None], k.y, 0) / k.samples[..., None]
        thetas.append((np.swapaxes(k.x, 2, 3) @ kept[..., None])[..., 0])  # (L_b, m, d)
    if p.U0 is not None:
        u, iterations = p.U0, 1
    else:
        start = p.Ustart if p.Ustart is not None else np.random.default_rng(seed).standard_normal((p.d, rank))
        u = np.repeat(orthonormal(start)[0][None], p.L, axis=0)
    for _ in range(iterations):
        z = np.empty((p.L, p.d, rank))
        for k, theta in zip(p.batches, thetas):
            z[k.nodes] = np.swapaxes(theta, 1, 2) @ (theta @ u[k.nodes])
        first, r = orthonormal(agree(power, z)[0])
        u = np.repeat(first[None], p.L, axis=0)  # node 0 broadcasts
    return (p.U0 if p.U0 is not None else u), p.L * np.max(np.diag(r))


def step(p, u):
    grad, objective = np.empty_like(u), 0.0
    for k in p.batches:
        grad[k.nodes], _, part = k.step(u)
        objective += part
    return grad, objective


def run(p, method, u, eta, rounds, iterations, record):
    """Alg. 3 or a baseline from u (L, d, r); record(iteration, u, objective, seconds)
    is called before every iteration and after the last one."""
    power = np.linalg.matrix_power(p.W, rounds)
    neighbours = (p.W != 0) & ~np.eye(p.L, dtype=bool)
    mean = neighbours / neighbours.sum(axis=1, keepdims=True)
    if method == "altgdmin":
        u = np.repeat(u[:1], p.L, axis=0)
    seconds = 0.0
    for iteration in range(iterations + 1):
        start = time.perf_counter()
        grad, objective = step(p, u)
        spent = time.perf_counter() - start
        record(iteration, u, objective, seconds)
        if iteration == iterations:
            return u
        start = time.perf_counter()
        if method == "dif":
            z = agree(power, u - eta * p.L * grad)
        elif method == "dec":
            z = u - eta * p.L * agree(power, grad)
        elif method == "altgdmin":
            z = u - eta * grad.sum(axis=0)
        else:
            z = agree(mean, u) - eta * grad
        u = orthonormal(z)[0]
        seconds += spent + time.perf_counter() - start


def subspace_distance(u, truth):
    """SD_2 = |(I - U U') U*|_2 for every node."""
    if truth is None:
        return np.full(len(u), np.nan)
    rest = truth - u @ (np.swapaxes(u, 1, 2) @ truth)
    return np.linalg.norm(rest, ord=2, axis=(1, 2))


def disagreement(u):
    return max(np.sqrt(np.max(np.sum((u - v) ** 2, axis=(1, 2)))) for v in u)


def compare(path, rows):
    """Compares node 0's subspace distances down to 1e-10 with those of a trace.csv:
    they must agree to a relative 1e-6 and the rounding errors of an iteration, which
    add up to a few units of 1e-16 near the solution."""
    theirs = {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            theirs[row["method"], int(row["iteration"])] = float(row["sd_node1"])
    ok = True
    for method in dict.fromkeys(row["method"] for row in rows):
        pairs = [(row["sd_node1"], theirs.get((method, row["iteration"]), 0.0)) for row in rows if row["method"] == method]
        pairs = np.array([p for p in pairs if min(p) >= 1e-10])
        if len(pairs) == 0:
            raise SystemExit(f"{path} has no distances of {method} to compare with")
        mine, other = pairs.T
        difference = np.abs(mine - other)
        good = bool(np.all(difference <= 1e-6 * mine + 1e-15))
        ok &= good
        print(f"{method:9s} {len(mine)} distances, largest relative difference {np.max(difference / mine):.1e}, "
              + ("agrees" if good else "DIFFERS"))
    return ok


def main():
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("problem")
    parse.add_argument("--rank", type=int, required=True)
    parse.add_argument("--method", dest="methods", default=",".join(METHODS))
    parse.add_argument("--iterations", type=int, default=500)
    parse.add_argument("--rounds", type=int, default=10)
    parse.add_argument("--init-rounds", type=int, help="default: as --rounds")
    parse.add_argument("--power-iterations", type=int, default=30)
    parse.add_argument("--weights", choices=("metropolis", "equal"), default="metropolis", help="used with adjacency")
    parse.add_argument("--step", type=float, help="default: 0.4/(n sigma^2) from the initialisation")
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--trace", help="write the curves to this CSV file")
    parse.add_argument("--compare", help="trace.csv of difalt on the same problem")
    parse.add_argument("--quiet-curves", action="store_true", help="measure time only: no distances")
    o = parse.parse_args()

    p = Problem(o.problem, o.weights)
    start = time.perf_counter()
    u, sigma = initialise(p, o.rank, o.init_rounds or o.rounds, o.power_iterations, o.seed)
    eta = o.step or 0.4 / (p.mean_samples * sigma)
    print(f"sigma^2 {sigma:.6g}, step {eta:.6g}, initialisation {time.perf_counter() - start:.3f} s")

    rows = []
    for method in o.methods.split(","):

        def record(iteration, u, objective, seconds):
            if o.quiet_curves and iteration < o.iterations:
                return
            sd = subspace_distance(u, p.Ustar)
            rows.append(
                dict(method=method, iteration=iteration, sd_node1=sd[0], sd_max=sd.max(), sd_mean=sd.mean(),
                     disagreement=disagreement(u), objective=objective, seconds=seconds))

        run(p, method, u, eta, o.rounds, o.iterations, record)
        print(f"{method:9s} SD {rows[-1]['sd_node1']:.3e} after {o.iterations} iterations, {rows[-1]['seconds']:.3f} s")
    if o.trace:
        with open(o.trace, "w", newline="") as f:
            writer = csv.DictWriter(f, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    if o.compare and not compare(o.compare, rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
