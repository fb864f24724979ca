"""Makes breaks on a converged lab, lets `plan` name and `install` fix or refuse them, and puts the hosts right."""

import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.breaks import Break
from tests.lab.conftest import Run
from tests.lab.firewalls import NFTABLES, follow_connections, run_as_root

RELEASES = ["debian-12", "debian-13"]
PRELUDE = r"""set -eu
export KUBECONFIG=/etc/kubernetes/admin.conf HOST1={host1} HOST2={host2} HOST1_ID={id1}
await() {{ for n in $(seq 100); do "$@" && return; sleep 1; done; echo "never: $*" >&2; exit 1; }}
took() {{ journalctl -u kubelet -o cat | grep cgroupDriver= | tail -n 1 | grep -q "$1"; }}
edit() {{ kubectl -n kube-system get configmap "$1" -o yaml | sed "$2" | kubectl replace -f - >/dev/null; }}
flannel() {{ kubectl -n kube-flannel "$@"; }}
monitoring() {{ kubectl -n monitoring "$@"; }}
prometheus() {{
    kubectl get --raw "/api/v1/namespaces/monitoring/services/http:monitoring-prometheus:http-web/proxy/api/v1/$1"
}}
gpus() {{ kubectl -n gpu-operator "$@"; }}
observed() {{
  flannel get daemonset kube-flannel-ds -o 'jsonpath={{.metadata.generation}} {{.status.observedGeneration}}' |
    awk '{{exit $1 != $2}}'
}}
"""


@dataclass
class World:
    """A converged lab of host1 (the control plane) and host2, and the inventory that it was made with."""

    lab: lab.Lab
    inventory: Path
    gpustack: Run
    folder: Path
    prelude: str = field(init=False)

    def __post_init__(self) -> None:
        host, two = self.lab.hosts
        machine = witness.connect_host(self.lab, "host1").check_output("cat /etc/machine-id")
        self.prelude = PRELUDE.format(host1=host.address, host2=two.address, id1=machine)

    def run(self, host: str, scripts: Sequence[str]) -> None:
        """Run each script in a shell of its own, as root. Fail with its output."""
        whole_script = self.prelude + "".join(f"(\n{script}\n)\n" for script in scripts if script)
        process = self.lab.exec(host, ["sudo", "sh"], text=whole_script, limit=240)
        assert process.returncode == 0, f"{host}: {scripts}\n{process.stdout}{process.stderr}"

    def run_everywhere(self, scripts: Sequence[tuple[str, str]]) -> None:
        """Run scripts of (host, script), the hosts at the same time."""
        by_host = {host: [script for place, script in scripts if place == host] for host, _ in scripts}
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.run, by_host, by_host.values()))

    def choose_inventory(self, entry: Break) -> Path:
        """Choose the inventory that a break asks with: ours, or a copy with other settings or fewer hosts."""
        if not (entry.spec or entry.vars or entry.hosts):
            return self.inventory
        return self.build_inventory(entry.spec, {entry.host: entry.vars}, entry.hosts)

    def build_inventory(
        self, spec_of: Mapping[str, Any], variables: Mapping[str, Mapping[str, Any]], hosts: Sequence[str]
    ) -> Path:
        folder = self.folder / "inventory"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.inventory, folder)
        roads.merge_into(folder, spec_of)

        def edit(values: dict[str, Any]) -> None:
            nodes = values["all"]["children"]["kube_node"]["hosts"]
            for name in list(nodes):
                nodes[name] |= variables.get(name, {})
                if hosts and name not in hosts:
                    del nodes[name]

        roads.change(folder / "hosts.yml", edit)
        return folder


def make_world(running_lab: lab.Lab, gpustack: Run, folder: Path) -> World:
    """Make a cluster of a bare lab: host2 behind a firewall that denies by default, names and addresses given, history
    on volumes, somebody who would get alerts, a dashboard of the operator's, `gpustack serve`, KEDA and the daily
    diagnostic."""
    with follow_connections(running_lab):
        run_as_root(running_lab, "host2", "apt-get install -qy nftables >/dev/null 2>&1\n" + NFTABLES)
    addresses = {host.name: host.address for host in running_lab.hosts}

    def give_addresses(values: dict[str, Any]) -> None:
        for name, variables in values["all"]["children"]["kube_node"]["hosts"].items():
            variables["gpustack_node_ip"] = addresses[name]

    roads.change(running_lab.inventory / "hosts.yml", give_addresses)
    roads.merge_spec(running_lab, kubernetes={"cert_sans": ["kube.lab.example"]})
    roads.set_spec(
        running_lab,
        monitoring={"persistence": {"enabled": True, "size": "1Gi"}},
        alerts={"receivers": {"default": [{"type": "webhook", "secret_file": str(write_address(folder))}]}},
        dashboards={"files": [str(write_dashboard(folder))]},
        serve={"enabled": True},
        autoscaling={"enabled": True},
        care={"enabled": True},
    )
    gpustack("install", "-i", running_lab.inventory, "--yes", limit=1800)
    running_lab.save("converged")
    return World(running_lab, running_lab.inventory, gpustack, folder)


