"""`python -m bench [all | NAME ...]`: the benchmarks, one after the other.  Exit code 1 if a figure is missed.

Each is also a program of its own, with options: `python -m bench.bind --help`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

BENCHMARKS = (
    "decide",
    "plans",
    "bind",
    "gangs",
    "latency",
    "restart",
    "rest",
    "mismatch",
    "poison",
    "adversarial",
    "jobs",
    "pools",
    "embedded",
    "answers",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", default=["all"], choices=["all", *BENCHMARKS])
    which = parser.parse_args().which
    chosen = BENCHMARKS if "all" in which else [name for name in BENCHMARKS if name in which]
    # A process for each: what one leaves behind in memory is no part of another's figures.
    codes = [subprocess.run([sys.executable, "-m", f"bench.{name}"]).returncode for name in chosen]
    missed = [name for name, code in zip(chosen, codes, strict=True) if code]
    if missed:
        print(f"missed or failed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
