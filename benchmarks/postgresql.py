"""Measure time and peak memory of pulling a ranking of five million rows from a PostgreSQL on a local socket.

    python benchmarks/postgresql.py [ROWS]

The ranking is read in a process of its own, which does what a run does: pull, digest, write.  Debian's PostgreSQL is
started for it, and needs the user `postgres` if this script runs as root.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERY = (
    "select 'q' || g / 100 as query_id, 'doc-' || lpad((g::bigint * 7919 % 50000003)::text, 8, '0') as doc_id,"
    " (1000 - g % 100)::float8 as score from generate_series(0, {rows} - 1) g"
)
READING = """
import resource, sys, time
from pathlib import Path
import pyarrow.parquet as papq
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.sources import RANKING, pull_source
began = time.perf_counter()
system = System.model_validate({"name": "a", "database": sys.argv[1], "query": "select * from ranking"})
pulled = pull_source(system.source, RANKING, Path())
digest = pulled.digest
papq.write_table(pulled.table, sys.argv[2], compression="zstd")
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{pulled.table.num_rows} rows, table {pulled.table.nbytes / 2**20:.0f} MB: {took:.1f} s, peak {peak:.0f} MB")
"""


def main(rows: int) -> None:
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not binaries:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")
    control = [*user, str(binaries[-1] / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    initdb = [str(binaries[-1] / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres"]
    socket = f"-c listen_addresses='' -c fsync=off -k {folder}"
    try:
        subprocess.run([*user, *initdb], check=True, stdout=subprocess.DEVNULL)
        start = [*control, "-o", socket, "-l", str(folder / "log"), "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
        made = f"create table ranking as {QUERY.format(rows=rows)}"
        psql = [str(binaries[-1] / "psql"), "-q", "-h", str(folder), "-U", "postgres", "-c", made, "postgres"]
        subprocess.run([*user, *psql], check=True)
        with tempfile.TemporaryDirectory() as written:
            address = f"postgresql://postgres@/postgres?host={folder}"
            time.sleep(1)
            subprocess.run([sys.executable, "-c", READING, address, f"{written}/ranking.parquet"], check=True)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