def write_address(folder: Path) -> Path:
    """Write a file with an address at which nobody listens (TEST-NET-1, RFC 5737)."""
    path = folder / "webhook"
    path.write_text("http://192.0.2.1/alerts\n")
    path.chmod(0o600)
    return path


def write_dashboard(folder: Path) -> Path:
    """Write a dashboard as grafana.com has it: its data source is still to be chosen."""
    path = folder / "mine.json"
    source = {"name": "DS_PROMETHEUS", "type": "datasource", "pluginId": "prometheus"}
    panel = {"type": "stat", "title": "Mine", "datasource": "${DS_PROMETHEUS}", "targets": [{"expr": "up"}]}
    path.write_text(json.dumps({"__inputs": [source], "title": "Mine", "panels": [panel]}))
    return path


def select_checks(document: Mapping[str, Any], outcome: str) -> dict[str, dict[str, Any]]:
    """Select the checks of a plan or a verification with that outcome, as STEP/CHECK@WHERE."""
    return {
        f"{state['step']}/{check['check']}@{state['location'].lstrip('@')}": check
        for state in document["states"]
        for check in state["checks"]
        if check["outcome"] == outcome
    }


def check_repair(world: World, batch: Sequence[Break]) -> None:
    """Check the whole life of breaks that are made at once. An assertion is about each of them."""
    world.run_everywhere([pair for change in batch for pair in change.host_scripts.items()])
    world.run_everywhere([(entry.host, entry.script) for entry in batch])
    inventory = world.choose_inventory(batch[0])
    assert_named(json.loads(world.gpustack("plan", "-i", inventory, "-o", "json", code=1).stdout), batch)
    process = world.gpustack("install", "-i", inventory, "--yes", "-o", "json", limit=900, code=None)
    outcome = json.loads(process.stdout)
    # The document of a refused install has no runs.
    runs = outcome.get("playbook_runs", [])
    played_steps = sorted(f"{run['step']}@{host}" for run in runs for host in run["host_names"])
    side_effects = [play for entry in batch for play in entry.side_effects]
    if batch[0].cure == "install":
        assert played_steps == sorted([*side_effects, *(f"{entry.step}@{entry.host}" for entry in batch)])
        assert outcome["converged"], describe(select_checks(outcome["verification"], "failed"), set())
        world.run_everywhere([(entry.host, entry.proof) for entry in batch])
        assert process.returncode == 0
    else:
        assert (played_steps, process.returncode) == (sorted(side_effects), 5)
    world.run_everywhere([(entry.host, entry.recover) for entry in batch])
    if side_effects:
        world.gpustack("install", "-i", world.inventory, "--yes", limit=900)
    if batch[0].cure != "install":
        wait_until_converged(world)


def find_open(world: World) -> dict[str, str]:
    """Find what verify reports as failed or unknown, with its outcome. Return nothing when it has converged."""
    process = world.gpustack("verify", "-i", world.inventory, "-o", "json", code=None)
    if process.returncode == 0:
        return {}
    document = json.loads(process.stdout)
    unknown = {place: check["reason"] for place, check in select_checks(document, "unknown").items()}
    return describe(select_checks(document, "failed"), set()) | unknown or {"exit": str(process.returncode)}


def wait_until_converged(world: World, limit: float = 300) -> None:
    """Wait until the cluster has converged. Fail with what is still open."""
    last: dict[str, str] = {}

    def is_converged() -> bool:
        last.clear()
        last.update(find_open(world))
        return not last

    try:
        witness.wait_until("converged again", is_converged, limit=limit)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last}") from None


def assert_named(document: Mapping[str, Any], batch: Sequence[Break]) -> None:
    failures, unknown = select_checks(document, "failed"), select_checks(document, "unknown")
    expected_checks = {expected_check for entry in batch for expected_check in entry.expected_checks}
    may_fail = {maybe_check for entry in batch for maybe_check in entry.maybe}
    assert expected_checks <= set(failures) <= expected_checks | may_fail, (
        f"only expected {expected_checks - set(failures)}, only found {describe(failures, expected_checks | may_fail)}"
    )
    unexpected_unknowns = {
        place: check["reason"]
        for place, check in unknown.items()
        if not any(entry.may_be_unknown(place) for entry in batch)
    }
    assert unexpected_unknowns == {}, f"unknown, and should be known: {unexpected_unknowns}"
    for entry in batch:
        values = failures[f"{entry.id}@{entry.location}"]
        assert any(part in values["actual"] for part in entry.actual.split(" | ")), f"{entry}: {values['actual']}"
        assert values["cure"] == entry.cure, f"{entry}: {values['cure']}"
        assert entry.hint in (values["hint"] or ""), f"{entry}: {values['hint']}"
        assert values["hint"] or entry.cure == "install", f"{entry} has no hint"
        silent = [pattern for pattern in entry.unknown if not any(fnmatchcase(place, pattern) for place in unknown)]
        assert silent == [], f"{entry}: is known"


def describe(failures: Mapping[str, Any], expected: set[str]) -> dict[str, str]:
    return {place: check["actual"] for place, check in failures.items() if place not in expected}
