"""`python -m tests.contract.record_examples` records what of examples/ needs no lab. It needs Go and a bundle.

The profiles are of one training job on a real H100, before and after its batch was made larger. The reports are of
thirty days of a made fleet, from a real Prometheus.
"""

import csv
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.metrics.prometheus import Series
from gpustack.profile.file import build_profile, write_profile
from gpustack.profile.selection import Selection
from gpustack.profile.window import Job
from gpustack.profile.windows import build_windows
from tests.contract.fleet_reports import draw_recent_fleet, write_inventory
from tests.contract.fleet_series import Scraper
from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, run_prometheus
from tests.worlds.life import blocks

ROOT = Path(__file__).parents[2]
EXAMPLES, WORKLOAD_FOLDER = ROOT / "examples", ROOT / "tests" / "recorded" / "h100"
BEGIN, INTERVAL = 1_795_651_200.0, 0.5
"""The day on which tests/recorded/h100 was recorded, in seconds since 1970, and the seconds between two of its rows."""
LABELS = {
    "UUID": "GPU-00000000-0000-4000-8000-000000000001",
    "gpu": "0",
    "Hostname": "gpu1",
    "modelName": "NVIDIA H100 80GB HBM3",
    "exported_namespace": "team-a",
    "exported_pod": "train-0",
    "exported_container": "train",
}
WORKLOADS = {"before": "transformer-training-batch-1", "after": "transformer-training"}
DAYS = 31
REPORTS = {
    "capacity": "capacity report --since 30d --by namespace,model",
    "cost": "cost report --since 30d --by namespace,model",
}


def write_profiles(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, workload in WORKLOADS.items():
        with (WORKLOAD_FOLDER / f"{workload}.csv").open() as file:
            rows = list(csv.DictReader(file))
        times = [BEGIN + float(row["seconds"]) for row in rows]
        series = [
            Series({**LABELS, "__name__": field}, tuple(zip(times, (float(row[field]) for row in rows), strict=True)))
            for field in rows[0]
            if field != "seconds"
        ]
        job = Job(tuple(build_windows(series, Selection(), times[-1] - times[0] + INTERVAL)))
        write_profile(build_profile(job, "team-a/train-0", workload, times[0], times[-1]), folder / f"{name}.json")


def record_reports(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        work = Path(name)
        inventory = write_inventory(work / "hosts.yml")
        Scraper(draw_recent_fleet(DAYS)).write_blocks(blocks.build(work), work / "data")
        with run_prometheus(work, build_data_command(work, {}, OF_THE_PAST)) as server:
            for example, words in REPORTS.items():
                options = ["--prometheus", server.url, "-i", str(inventory)]
                record = ["--record", str(folder / f"{example}.jsonl"), "--force"]
                result = CliRunner().invoke(app, [*words.split(), *options, *record])
                if result.exit_code:
                    sys.exit(f"{words}: {result.exception}")


if __name__ == "__main__":
    write_profiles(EXAMPLES / "profiles")
    record_reports(EXAMPLES / "usage")
