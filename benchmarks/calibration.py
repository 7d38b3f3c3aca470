"""Makes every table of docs/calibration.md anew: runs the simulations one after another.

    python benchmarks/calibration.py [--seed 1] [--quick] [--into build/calibration.md]

Each has its own draws from the seed.  Tables are written as they are made, below the name of their simulation; then it
is said which rows lie outside what is accepted.  Ends with code 1 if there is one.  Those of CAsT 2021 need the folder
NDCG_AB_DATA and are left out without it.  Whole it takes two and a half hours of one core, with --quick some minutes.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
OF_CAST = {"simulate_labels", "simulate_label_bias"}
"""What measures nothing without CAsT 2021."""


def simulations() -> list[str]:
    """The modules `simulate*` beside this one, but those of CAsT 2021 where it is not there."""
    names = sorted(path.stem for path in HERE.glob("simulate*.py"))
    return [name for name in names if name not in OF_CAST or "NDCG_AB_DATA" in os.environ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--into", type=Path, default=HERE.parent / "build" / "calibration.md")
    options = parser.parse_args(arguments)
    options.into.parent.mkdir(parents=True, exist_ok=True)
    how = ["--seed", str(options.seed), *(["--quick"] if options.quick else [])]
    failed = list[str]()
    with options.into.open("w", encoding="utf-8") as file:
        for name in simulations():
            command = [sys.executable, str(HERE / f"{name}.py"), *how]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"## {name}\n\n{made.stdout}", file=file, flush=True)
            wrong = [line for line in made.stdout.splitlines() if line.endswith("| OUT |")]
            if made.returncode and not wrong:
                wrong = [made.stderr.strip() or f"ended with code {made.returncode}"]
            failed += [f"{name}: {line}" for line in wrong]
            print(f"{name}: {len(wrong)} outside", flush=True)
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
