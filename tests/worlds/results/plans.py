"""Plans and outcomes that never were, for the reports: bare hosts, converged ones, many, and a failed install."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gpustack.ask.judge import Result, expect
from gpustack.ask.probe import CLUSTER, Answer, Api, Probe, Shell
from gpustack.ask.snapshot import Reach, index_answers
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.rollout.plan import Outcome, Plan, PlaybookRun, TaskFailure, Verification, plan
from gpustack.steps.step import Step
from tests.worlds.snapshots.build import build

TAKEN_AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PASSWORD = "hunter2!"


def render_line(answer: Answer) -> str:
    if answer.rc:
        raise ValueError(answer.stderr)
    return answer.stdout.strip()


SWAP = Probe("invented.swap", Shell("cat /proc/swaps |\n  tail -n +2"), render_line)
CPUS = Probe("invented.cpus", Shell("nproc"), render_line)
CLOCK = Probe("invented.clock", Shell("timedatectl show -p NTPSynchronized --value"), render_line)
RUNTIME = Probe("invented.runtime", Shell("containerd --version"), render_line)
PODS = Probe("invented.pods", Api("/api/v1/pods"), render_line)


def swap(view: View) -> Result | None:
    return expect("swap", "", view[SWAP])


def cpus(view: View) -> Result | None:
    hint = Prose("give the host at least 2 CPUs, or set minimum.cpus in the spec")
    return expect("CPUs", "2 or more", "2 or more" if int(view[CPUS]) > 1 else view[CPUS], "operator", hint=hint)


def clock(view: View) -> Result | None:
    return expect("clock is synchronised", "yes", view[CLOCK])


def version(view: View) -> Result | None:
    return expect("containerd.io", "2.3.7", view[RUNTIME], "upgrade" if view[RUNTIME] else "install")


def running(view: View) -> Result | None:
    return expect("pods of the network", "2 running", view[PODS])


STEPS = (
    Step("ground", "host", (SWAP, CPUS, CLOCK), (swap, cpus, clock)),
    Step("runtime", "host", (RUNTIME,), (version,), needs=("ground",)),
    Step("network", "cluster", (PODS,), (running,), needs=("runtime",)),
)
GOOD = {SWAP: "", CPUS: "4", CLOCK: "yes", RUNTIME: "2.3.7"}
PODS_GOOD = Answer(PODS.id, CLUSTER, 0, "2 running")
STRANGER = Reach(
    "kube3", "host-key-unknown", "the host key of 10.0.0.3 is not known", Command("ssh-keyscan", "10.0.0.3")
)
WILD = "/dev/sda2 \u200bpartition\ue000 [bold]1G[/bold] password=hunter2!"


def build_hosts(*names: str) -> tuple[Host, ...]:
    planes = frozenset({CONTROL_PLANE, NODE})
    return tuple(
        Host(name, f"10.0.0.{index}", groups=frozenset({NODE}) if index > 1 else planes, become_password=PASSWORD)
        for index, name in enumerate(names, 1)
    )


def make_plan(
    names: Sequence[str], answers: Sequence[Answer], reach: Sequence[Reach] = (), steps: Sequence[Step] = STEPS
) -> Plan:
    snapshot = build(
        build_hosts(*names),
        index_answers(answers),
        reach=reach,
        inventory="site/hosts.yml",
        taken_at=TAKEN_AT,
        seconds=0.64,
    )
    return plan(snapshot, steps)


def make_answers(host: str, **changed_outputs: str) -> list[Answer]:
    """The good answers of a host, but for those named by the probe's last word."""
    outputs = {probe.id.partition(".")[2]: (probe, stdout) for probe, stdout in GOOD.items()}
    return [
        Answer(probe.id, host, 0, changed_outputs.get(word, stdout), seconds=0.01)
        for word, (probe, stdout) in outputs.items()
    ]


def make_converged_plan() -> Plan:
    return make_plan(["kube1", "kube2"], [*make_answers("kube1"), *make_answers("kube2"), PODS_GOOD])


def make_bare_plan() -> Plan:
    """Something of everything: differs, by hand, upgrade, cannot tell, later, not reached."""
    answers = [
        *make_answers("kube1", swap=WILD, runtime=""),
        *make_answers("kube2", swap=WILD, cpus="1", runtime="1.7.29"),
        Answer(PODS.id, CLUSTER, 1, "", stderr="The connection to the server 10.0.0.1:6443 was refused"),
        *make_answers("kube4"),
    ]
    late = Answer(CLOCK.id, "kube4", 124, "", stderr="\n".join(f"\x1b[31mline {n}\x1b[0m" for n in range(20)))
    return make_plan(["kube1", "kube2", "kube3", "kube4"], [*answers, late], [STRANGER])


def make_wide_plan() -> Plan:
    names = [f"node{number:02d}" for number in range(1, 31)]
    answers = [answer for name in names for answer in make_answers(name, swap="/swapfile")]
    return make_plan(names, [*answers, PODS_GOOD])


def make_run(
    step: str, names: Sequence[str], changed_hosts: Sequence[str], failures: Sequence[TaskFailure] = ()
) -> PlaybookRun:
    sources = ("-i", "site/hosts.yml", "-i", "overlay.yml")
    command = Command("ansible-playbook", *sources, "--limit", ",".join(names), f"playbooks/{step}.yml")
    failed_hosts = tuple(dict.fromkeys(failure.host for failure in failures))
    return PlaybookRun(
        step, tuple(names), tuple(changed_hosts), failed_hosts, tuple(failures), 12.3, command, 3 * len(changed_hosts)
    )


def make_installed_outcome() -> Outcome:
    both_hosts = ("kube1", "kube2")
    runs = (make_run("ground", both_hosts, both_hosts), make_run("runtime", both_hosts, ("kube2",)))
    return Outcome(make_bare_plan(), runs, Verification(make_converged_plan(), 0.7, 9), (), 63.0)


def make_failed_outcome() -> Outcome:
    wrong = TaskFailure(
        "kube2", "Ensure the package", "roles/runtime/tasks/main.yml:4", f"E: no space\nsaid: {PASSWORD}"
    )
    runs = (
        make_run("ground", ("kube1", "kube2"), ("kube1",)),
        make_run("runtime", ("kube1", "kube2"), ("kube1",), [wrong]),
    )
    answers = [*make_answers("kube1"), *make_answers("kube2", runtime=""), PODS_GOOD]
    remaining_steps = (("kube2", "runtime"), ("kube3", "reach"))
    after = make_plan(["kube1", "kube2", "kube3"], answers, [STRANGER])
    return Outcome(make_bare_plan(), runs, Verification(after, 0.7, 9), remaining_steps, 63.0)
