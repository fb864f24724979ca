"""`make accuracy` measures how often `gpustack doctor` names exactly the injected fault, on a healthy lab.

    python -m scripts.accuracy [--only FAULT …] [--healthy] [--pairs N --seed S] [--shard I/N]
        [--fix] [--fresh] [--lab NAME] [--keep] [--out FOLDER]

Each case: heal, break, wait until it shows, take a snapshot, let doctor judge it, compare the set of roots with the set
of injected faults, heal, and see that doctor calls it healthy; where it does not, the lab goes back to its snapshot.
Results are kept in FOLDER (build/accuracy) with the code that made them, and only changed cases run again: a line for
each in results.jsonl, the score and the table in results.md. The differences of each fault in the answers are written
to tests/snapshots/.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpustack_lab import lab
from scripts.accuracy import cases, results, stage, table


def main() -> int:
    options = parse_arguments()
    selected_cases = cases.choose_cases(
        fault_names=options.only, pairs=options.pairs, seed=options.seed, shard=options.shard, calm=options.healthy
    )
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.jsonl"
    saved_results = results.read_results(file)
    for shape in dict.fromkeys(case.shape.name if case.shape else "" for case in selected_cases):
        shape_cases = [case for case in selected_cases if (case.shape.name if case.shape else "") == shape]
        pending_cases = [
            case
            for case in shape_cases
            if options.fresh or not results.has_result(saved_results, case, fix=options.fix)
        ]
        if not pending_cases:
            continue
        test_lab = stage.prepare_lab(f"{options.lab}-{shape}" if shape else options.lab, pending_cases[0].shape)
        try:
            play_cases(test_lab, pending_cases, file, fix=options.fix)
        finally:
            if not options.keep:
                test_lab.kill()
    # Another run, on another lab, may have put newer ones there.
    saved_results = results.read_results(file)
    (options.out / "results.md").write_text(table.render_table(saved_results))
    return 0 if all(saved_results[case.name].exact for case in selected_cases) else 1


def play_cases(test_lab: lab.Lab, selected_cases: Sequence[cases.Case], file: Path, *, fix: bool) -> None:
    for number, case in enumerate(selected_cases, 1):
        start_time = time.monotonic()
        result = stage.play_case(test_lab, case, results.compute_code(case), fix=fix)
        results.save_result(file, result)
        mark = "exact" if result.exact else "NOT exact"
        findings = ", ".join([*result.roots, *(f"unexplained {fault}" for fault in result.unexplained_ids)])
        line = f"{number}/{len(selected_cases)} {case.name}: {mark}: {findings or result.actual or 'nothing'}"
        line += f", --fix: {result.fix_outcome}" if result.fix_outcome else ""
        line += "" if result.healed else ", restored"
        sys.stderr.write(f"{line} ({time.monotonic() - start_time:.0f} s)\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.accuracy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="FAULT", help="play these cases only")
    parser.add_argument("--healthy", action="store_true", help="play healthy variants instead of faults")
    parser.add_argument(
        "--pairs", type=int, default=0, metavar="N", help="play N random pairs instead of single faults"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the random pairs")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="play only the I-th of N parts")
    parser.add_argument("--fix", action="store_true", help="let doctor fix what it named, as far as it may")
    parser.add_argument("--fresh", action="store_true", help="play cases again that have a result by this code")
    parser.add_argument(
        "--lab", default="accuracy", metavar="NAME", help="name of the lab, which is created where it does not exist"
    )
    parser.add_argument("--keep", action="store_true", help="leave the lab up")
    parser.add_argument("--out", type=Path, default=results.FOLDER, metavar="FOLDER", help="folder of the results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
