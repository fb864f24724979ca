"""Monitoring of a host without Kubernetes (group gpu_standalone): Prometheus with our rules, and Alertmanager.

Both are the distribution's packages, and listen on 127.0.0.1 only. Our rules are those of a cluster, without the ones
that need Kubernetes. Configurations are checked by promtool and amtool before a program is started with them. A drop-in
of each unit has its command line; the files of the packages stay as they are. What somebody else set up is left alone
and reported. Series are kept in /var/lib/prometheus, also by a reset.

Settings: monitoring.enabled, monitoring.retention, monitoring.retention_size, monitoring.scrape_interval,
monitoring.external_labels, alerts. Sources: packages prometheus and prometheus-alertmanager of Debian and Ubuntu;
docs/standalone.md.
"""

from dataclasses import replace

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.sections.receiver import Receiver
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.probes.standalone.answers import WATCHING
from gpustack.probes.standalone.units import ALERTMANAGER, PROGRAMS, PROMETHEUS
from gpustack.steps.standalone.exporters import applies
from gpustack.steps.standalone.files import Part, jobs, monitoring
from gpustack.steps.standalone.rules import derived
from gpustack.steps.standalone.units import others_units, wrong_commands
from gpustack.steps.step import Step

# Webhooks with url_file: CHANGELOG of Alertmanager, 0.26.0.
URL_FILE = (0, 26)


def others(here: View) -> Result | None:
    """No Prometheus or Alertmanager of somebody else is there: gpustack would change its settings."""
    return others_units(here, monitoring(here))


def receivers(here: View) -> Result | None:
    """Every receiver of alerts can be configured here: its secret is a file on your machine, not a Secret of a cluster,
    and the Alertmanager of the system knows its kind. Debian 12 and Ubuntu 22.04 have one older than 0.26, which cannot
    read the address of a webhook from a file."""
    named = here.spec.alerts.receivers.named()
    wrong = [f"{name}: a Secret of a cluster" for name, one in named.items() if one.secret]
    wrong += [
        f"{name}: Alertmanager of this system is older than 0.26" for name, one in named.items() if old(here, one)
    ]
    hint = Prose("another receiver in alerts.receivers of the spec, such as slack or email with secret_file")
    return (
        Result("receivers of alerts", "usable on this host", as_text(wrong), "operator", hint=hint) if wrong else None
    )


def old(here: View, one: Receiver) -> bool:
    if one.type != "webhook":
        return False
    if package := here[PROGRAMS].packages.get(ALERTMANAGER):
        major, minor = package.version.split(".")[:2]
        return (int(major), int(minor)) < URL_FILE
    return (here[OS].id, here[OS].version) in {("debian", "12"), ("ubuntu", "22.04")}


def installed(here: View) -> Result | None:
    """Prometheus and Alertmanager are installed."""
    missing = [name for name in (PROMETHEUS, ALERTMANAGER) if name not in here[PROGRAMS].packages]
    return Result("packages", "installed", f"missing: {as_text(missing)}") if missing else None


def commands(here: View) -> Result | None:
    """Prometheus and Alertmanager run with the settings of the spec, and start at boot."""
    return wrong_commands(here, monitoring(here))


def secrets(here: View) -> Result | None:
    """The host has the secrets of the receivers, as in the files on your machine."""
    wrong = [name for name, same in here[PROGRAMS].secrets.items() if not same]
    return Result("secrets of receivers", "those of your files", f"not {as_text(wrong)}") if wrong else None


def ready(here: View) -> Result | None:
    """Prometheus and Alertmanager say that they are ready."""
    missing = sorted({PROMETHEUS, ALERTMANAGER} - here[WATCHING].ready)
    return Result("ready", as_text([PROMETHEUS, ALERTMANAGER]), f"not {as_text(missing)}") if missing else None


def loaded(here: View) -> Result | None:
    """Prometheus has loaded our rules in the version of this release, and no others."""
    path = next(file.path for one in monitoring(here) for file in one.files if "/rules-" in file.path)
    wanted = {(path, group["name"]): len(group["rules"]) for group in derived(here)["groups"]}
    found = here[WATCHING].rules
    if found == wanted:
        return None
    wrong = {name for (_, name), _ in set(wanted.items()) ^ set(found.items())}
    return Result("groups of rules in Prometheus", "ours", f"other: {as_text(sorted(wrong))}", passing=True)


def scraped(here: View) -> Result | None:
    """Prometheus scrapes every program of this host."""
    up = here[WATCHING].up
    wrong = [job for job in jobs(here) if not up.get(job)]
    if not wrong:
        return None
    expected, found = f"up: {as_text(list(jobs(here)))}", f"not {as_text(wrong)}"
    missing = Result("scrape jobs", expected, found, fault="standalone-not-scraped", passing=True)
    return missing if PROMETHEUS in here[WATCHING].ready else replace(missing, fault="")


def wanted(here: View) -> Part:
    """What the role reads. Raises FactUnavailable."""
    return Part(monitoring(here), f"{PROMETHEUS} {ALERTMANAGER}")


STEP = Step(
    "standalone-monitoring",
    scope="host",
    probes=(OS, HOSTNAME, GPU_DEVICES, PROGRAMS, WATCHING),
    checks=(others, receivers, installed, commands, secrets, ready, loaded, scraped),
    needs=("standalone-exporters",),
    settle=120,
    applies=applies,
    interrupts="a program whose settings change restarts",
)
