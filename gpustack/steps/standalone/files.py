"""Files and commands of the programs on a host without Kubernetes, built once for the role and for the checks.

The name of a file has a digest of its content in it, and the command line names the file: a process that runs with the
expected command line has read the expected content.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from gpustack.ask.egress import ENVIRONMENT
from gpustack.ask.view import View
from gpustack.config.ports import UNIT_PORTS
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.probes.standalone.units import (
    ALERTMANAGER,
    DROP_IN,
    GPU_EXPORTER,
    NODE_EXPORTER,
    PROGRAMS,
    PROMETHEUS,
)
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.exporter import format_scrape_timeout, render_counters
from gpustack.steps.monitoring.notification import read_templates
from gpustack.steps.monitoring.receiver import FROM_ENVIRONMENT, build_alertmanager_configuration
from gpustack.steps.monitoring.values import format_size_limit
from gpustack.steps.standalone.rules import derive_rules
from gpustack.times import parse_duration

FOLDER = "/etc/gpustack-cluster/standalone"
RECEIVERS = f"{FOLDER}/receivers"
HEADER = "# Written by gpustack; a change here is undone by the next install.\n"
LOOPBACK = "127.0.0.1"
GPU_JOB = "dcgm-exporter"
# CHANGELOG of Alertmanager: 0.26.0 reads the address of a webhook from a file, and its docs/configuration.md has
# proxy_from_environment; 0.28.0 has msteamsv2_configs.
MINIMUM_VERSION, TEAMS_VERSION = (0, 26), (0, 28)
# The versions of systems whose package has none of it, or no Teams: packages.debian.org, packages.ubuntu.com.
PACKAGE_VERSIONS = {("debian", "12"): (0, 25), ("ubuntu", "22.04"): (0, 23), ("ubuntu", "24.04"): (0, 26)}


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Service:
    """Describe a program. `files` exist before it starts with `command`, in the environment of a file of systemd."""

    unit: str
    command: str
    files: tuple[File, ...] = ()
    environment_file: str = ""


@dataclass(frozen=True)
class Installation:
    """Describe what the role of a step installs: programs with settings of gpustack, packages in apt's words, those of
    them that are held, and units that start as their package says."""

    services: list[Service]
    packages: str
    held_packages: str = ""
    default_units: tuple[str, ...] = ()


def build_file(name: str, suffix: str, text: str) -> File:
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return File(f"{FOLDER}/{name}-{digest}.{suffix}", text)


def build_exporters(view: View) -> list[Service]:
    """Build the services of the exporters. Raise FactUnavailable."""
    # Without Fibre Channel: a scrape ends it where an adapter has no statistics (prometheus/node_exporter issue 3817).
    node = (
        f"/usr/bin/prometheus-node-exporter --web.listen-address={LOOPBACK}:{view.spec.monitoring.node_exporter_port}"
        " --no-collector.fibrechannel"
    )
    return [*([build_gpu_exporter(view)] if list_gpus(view) else []), Service(NODE_EXPORTER, node)]


def build_gpu_exporter(view: View) -> Service:
    """Build the service of the GPU exporter. Its long options are those of NVIDIA/dcgm-exporter pkg/cmd/app.go at
    d5e5f510, NewApp."""
    metrics = view.spec.gpu.metrics
    counters = build_file("counters", "csv", render_counters(view))
    milliseconds = round(parse_duration(metrics.interval) * 1000)
    arguments = [
        "/usr/bin/dcgm-exporter", f"--collectors={counters.path}", f"--address={LOOPBACK}:{metrics.port}",
        f"--remote-hostengine-info={metrics.engine}", f"--collect-interval={milliseconds}",
        f"--devices={metrics.devices}",
    ]  # fmt: skip
    return Service(GPU_EXPORTER, " ".join(arguments), (counters,))


def build_monitoring(view: View) -> list[Service]:
    """Build the services of the monitoring. Raise FactUnavailable."""
    spec = view.spec
    rules = build_file("rules", "yaml", render_yaml(derive_rules(view)))
    settings = build_file("prometheus", "yaml", render_yaml(build_prometheus_configuration(view, rules.path)))
    templates = build_file("notifications", "tmpl", read_templates())
    configuration = build_alertmanager_configuration(spec, RECEIVERS, build_http_config(view), templates.path)
    receivers = build_file("alertmanager", "yaml", render_yaml(configuration))
    prometheus_arguments = [
        "/usr/bin/prometheus", f"--config.file={settings.path}", "--storage.tsdb.path=/var/lib/prometheus/metrics2",
        f"--storage.tsdb.retention.time={spec.monitoring.retention}",
        f"--storage.tsdb.retention.size={format_size_limit(spec)}",
        f"--web.listen-address={LOOPBACK}:{UNIT_PORTS[PROMETHEUS]}",
    ]  # fmt: skip
    alertmanager_arguments = [
        "/usr/bin/prometheus-alertmanager", f"--config.file={receivers.path}",
        "--storage.path=/var/lib/prometheus/alertmanager", "--cluster.listen-address=",
        f"--web.listen-address={LOOPBACK}:{UNIT_PORTS[ALERTMANAGER]}",
    ]  # fmt: skip
    return [
        Service(
            ALERTMANAGER, " ".join(alertmanager_arguments), (templates, receivers), ENVIRONMENT if spec.proxy else ""
        ),
        Service(PROMETHEUS, " ".join(prometheus_arguments), (rules, settings)),
    ]


def build_http_config(view: View) -> dict[str, Any]:
    """Build how receivers are reached. An older Alertmanager gets the address of the proxy, without its exceptions.
    Raise FactUnavailable where a proxy is set and the version is unknown."""
    proxy = view.spec.proxy
    if proxy is None:
        return {}
    return {"proxy_url": proxy.https or proxy.http} if is_old_alertmanager(view) else FROM_ENVIRONMENT


def is_old_alertmanager(view: View, minimum: tuple[int, int] = MINIMUM_VERSION) -> bool:
    """Tell whether the Alertmanager of the host, or the one that its system offers, is older than `minimum`. One older
    than 0.26 reads no address of a webhook from a file, and no proxy from its environment."""
    if package := view[PROGRAMS].packages.get(ALERTMANAGER):
        major, minor = package.version.split(".")[:2]
        return (int(major), int(minor)) < minimum
    return PACKAGE_VERSIONS.get((view[OS].id, view[OS].version), minimum) < minimum


def build_prometheus_configuration(view: View, rules: str) -> dict[str, Any]:
    """Build the configuration of Prometheus. Every target is on this host, and has its name as `node`, as the rules
    expect."""
    spec = view.spec
    targets = {job: f"{LOOPBACK}:{port}" for job, port in map_job_ports(view).items()}
    scrape_configs = [
        {
            "job_name": job,
            **(build_gpu_scrape_config(view) if job == GPU_JOB else {}),
            "static_configs": [{"targets": [target], "labels": {"node": view[HOSTNAME]}}],
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
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"{LOOPBACK}:{UNIT_PORTS[ALERTMANAGER]}"]}]}]},
        "scrape_configs": scrape_configs,
    }


def build_gpu_scrape_config(view: View) -> dict[str, Any]:
    metrics = view.spec.gpu.metrics
    scrape_config: dict[str, Any] = {
        "scrape_interval": metrics.interval,
        "scrape_timeout": format_scrape_timeout(metrics.interval),
    }
    relabelings = [relabeling.model_dump(mode="json", exclude_none=True) for relabeling in metrics.relabelings]
    return scrape_config | ({"metric_relabel_configs": relabelings} if relabelings else {})


def map_job_ports(view: View) -> dict[str, int]:
    """Map scrape jobs to their ports. Raise FactUnavailable."""
    spec = view.spec
    return {
        **({GPU_JOB: spec.gpu.metrics.port} if list_gpus(view) else {}),
        "node-exporter": spec.monitoring.node_exporter_port,
        "prometheus": UNIT_PORTS[PROMETHEUS],
        "alertmanager": UNIT_PORTS[ALERTMANAGER],
    }


def render_yaml(document: Any) -> str:
    import yaml

    return HEADER + str(yaml.safe_dump(document, sort_keys=False, width=2**31 - 1))


def render_drop_in(service: Service) -> str:
    """Render the drop-in of a service. An empty ExecStart= forgets that of the package; % begins a specifier
    (systemd.service(5))."""
    environment = f"EnvironmentFile={service.environment_file}\n" if service.environment_file else ""
    return f"{HEADER}[Service]\n{environment}ExecStart=\nExecStart={service.command.replace('%', '%%')}\n"


def build_variables(installation: Installation) -> dict[str, Any]:
    """Build the variables as the role reads them."""
    drop_ins = [
        {"path": DROP_IN.format(service.unit), "text": render_drop_in(service)} for service in installation.services
    ]
    return {
        "folders": [FOLDER, *(drop_in["path"].rpartition("/")[0] for drop_in in drop_ins)],
        "files": [
            {"path": file.path, "text": file.text} for service in installation.services for file in service.files
        ],
        "drop_ins": drop_ins,
        "commands": [{"unit": service.unit, "command": service.command} for service in installation.services],
        "plain": list(installation.default_units),
        "packages": installation.packages,
        "held": installation.held_packages,
    }
