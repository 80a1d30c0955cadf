"""One iteration over all tasks with Numba: plain loops, compiled for this machine,
tasks shared between threads by prange."""

import sys

import numba
import numpy as np
from numba import njit, prange

from protocol import Problem, serve


@njit(fastmath=True)
def multiply(x, u, a):
    """a = x u', for u by columns (r, d)."""
    for i in range(x.shape[0]):
        for j in range(u.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * u[j, k]
            a[j, i] = s


@njit(fastmath=True)
def least_squares(a, y, b):
    """Overwrites a (r, n) by reflectors and y by Q'y, and solves R b = Q'y."""
    r, n = a.shape
    diagonal = np.empty(r)
    for j in range(r):
        norm = 0.0
        for i in range(j, n):
            norm += a[j, i] * a[j, i]
        alpha = -np.copysign(np.sqrt(norm), a[j, j])
        diagonal[j] = alpha
        a[j, j] -= alpha
        scale = 1.0 / (alpha * a[j, j])
        for k in range(j + 1, r):
            s = 0.0
            for i in range(j, n):
                s += a[j, i] * a[k, i]
            s *= scale
            for i in range(j, n):
                a[k, i] += s * a[j, i]
        s = 0.0
        for i in range(j, n):
            s += a[j, i] * y[i]
        s *= scale
        for i in range(j, n):
            y[i] += s * a[j, i]
    for j in range(r - 1, -1, -1):
        s = y[j]
        for k in range(j + 1, r):
            s -= a[k, j] * b[k]
        b[j] = s / diagonal[j]


@njit(fastmath=True)
def tasks(x, y, u, lo, hi, grad, b):
    n, d, r = x.shape[1], x.shape[2], u.shape[0]
    a, work, e, v = np.empty((r, n)), np.empty((r, n)), np.empty(n), np.empty(d)
    grad[:] = 0.0
    for t in range(lo, hi):
        multiply(x[t], u, a)
        work[:] = a
        e[:] = y[t]
        least_squares(work, e, b[t])
        e[:] = -y[t]
        for j in range(r):
            for i in range(n):
                e[i] += a[j, i] * b[t, j]
        v[:] = 0.0
        for i in range(n):
            for k in range(d):
                v[k] += x[t, i, k] * e[i]
        for j in range(r):
            for k in range(d):
                grad[j, k] += b[t, j] * v[k]


@njit(parallel=True, fastmath=True)
def iterate(x, y, u, grads, b):
    parts = grads.shape[0]
    for w in prange(parts):
        tasks(x, y, u, x.shape[0] * w // parts, x.shape[0] * (w + 1) // parts, grads[w], b)


if __name__ == "__main__":
    p = Problem(sys.argv[1])
    threads = int(sys.argv[2])
    numba.set_num_threads(threads)
    u = np.ascontiguousarray(p.U.T)
    grads, coefficients = np.zeros((threads, p.r, p.d)), np.zeros((p.T, p.r))

    def step():
        iterate(p.X, p.y, u, grads, coefficients)
        return grads.sum(axis=0).T, coefficients

    step()  # compiles
    serve(f"Numba {numba.__version__}", step)
