"""What the Python peers share: the problem file, and the conversation with the
driver (see bench/peers/README.md)."""

import sys
import time

import numpy as np


class Problem:
    """Tasks of n x d samples X (T, n, d), responses y (T, n), basis U (d, r)."""

    def __init__(self, path):
        with open(path, "rb") as f:
            if f.read(8) != b"DIFALTB1":
                raise SystemExit("not a problem file")
            self.T, self.n, self.d, self.r = (int(v) for v in np.fromfile(f, "<i8", 4))
            read = lambda *shape: np.fromfile(f, "<f8", int(np.prod(shape))).reshape(shape)
            self.X = read(self.T, self.n, self.d)
            self.y = read(self.T, self.n)
            self.U = read(self.d, self.r)


def serve(version, iterate):
    """Answers the driver; iterate() returns the gradient (d, r) and B (T, r)."""
    print("ready", version, flush=True)
    for line in sys.stdin:
        verb, arg = line.rstrip("\n").split(" ", 1)
        if verb == "check":
            grad, b = iterate()
            with open(arg, "wb") as f:
                np.ascontiguousarray(grad, "<f8").tofile(f)
                np.ascontiguousarray(b, "<f8").tofile(f)
            print("ok", flush=True)
        elif verb == "run":
            start = time.perf_counter()
            for _ in range(int(arg)):
                iterate()
            print(f"{(time.perf_counter() - start) * 1e3 / int(arg):.9g}", flush=True)
        else:
            raise SystemExit(f"unknown request {verb}")
