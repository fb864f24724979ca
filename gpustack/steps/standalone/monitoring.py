"""Monitoring of a host without Kubernetes (group gpu_standalone): Prometheus with gpustack's rules, and Alertmanager.

Both are the distribution's packages, and listen on 127.0.0.1 only. The rules are those of a cluster, without the ones
that need Kubernetes. Configurations are checked by promtool and amtool before a program is started with them. A drop-in
of each unit has its command line; the files of the packages stay as they are. What somebody else set up is left alone
and reported. Series are kept in /var/lib/prometheus, also by a reset.

Settings: monitoring.enabled, monitoring.retention, monitoring.retention_size, monitoring.scrape_interval,
monitoring.external_labels, alerts. Sources: packages prometheus and prometheus-alertmanager of Debian and Ubuntu;
docs/standalone.md.
"""

from collections.abc import Mapping
from dataclasses import replace

from gpustack.ask.judge import Result, format_value
from gpustack.ask.pod_egress import has_login
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.sections.receiver import Receiver
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.egress import DAEMONS
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.probes.standalone.answers import MONITORING_STATE
from gpustack.probes.standalone.units import ALERTMANAGER, PROGRAMS, PROMETHEUS
from gpustack.steps.egress_files import find_daemon_mismatch
from gpustack.steps.standalone.files import (
    MINIMUM_VERSION,
    TEAMS_VERSION,
    Installation,
    build_monitoring,
    is_old_alertmanager,
    map_job_ports,
)
from gpustack.steps.standalone.rules import derive_rules
from gpustack.steps.standalone.units import find_command_mismatch, find_foreign_units
from gpustack.steps.step import Step

# The first version of Alertmanager that supports a type of receiver. Behind a proxy with a login, each type that speaks
# HTTP needs MINIMUM_VERSION.
MINIMUM_VERSIONS: Mapping[str, tuple[int, int]] = {"webhook": MINIMUM_VERSION, "msteams": TEAMS_VERSION}
HTTP_TYPES = ("webhook", "slack", "msteams", "pagerduty")


def units_owned(view: View) -> Result | None:
    """The Prometheus and the Alertmanager on the host are those of gpustack, which would change the settings of any
    others."""
    return find_foreign_units(view, build_monitoring(view))


def receivers(view: View) -> Result | None:
    """The receivers of alerts can all be configured here: the secret of each is a file on your machine, not a Secret of
    a cluster, and the Alertmanager of the system knows its kind. Debian 12 and Ubuntu 22.04 have one older than 0.26,
    which cannot read the address of a webhook from a file, nor the login of a proxy from its environment; Microsoft
    Teams needs 0.28, which Ubuntu 24.04 lacks as well."""
    named_receivers = view.spec.alerts.receivers.name_receivers()
    flaws = [f"{name}: a Secret of a cluster" for name, receiver in named_receivers.items() if receiver.secret]
    flaws += [
        f"{name}: Alertmanager of this system is older than {'.'.join(map(str, minimum))}"
        for name, receiver in named_receivers.items()
        if is_old_alertmanager(view, minimum := select_needed_version(view, receiver))
    ]
    hint = Prose("another receiver in alerts.receivers of the spec, such as slack or email with secret_file")
    if flaws:
        return Result("receivers of alerts", "usable on this host", format_value(flaws), "operator", hint=hint)
    return None


def select_needed_version(view: View, receiver: Receiver) -> tuple[int, int]:
    """Select the version of Alertmanager that a receiver needs, (0, 0) where any will do."""
    login_version = MINIMUM_VERSION if receiver.type in HTTP_TYPES and has_login(view.spec) else (0, 0)
    return max(MINIMUM_VERSIONS.get(receiver.type or "", (0, 0)), login_version)


def packages_installed(view: View) -> Result | None:
    """Prometheus and Alertmanager are installed."""
    missing_packages = [name for name in (PROMETHEUS, ALERTMANAGER) if name not in view[PROGRAMS].packages]
    return Result("packages", "installed", f"missing: {format_value(missing_packages)}") if missing_packages else None


def commands(view: View) -> Result | None:
    """Prometheus and Alertmanager run with the settings of the spec, and start at boot."""
    return find_command_mismatch(view, build_monitoring(view))


def proxy(view: View) -> Result | None:
    """The running Alertmanager has the proxy of the spec, if it has one."""
    return find_daemon_mismatch(view, ALERTMANAGER)


def secrets(view: View) -> Result | None:
    """The host has the secrets of the receivers, as in the files on your machine."""
    changed_secrets = [name for name, is_same in view[PROGRAMS].secrets.items() if not is_same]
    return (
        Result("secrets of receivers", "those of your files", f"not {format_value(changed_secrets)}")
        if changed_secrets
        else None
    )


def ready(view: View) -> Result | None:
    """Prometheus and Alertmanager say that they are ready."""
    missing_programs = sorted({PROMETHEUS, ALERTMANAGER} - view[MONITORING_STATE].ready)
    if missing_programs:
        return Result("ready", format_value([PROMETHEUS, ALERTMANAGER]), f"not {format_value(missing_programs)}")
    return None


def rules_loaded(view: View) -> Result | None:
    """Prometheus has loaded the rules of gpustack in the version of this release, and no others."""
    path = next(file.path for service in build_monitoring(view) for file in service.files if "/rules-" in file.path)
    expected_counts = {(path, group["name"]): len(group["rules"]) for group in derive_rules(view)["groups"]}
    actual_counts = view[MONITORING_STATE].rules
    if actual_counts == expected_counts:
        return None
    mismatched_groups = {name for (_, name), _ in set(expected_counts.items()) ^ set(actual_counts.items())}
    return Result(
        "groups of rules in Prometheus", "ours", f"other: {format_value(sorted(mismatched_groups))}", passing=True
    )


def targets_scraped(view: View) -> Result | None:
    """Prometheus scrapes every program of this host."""
    states = view[MONITORING_STATE].job_health
    down_jobs = [job for job in map_job_ports(view) if not states.get(job)]
    if not down_jobs:
        return None
    expected, actual = f"up: {format_value(list(map_job_ports(view)))}", f"not {format_value(down_jobs)}"
    mismatch = Result("scrape jobs", expected, actual, fault="standalone-not-scraped", passing=True)
    return mismatch if PROMETHEUS in view[MONITORING_STATE].ready else replace(mismatch, fault="")


def build_installation(view: View) -> Installation:
    """Build the installation that the role reads. Raise FactUnavailable."""
    return Installation(build_monitoring(view), f"{PROMETHEUS} {ALERTMANAGER}")


STEP = Step(
    "standalone-monitoring",
    scope="host",
    probes=(OS, HOSTNAME, GPU_DEVICES, PROGRAMS, MONITORING_STATE, DAEMONS),
    checks=(units_owned, receivers, packages_installed, commands, proxy, secrets, ready, rules_loaded, targets_scraped),
    needs=("standalone-exporters",),
    settle_seconds=120,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
    includes_host=lambda host: host.standalone,
    interrupts="a program whose settings change restarts",
)
