"""Alertmanager and its checker, out of the bundle's cache or of PATH, with the configuration that a spec makes."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from gpustack.config.sections.receiver import RECEIVERS_NAME
from gpustack.proof.alertmanager import Alertmanager
from gpustack.proof.http import NoAnswer, Web
from gpustack.steps.chart_values import merge_values
from gpustack.steps.monitoring.receiver import RECEIVER_METRICS, SECRETS_FOLDER, build_alertmanager_values
from tests.contract.promtool import find_program
from tests.lab.witness import wait_until
from tests.unit.config.specs import build_inventory

TEMPLATES_FOLDER = "/etc/alertmanager/config"
"""The operator puts the files of templateFiles of the chart here."""
CHART = Path(__file__).parents[2] / "lab" / "gpustack_lab" / "simulated" / "charts" / "kube-prometheus-stack"


def build_configuration(
    receivers: dict[str, Any], secrets: Path, proxy: dict[str, Any] | None = None, **alerts: Any
) -> str:
    """Merge our values over the chart's own configuration. `secrets` is the folder with a file for each receiver, which
    gets the templates as well. `alerts` are further settings of alerts."""
    values = build_alertmanager_values(build_inventory(alerts={"receivers": receivers, **alerts}, proxy=proxy))
    for name, text in values.get("templateFiles", {}).items():
        (secrets / name).write_text(text)
    of_chart = yaml.safe_load((CHART / "values.yaml").read_text())["alertmanager"]["config"]
    config_text = yaml.safe_dump(merge_values(of_chart, values.get("config", {})))
    return config_text.replace(f"{SECRETS_FOLDER}/{RECEIVERS_NAME}", str(secrets)).replace(
        TEMPLATES_FOLDER, str(secrets)
    )


def check(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    file = folder / "alertmanager.yaml"
    file.write_text(text)
    words = [find_program("amtool", "alertmanager"), "check-config", str(file)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def find_receivers(folder: Path, text: str, labels: Sequence[str]) -> str:
    """Return the names of the receivers of an alert, with commas."""
    file = folder / "alertmanager.yaml"
    file.write_text(text)
    words = [find_program("amtool", "alertmanager"), "config", "routes", "test", f"--config.file={file}", *labels]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@contextmanager
def run_alertmanager(
    folder: Path, text: str, features: str = RECEIVER_METRICS, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Alertmanager]:
    """Run an Alertmanager on loopback as long as the `with` lasts, with these variables besides those of the test."""
    (folder / "alertmanager.yaml").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        find_program("alertmanager", "alertmanager"),
        f"--config.file={folder / 'alertmanager.yaml'}",
        "--cluster.listen-address=",
    ]
    words += [f"--storage.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    words += [f"--enable-feature={features}"] if features else []
    alertmanager = Alertmanager(Web("Alertmanager", "127.0.0.1", port))
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **environment}) as process,
    ):
        try:
            wait_until("Alertmanager answers", lambda: is_ready(alertmanager), limit=30)
            yield alertmanager
        finally:
            process.kill()


def is_ready(alertmanager: Alertmanager) -> bool:
    try:
        return bool(alertmanager.fetch_integrations())
    except NoAnswer:
        return False
