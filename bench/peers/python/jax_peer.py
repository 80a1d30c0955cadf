"""One iteration over all tasks with JAX on the CPU: one jitted function in
float64. XLA uses the processors that the process may run on."""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

from protocol import Problem, serve

jax.config.update("jax_enable_x64", True)


@jax.jit
def iterate(x, y, u):
    a = jnp.einsum("tnd,dr->tnr", x, u)
    gram = jnp.einsum("tni,tnj->tij", a, a)
    chol = jax.scipy.linalg.cho_factor(gram)
    b = jax.scipy.linalg.cho_solve(chol, jnp.einsum("tni,tn->ti", a, y)[:, :, None])[:, :, 0]
    e = jnp.einsum("tni,ti->tn", a, b) - y
    v = jnp.einsum("tnd,tn->td", x, e)
    return v.T @ b, b


if __name__ == "__main__":
    p = Problem(sys.argv[1])
    x, y, u = (jax.device_put(v) for v in (p.X, p.y, p.U))
    del p

    def step():
        return jax.block_until_ready(iterate(x, y, u))

    step()  # compiles
    serve(f"JAX {jax.__version__}", step)
