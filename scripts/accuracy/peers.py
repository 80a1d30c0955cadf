"""Held-out errors of what else one could use on a table of tasks.

    peers.py grunfeld FILE            write the table of Grunfeld's firms from statsmodels
    peers.py run TABLES FILE [NAME..] every method on TABLES/NAME-SEED.csv, into FILE

The tables have the columns task, features, y and held; rows with held = 1 are only
for judging. FILE gets the columns table, seed, method, rmse, ev, seconds, note, and keeps
what it has of other tables. Everything runs on one thread.
"""

import csv
import os
import pathlib
import platform
import signal
import sys
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pandas as pd
import scipy
import scipy.linalg
import sklearn
import statsmodels
import statsmodels.api as sm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import SplineTransformer

HEADER = ["table", "seed", "method", "rmse", "ev", "seconds", "note"]
ALPHAS = np.logspace(-3, 7, 21)
INTERCEPT_SCALES = np.logspace(-2, 2, 9)
LIMIT = 60  # seconds of processor time for a mixed model
MOST_EFFECTS = 13  # random effects of a mixed model: more take hours
MOST_TASKS = 200  # with a column each: more take hours, and a mixed model with intercepts is nearly the same


class Table:
    """One table: rows for training and for judging, features standardised."""

    def __init__(self, path):
        frame = pd.read_csv(path, dtype={"task": str})
        held = frame.pop("held").to_numpy() == 1
        names, self.task = np.unique(frame.pop("task"), return_inverse=True)
        y = frame.pop("y").to_numpy(float)
        x = frame.to_numpy(float)
        center, scale = x[~held].mean(0), x[~held].std(0)
        x = (x - center) / np.where(scale > 1e-12 * (1 + abs(center)), scale, 1)
        self.tasks = len(names)
        self.x, self.y, self.t = x[~held], y[~held], self.task[~held]
        self.test_x, self.test_y, self.test_t = x[held], y[held], self.task[held]

    def rows(self):
        """Rows for training and for judging of every task."""
        for k in range(self.tasks):
            yield self.t == k, self.test_t == k


def task_mean(table):
    prediction = np.empty(len(table.test_y))
    for train, test in table.rows():
        prediction[test] = table.y[train].mean()
    return prediction, ""


def pooled(table):
    fit = RidgeCV(ALPHAS).fit(table.x, table.y)
    return fit.predict(table.test_x), f"alpha {fit.alpha_:.3g}"


def pooled_intercept(table):
    """Ridge on the features and one column a task, whose scale sets how much intercepts
    shrink; both strengths by leave-one-out."""
    if table.tasks > MOST_TASKS:
        raise ValueError("too many tasks")
    best = None
    for scale in INTERCEPT_SCALES:
        indicator = scale * np.eye(table.tasks)
        fit = RidgeCV(ALPHAS).fit(np.hstack([table.x, indicator[table.t]]), table.y)
        if best is None or fit.best_score_ > best[0]:
            best = fit.best_score_, scale, fit
    _, scale, fit = best
    indicator = scale * np.eye(table.tasks)
    prediction = fit.predict(np.hstack([table.test_x, indicator[table.test_t]]))
    return prediction, f"alpha {fit.alpha_:.3g}, scale {scale:.3g}"


def ridge_own(table):
    """One ridge a task with a free intercept, each with its own strength."""
    prediction = np.empty(len(table.test_y))
    for train, test in table.rows():
        if train.sum() < 3:
            prediction[test] = table.y[train].mean()
        else:
            prediction[test] = RidgeCV(ALPHAS).fit(table.x[train], table.y[train]).predict(table.test_x[test])
    return prediction, ""


def ridge_common(table):
    """One ridge a task with a free intercept, one strength for all by leave-one-out."""
    errors = np.zeros(len(ALPHAS))
    for train, _ in table.rows():
        if train.sum() >= 3:
            fit = RidgeCV(ALPHAS, store_cv_results=True).fit(table.x[train], table.y[train])
            errors += fit.cv_results_.sum(0)
    alpha = ALPHAS[errors.argmin()]
    prediction = np.empty(len(table.test_y))
    for train, test in table.rows():
        if train.sum() < 3:
            prediction[test] = table.y[train].mean()
        else:
            fit = RidgeCV([alpha]).fit(table.x[train], table.y[train])
            prediction[test] = fit.predict(table.test_x[test])
    return prediction, f"alpha {alpha:.3g}"


def boosting(table):
    fit = HistGradientBoostingRegressor(categorical_features=[0], random_state=0)
    fit.fit(np.column_stack([table.t, table.x]), table.y)
    return fit.predict(np.column_stack([table.test_t, table.test_x])), ""


def independent(x):
    """Indices of columns that are independent of each other and of a constant."""
    centered = x - x.mean(0)
    _, r, order = scipy.linalg.qr(centered, mode="economic", pivoting=True)
    diagonal = abs(np.diag(r))
    return np.sort(order[: (diagonal > 1e-8 * max(diagonal[0], 1e-300)).sum()])


