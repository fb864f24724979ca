"""Files and commands of the programs on a host without Kubernetes: one truth for the role and for the checks.

The name of a file has a digest of its content in it, and the command line names the file: a process that runs with the
wanted command line has read the wanted content.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from gpustack.ask.view import View
from gpustack.probes.host.system import HOSTNAME
from gpustack.probes.standalone.units import ALERTMANAGER, DROP_IN, GPU_EXPORTER, NODE_EXPORTER, PORTS, PROMETHEUS
from gpustack.steps.gpu.count import gpus
from gpustack.steps.gpu.exporter import own_and_more, patience, seconds
from gpustack.steps.monitoring.receiver import alertmanager_configuration
from gpustack.steps.monitoring.values import size_limit
from gpustack.steps.standalone.rules import derived

FOLDER = "/etc/gpustack-cluster/standalone"
RECEIVERS = f"{FOLDER}/receivers"
HEADER = "# Written by gpustack; a change here is undone by the next install.\n"
LOOPBACK = "127.0.0.1"
GPU_JOB = "dcgm-exporter"


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Wanted:
    """`files` are there before the program starts with `command`."""

    unit: str
    command: str
    files: tuple[File, ...] = ()


@dataclass(frozen=True)
class Part:
    """What the role of a step brings: programs with settings of ours, packages in apt's words, those of them that are
    held, and units that start as their package says."""

    wanted: list[Wanted]
    packages: str
    held: str = ""
    plain: tuple[str, ...] = ()


def digested(name: str, suffix: str, text: str) -> File:
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return File(f"{FOLDER}/{name}-{digest}.{suffix}", text)


def exporters(here: View) -> list[Wanted]:
    """Raises FactUnavailable."""
    node = (
        f"/usr/bin/prometheus-node-exporter --web.listen-address={LOOPBACK}:{here.spec.monitoring.node_exporter_port}"
    )
    return [*([gpu_exporter(here)] if gpus(here) else []), Wanted(NODE_EXPORTER, node)]


def gpu_exporter(here: View) -> Wanted:
    """Long options: NVIDIA/dcgm-exporter pkg/cmd/app.go at d5e5f510, NewApp."""
    metrics = here.spec.gpu.metrics
    counters = digested("counters", "csv", own_and_more(here))
    words = [
        "/usr/bin/dcgm-exporter", f"--collectors={counters.path}", f"--address={LOOPBACK}:{metrics.port}",
        f"--remote-hostengine-info={metrics.engine}", f"--collect-interval={seconds(metrics.interval) * 1000}",
        f"--devices={metrics.devices}",
    ]  # fmt: skip
    return Wanted(GPU_EXPORTER, " ".join(words), (counters,))


def monitoring(here: View) -> list[Wanted]:
    """Raises FactUnavailable."""
    spec = here.spec
    rules = digested("rules", "yaml", dumped(derived(here)))
    settings = digested("prometheus", "yaml", dumped(prometheus(here, rules.path)))
    receivers = digested("alertmanager", "yaml", dumped(alertmanager_configuration(spec, RECEIVERS)))
    watch = [
        "/usr/bin/prometheus", f"--config.file={settings.path}", "--storage.tsdb.path=/var/lib/prometheus/metrics2",
        f"--storage.tsdb.retention.time={spec.monitoring.retention}",
        f"--storage.tsdb.retention.size={size_limit(spec)}", f"--web.listen-address={LOOPBACK}:{PORTS[PROMETHEUS]}",
    ]  # fmt: skip
    tell = [
        "/usr/bin/prometheus-alertmanager", f"--config.file={receivers.path}",
        "--storage.path=/var/lib/prometheus/alertmanager", "--cluster.listen-address=",
        f"--web.listen-address={LOOPBACK}:{PORTS[ALERTMANAGER]}",
    ]  # fmt: skip
    return [
        Wanted(ALERTMANAGER, " ".join(tell), (receivers,)),
        Wanted(PROMETHEUS, " ".join(watch), (rules, settings)),
    ]


def prometheus(here: View, rules: str) -> dict[str, Any]:
    """Its configuration. Every target is on this host, and has its name as `node`, as our rules expect."""
    spec = here.spec
    targets = {job: f"{LOOPBACK}:{port}" for job, port in jobs(here).items()}
    scraped = [
        {
            "job_name": job,
            **(gpu_scraping(here) if job == GPU_JOB else {}),
            "static_configs": [{"targets": [target], "labels": {"node": here[HOSTNAME]}}],
        }
        for job, target in targets.items()
    ]
    return {
        "global": {
            "scrape_interval": spec.monitoring.scrape_interval,
            "evaluation_interval": "30s",
            "external_labels": {"cluster": spec.cluster_name, **spec.monitoring.external_labels},
        },
        "rule_files": [rules],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"{LOOPBACK}:{PORTS[ALERTMANAGER]}"]}]}]},
        "scrape_configs": scraped,
    }


def gpu_scraping(here: View) -> dict[str, Any]:
    metrics = here.spec.gpu.metrics
    found: dict[str, Any] = {"scrape_interval": metrics.interval, "scrape_timeout": patience(metrics.interval)}
    relabelings = [one.model_dump(mode="json", exclude_none=True) for one in metrics.relabelings]
    return found | ({"metric_relabel_configs": relabelings} if relabelings else {})


def jobs(here: View) -> dict[str, int]:
    """Ports by scrape job. Raises FactUnavailable."""
    spec = here.spec
    return {
        **({GPU_JOB: spec.gpu.metrics.port} if gpus(here) else {}),
        "node-exporter": spec.monitoring.node_exporter_port,
        "prometheus": PORTS[PROMETHEUS],
        "alertmanager": PORTS[ALERTMANAGER],
    }


def dumped(found: Any) -> str:
    import yaml

    return HEADER + str(yaml.safe_dump(found, sort_keys=False, width=2**31 - 1))


def drop_in(wanted: Wanted) -> str:
    """systemd.service(5): an empty ExecStart= forgets that of the package; % begins a specifier."""
    return f"{HEADER}[Service]\nExecStart=\nExecStart={wanted.command.replace('%', '%%')}\n"


def part_of(part: Part) -> dict[str, Any]:
    """As the role reads it."""
    drop_ins = [{"path": DROP_IN.format(one.unit), "text": drop_in(one)} for one in part.wanted]
    return {
        "folders": [FOLDER, *(one["path"].rpartition("/")[0] for one in drop_ins)],
        "files": [{"path": file.path, "text": file.text} for one in part.wanted for file in one.files],
        "drop_ins": drop_ins,
        "commands": [{"unit": one.unit, "command": one.command} for one in part.wanted],
        "plain": list(part.plain),
        "packages": part.packages,
        "held": part.held,
    }
