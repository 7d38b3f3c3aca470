"""Make every table behind docs/calibration.md: run the simulations one after another.

    python benchmarks/calibration.py [--seed 1] [--quick] [--into build/calibration]

Each has its own draws from the seed.  A simulation's table becomes the file NAME.csv of the folder as soon as it is
made; `verdicts.txt` counts the rows of each that lie outside what is accepted, and names them.  Ends with code 1 if
there is one.  Rows of CAsT 2021 need the folder NDCG_AB_DATA and are left out without it.  Whole it takes about three
hours of one core, with --quick some minutes.
"""

import argparse
import csv
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
COLUMNS = ["what", "setting", "repetitions", "measured", "accepted", "verdict"]


def simulations() -> list[str]:
    """Return the names of the modules `simulate*` beside this one."""
    return sorted(path.stem for path in HERE.glob("simulate*.py"))


def read_rows(printed: str) -> list[list[str]]:
    """Return the cells of the rows that a simulation printed as a Markdown table, without the table's head."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[:1] == "|"]
    return [row for row in rows if row[0] != COLUMNS[0] and set(row[0]) != {"-"}]


def write_table(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--into", type=Path, default=HERE.parent / "build" / "calibration")
    options = parser.parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    how = ["--seed", str(options.seed), *(["--quick"] if options.quick else [])]
    verdicts, failed = list[str](), list[str]()
    for name in simulations():
        command = [sys.executable, str(HERE / f"{name}.py"), *how]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        write_table(options.into / f"{name}.csv", read_rows(made.stdout))
        wrong = [line for line in made.stdout.splitlines() if line.endswith("| OUT |")]
        if made.returncode and not wrong:
            wrong = [made.stderr.strip() or f"ended with code {made.returncode}"]
        failed += [f"{name}: {line}" for line in wrong]
        verdicts.append(f"{name}: {len(wrong)} outside")
        print(verdicts[-1], flush=True)
    print("\n".join(failed))
    (options.into / "verdicts.txt").write_text("\n".join([*verdicts, *failed]) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