def mixed(table, slopes):
    """A mixed model: slopes is the number of features, from the first, with a random
    slope beside the random intercept."""
    columns = independent(table.x)
    if len(columns) >= len(table.y) // 2:
        raise ValueError("more features than rows")
    effects = [c for c in columns if c < slopes]
    if len(effects) + 1 > MOST_EFFECTS:
        raise ValueError("too many random effects")
    random, test_random = (np.column_stack([np.ones(len(v)), v[:, effects]]) for v in (table.x, table.test_x))
    return reml(table, table.x[:, columns], table.test_x[:, columns], random, test_random)


def reml(table, x, test_x, random, test_random):
    """A mixed model of fixed effects x and random effects by task."""
    fixed, test = (sm.add_constant(v, has_constant="add") for v in (x, test_x))
    fit = sm.MixedLM(table.y, fixed, groups=table.t, exog_re=random).fit(reml=True)
    prediction = test @ fit.fe_params
    for k, effect in fit.random_effects.items():
        rows = table.test_t == k
        prediction[rows] += test_random[rows] @ np.asarray(effect)
    return prediction, "" if fit.converged else "not converged"


def spline(table, degree):
    """A mixed model of a cubic spline of every feature with more than six values; tasks differ by a
    polynomial of that degree of the first of them."""
    parts, tests, first = [], [], None
    for j in range(table.x.shape[1]):
        column, test = table.x[:, [j]], table.test_x[:, [j]]
        values = len(np.unique(column))
        if values > 6:
            bend = SplineTransformer(min(5, values - 2), knots="quantile", include_bias=False, extrapolation="linear").fit(column)
            column, test = bend.transform(column), bend.transform(test)
            first = j if first is None else first
        parts.append(column)
        tests.append(test)
    x, test_x = np.hstack(parts), np.hstack(tests)
    center, scale = x.mean(0), x.std(0) + 1e-12
    x, test_x = (x - center) / scale, (test_x - center) / scale
    columns = independent(x)
    powers = range(degree + 1 if first is not None else 1)
    random, test_random = (np.column_stack([v[:, first or 0] ** k for k in powers]) for v in (table.x, table.test_x))
    return reml(table, x[:, columns], test_x[:, columns], random, test_random)


METHODS = {
    "task mean": task_mean,
    "pooled": pooled,
    "pooled + intercept": pooled_intercept,
    "ridge a task": ridge_own,
    "ridge a task, one strength": ridge_common,
    "mixed: intercept": lambda table: mixed(table, 0),
    "mixed: intercept, first slope": lambda table: mixed(table, 1),
    "mixed: intercept, slopes": lambda table: mixed(table, table.x.shape[1]),
    "boosting": boosting,
    "spline: intercept": lambda table: spline(table, 0),
    "spline: intercept, slope": lambda table: spline(table, 1),
    "spline: intercept, slope, square": lambda table: spline(table, 2),
}
MIXED = [name for name in METHODS if name.startswith(("mixed", "spline"))]


def expire(*_):
    raise TimeoutError(f"more than {LIMIT} s")


def measure(table, method):
    """The row of one method: rmse, ev, seconds, note."""
    begin = time.process_time()
    try:
        if method in MIXED:
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        prediction, note = METHODS[method](table)
    except (ValueError, TimeoutError, np.linalg.LinAlgError) as problem:
        return ["", "", f"{time.process_time() - begin:.3f}", str(problem)]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.process_time() - begin
    residual = table.test_y - prediction
    rmse = np.sqrt(np.mean(residual**2))
    ev = 1 - np.mean(residual**2) / np.var(table.test_y)
    return [f"{rmse:.6g}", f"{ev:.6g}", f"{seconds:.3f}", note]


def run(folder, out, only):
    signal.signal(signal.SIGVTALRM, expire)
    warnings.simplefilter("ignore")
    paths = [p for p in folder.glob("*-*.csv") if not p.name.endswith((".train.csv", ".test.csv"))]
    cases = sorted(tuple(p.stem.rsplit("-", 1)) for p in paths)
    cases = [(name, seed) for name, seed in cases if seed.isdigit() and (not only or name in only)]
    rows = []
    if out.exists():
        with open(out, newline="") as f:
            rows = [r for r in csv.reader(f)][1:]
    rows = [r for r in rows if r[0] not in {name for name, _ in cases}]
    gave_up = set()  # mixed models that took too long for an earlier seed
    for name, seed in cases:
        table = Table(folder / f"{name}-{seed}.csv")
        for method in METHODS:
            if (name, method) in gave_up:
                continue
            row = measure(table, method)
            if "more than" in row[3]:
                gave_up.add((name, method))
            rows.append([name, seed, method, *row])
            print(*rows[-1], sep="\t", flush=True)
        write(out, rows)


def write(out, rows):
    part = out.with_suffix(".part")
    with open(part, "w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)
    part.replace(out)
    versions = {"Python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
                "scikit-learn": sklearn.__version__, "statsmodels": statsmodels.__version__}
    out.with_suffix(".versions").write_text(", ".join(f"{k} {v}" for k, v in versions.items()) + "\n")


def grunfeld(out):
    data = sm.datasets.grunfeld.load_pandas().data
    data["firm"] = [f if isinstance(f, str) else f.decode() for f in data["firm"]]
    data[["firm", "year", "value", "capital", "invest"]].to_csv(out, index=False)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "grunfeld":
        grunfeld(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) >= 4 and sys.argv[1] == "run":
        run(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), set(sys.argv[4:]))
    else:
        sys.exit(__doc__)
