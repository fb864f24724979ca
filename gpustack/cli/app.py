"""The root command `gpustack` and its subcommands. All errors of a command are reported in `error_handler`."""

import sys
from contextlib import suppress
from typing import Annotated

import typer

from gpustack.cli import (
    access,
    alerts,
    autoscale,
    bundle,
    doctor,
    explain,
    init,
    install,
    kubeconfig,
    prove,
    reset,
    serve,
    snapshot,
    trust,
)
from gpustack.cli.capacity import commands as capacity
from gpustack.cli.cost import commands as cost
from gpustack.cli.error_handler import report_errors
from gpustack.cli.gpu import commands as gpu
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.lab_distribution import add_lab_commands
from gpustack.cli.profile import commands as profile
from gpustack.report.renderings import DIAGNOSIS, INSTALL, PLAN, PROOF, RESET, VERIFICATION

app = build_group(
    "Turn Linux hosts into a Kubernetes GPU cluster, and prove that it works.",
    "gpustack init mycluster               # write a commented inventory",
    "gpustack plan -i mycluster            # show what differs from the spec",
    "gpustack install -i mycluster         # show the plan, confirm, apply, verify",
    "gpustack doctor -i mycluster          # find the root cause of a problem",
    name="gpustack",
)

SETUP, OPERATE, DIAGNOSE, LAB = "Set up", "Operate", "Diagnose", "Lab and bundles"

declare_command(
    app,
    "gpustack init mycluster",
    "gpustack init --schema > spec.schema.json",
    heading=SETUP,
)(init.init)
declare_command(
    app,
    "gpustack plan -i mycluster",
    "gpustack plan -i mycluster --limit gpu1,gpu2 --diff",
    "gpustack plan --from snapshot.jsonl -o json",
    result=PLAN,
    heading=SETUP,
)(install.plan)
declare_command(
    app,
    "gpustack install -i mycluster",
    "gpustack install -i mycluster --yes -o json        # in scripts",
    "gpustack install -i mycluster --only gpu-metrics --limit gpu1",
    result=INSTALL,
    heading=SETUP,
    short="Install or repair the cluster.",
)(install.install)
declare_command(
    app,
    "gpustack verify -i mycluster",
    "gpustack verify -i mycluster -o junit > verify.xml",
    result=VERIFICATION,
    heading=SETUP,
)(install.verify)
declare_command(
    app,
    "gpustack prove -i mycluster",
    "gpustack prove -i mycluster --limit gpu1 --timeout 300",
    result=PROOF,
    heading=SETUP,
    short="Prove every GPU: pod, metrics and dashboard.",
)(prove.prove)
declare_command(
    app,
    "gpustack access grafana -i mycluster --open",
    "gpustack access grafana -i mycluster --show-password",
    "gpustack access prometheus -i mycluster --port 9090",
    name="access",
    heading=OPERATE,
    short="Open Grafana, Prometheus, Alertmanager or the exporter.",
)(access.access)
declare_command(
    app,
    "gpustack kubeconfig -i mycluster --out admin.kubeconfig",
    "gpustack kubeconfig -i mycluster --user alice --days 7 --out alice.kubeconfig",
    heading=OPERATE,
)(kubeconfig.kubeconfig)
declare_command(
    app,
    "gpustack trust gpu1 -i mycluster",
    "gpustack trust gpu1 gpu2 -i mycluster --yes        # hosts with certificates",
    heading=OPERATE,
    short="Add the key of a host to known_hosts.",
)(trust.trust)
app.add_typer(alerts.app, name="alerts", rich_help_panel=OPERATE)
app.add_typer(gpu.app, name="gpu", rich_help_panel=OPERATE)
declare_command(
    app,
    "gpustack serve -i mycluster",
    "gpustack serve --prometheus http://127.0.0.1:9090 --listen 127.0.0.1:9460",
    "gpustack serve --listen 0.0.0.0:9460 --access-log",
    heading=OPERATE,
    short="Serve GPU activity over HTTP, for autoscalers and scripts.",
)(serve.serve)
app.add_typer(capacity.app, name="capacity", rich_help_panel=OPERATE)
app.add_typer(cost.app, name="cost", rich_help_panel=OPERATE)
app.add_typer(autoscale.app, name="autoscale", rich_help_panel=OPERATE)
app.add_typer(profile.app, name="profile", rich_help_panel=DIAGNOSE)
declare_command(
    app,
    "gpustack reset -i mycluster                    # every host",
    "gpustack reset -i mycluster --limit gpu2       # one worker",
    "gpustack reset -i mycluster --packages --yes",
    result=RESET,
    heading=OPERATE,
    short="Uninstall: remove what gpustack put on the hosts.",
)(reset.reset)
declare_command(
    app,
    "gpustack doctor -i mycluster",
    "gpustack doctor -i mycluster --fix",
    "gpustack doctor --from snapshot.jsonl -o html > report.html",
    result=DIAGNOSIS,
    heading=DIAGNOSE,
    short="Find the root cause of a problem, and fix it.",
)(doctor.doctor)
declare_command(
    app,
    "gpustack explain                       # list all pages",
    "gpustack explain prereqs/swap-off      # a check",
    "gpustack explain GpuLost               # an alert",
    "gpustack explain metric SM_ACTIVE      # a metric of DCGM, by any of its names",
    "gpustack explain xid 79                # an error code of NVIDIA's driver",
    heading=DIAGNOSE,
    short="Explain a step, check, fault, alert, metric or error.",
)(explain.explain)
declare_command(
    app,
    "gpustack snapshot -i mycluster --out snapshot.jsonl",
    "gpustack snapshot -i mycluster --redact addresses --out redacted.jsonl",
    "gpustack snapshot --from snapshot.jsonl --list",
    heading=DIAGNOSE,
    short="Record the hosts' answers in a file, without secrets.",
)(snapshot.snapshot)


@declare_command(app, "gpustack version", "gpustack --version", heading=DIAGNOSE)
def version() -> None:
    """Print the versions of gpustack and of what it installs."""
    from importlib.metadata import version as read_version

    from gpustack.config.versions import KNOWN_SETS, read_version_set

    versions = read_version_set(KNOWN_SETS[-1])
    components = ", ".join(f"{name} {versions.components[name]}" for name in ("kubernetes", "containerd", "flannel"))
    sys.stdout.write(f"gpustack {read_version('gpustack-cluster')} (version set {versions.name}: {components})\n")


app.add_typer(bundle.app, name="bundle", rich_help_panel=LAB, short_help="Verify and serve bundles for labs.")
add_lab_commands(app, bundle.app, LAB)


def print_version(value: bool) -> None:
    if value:
        version()
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    from gpustack.report.guard import guard_streams

    with report_errors():
        guard_streams()
        try:
            app()
        finally:
            # An error of the flush is still reported. A reader that closed the pipe needs no report.
            with suppress(BrokenPipeError):
                sys.stdout.flush()


if __name__ == "__main__":
    main()
