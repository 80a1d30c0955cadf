"""One iteration over all tasks with NumPy, blocks of tasks at a time: batched products,
and the normal equations of a block by one batched solve (batched QR is slower). How
large a block and which form of X U is fastest depends on the shape, so the candidates
are tried at the start."""

import sys
import time

import numpy as np

from protocol import Problem, serve


def vectorised(p, block, product):
    buffer = np.empty((p.T, p.r))

    def iterate():
        grad = np.zeros((p.d, p.r))
        for lo in range(0, p.T, block):
            x, y = p.X[lo : lo + block], p.y[lo : lo + block, :, None]
            a = product(x)
            at = a.transpose(0, 2, 1)
            b = np.linalg.solve(at @ a, at @ y)
            v = np.matmul(x.transpose(0, 2, 1), a @ b - y)[:, :, 0]
            buffer[lo : lo + block] = b[:, :, 0]
            grad += v.T @ b[:, :, 0]
        return grad, buffer

    return iterate


def fastest(p):
    by_columns = np.asfortranarray(p.U)
    products = [
        lambda x: np.matmul(x, by_columns),
        lambda x: (x.reshape(-1, p.d) @ p.U).reshape(len(x), p.n, p.r),
        lambda x: (p.U.T @ x.reshape(-1, p.d).T).T.reshape(len(x), p.n, p.r),
    ]
    blocks = {min(b, p.T) for b in (1, 2, 4, 8, 16, 32, 64, p.T)}
    trials = []
    for product in products:
        for block in blocks:
            iterate = vectorised(p, block, product)
            iterate()
            start = time.perf_counter()
            iterate()
            trials.append((time.perf_counter() - start, len(trials), iterate))
    return min(trials)[2]


if __name__ == "__main__":
    problem = Problem(sys.argv[1])
    serve(f"NumPy {np.__version__}", fastest(problem))
