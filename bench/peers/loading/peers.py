"""Read a table with NumPy, pandas and Arrow, each in a process of its own, and report
speed and memory as the command in this folder does: python peers.py FILE"""
import os
import resource
import subprocess
import sys
import time

READERS = {
    "numpy": "import numpy as m\nread = lambda p: m.loadtxt(p, delimiter=',', skiprows=1)",
    "pandas": "import pandas as m\nread = lambda p: m.read_parquet(p) if p.endswith('.parquet') else m.read_csv(p)",
    "arrow": "import pyarrow.csv as m, pyarrow.parquet as q\n"
    "read = lambda p: q.read_table(p) if p.endswith('.parquet') else m.read_csv(p)",
}


def measure(name, path):
    scope = {}
    exec(READERS[name], scope)
    start, cpu = time.perf_counter(), time.process_time()
    table = scope["read"](path)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    megabytes = os.path.getsize(path) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{name:8s}{wall:7.2f} s, {megabytes / wall:.0f} MB/s, {megabytes / cpu:.0f} MB per processor second, "
          f"{len(table)} rows, peak memory {peak} kB")


if len(sys.argv) > 2:
    measure(sys.argv[2], sys.argv[1])
else:
    for name in READERS:
        if name != "numpy" or not sys.argv[1].endswith(".parquet"):
            subprocess.run([sys.executable, __file__, sys.argv[1], name], check=True)
