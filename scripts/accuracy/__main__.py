"""`make accuracy`: how often `gpustack doctor` names exactly what was broken, on a lab that is converged and healthy.

    python -m scripts.accuracy [--only FAULT …] [--healthy] [--pairs N --seed S] [--shard I/N]
        [--fix] [--fresh] [--lab NAME] [--keep] [--out FOLDER]

Each case: heal, break, wait until it shows, take a snapshot, let doctor judge it, compare the set of roots with the set
of what was broken, heal, and see that doctor calls it healthy; where it does not, the lab goes back to its snapshot.
Results are kept in FOLDER (build/accuracy) with the code that they were made by, and only what changed runs again: a
line for each in results.jsonl, the score and the table in results.md. What each fault makes different in the answers
is written to tests/snapshots/.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpustack import lab
from scripts.accuracy import cases, results, stage, table


def main() -> int:
    options = arguments()
    wanted = cases.chosen(
        only=options.only, pairs=options.pairs, seed=options.seed, shard=options.shard, calm=options.healthy
    )
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.jsonl"
    kept = results.read(file)
    for shape in dict.fromkeys(case.shape.name if case.shape else "" for case in wanted):
        of_shape = [case for case in wanted if (case.shape.name if case.shape else "") == shape]
        left = [case for case in of_shape if options.fresh or not results.kept_as(kept, case, fix=options.fix)]
        if not left:
            continue
        made = stage.ready(f"{options.lab}-{shape}" if shape else options.lab, left[0].shape)
        try:
            play(made, left, file, fix=options.fix)
        finally:
            if not options.keep:
                made.kill()
    # Another run, on another lab, may have put newer ones there.
    kept = results.read(file)
    (options.out / "results.md").write_text(table.text(kept))
    return 0 if all(kept[case.name].exact for case in wanted) else 1


def play(made: lab.Lab, wanted: Sequence[cases.Case], file: Path, *, fix: bool) -> None:
    for number, case in enumerate(wanted, 1):
        started = time.monotonic()
        result = stage.play(made, case, results.code(case), fix=fix)
        results.put(file, result)
        mark = "exact" if result.exact else "NOT exact"
        found = ", ".join([*result.found, *(f"unexplained {one}" for one in result.unexplained)])
        line = f"{number}/{len(wanted)} {case.name}: {mark}: {found or result.actual or 'nothing'}"
        line += f", --fix: {result.fixed}" if result.fixed else ""
        line += "" if result.healed else ", restored"
        sys.stderr.write(f"{line} ({time.monotonic() - started:.0f} s)\n")


def arguments() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="python -m scripts.accuracy", description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--only", action="append", default=[], metavar="FAULT", help="only these")
    asked.add_argument("--healthy", action="store_true", help="what is no fault, instead of faults")
    asked.add_argument("--pairs", type=int, default=0, metavar="N", help="N random pairs instead of single faults")
    asked.add_argument("--seed", type=int, default=1, metavar="S", help="of the random pairs")
    asked.add_argument("--shard", default="1/1", metavar="I/N", help="only the I-th of N parts")
    asked.add_argument("--fix", action="store_true", help="let doctor fix what it named, as far as it may")
    asked.add_argument("--fresh", action="store_true", help="also what has a result by this code")
    asked.add_argument("--lab", default="accuracy", metavar="NAME", help="name of the lab; it is made where it is not")
    asked.add_argument("--keep", action="store_true", help="leave the lab up")
    asked.add_argument("--out", type=Path, default=results.FOLDER, metavar="FOLDER", help="where results are kept")
    return asked.parse_args()


if __name__ == "__main__":
    sys.exit(main())
