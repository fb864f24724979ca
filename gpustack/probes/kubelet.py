"""The kubelet of a host, as systemd and its own health endpoint tell."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Probe, Shell


@dataclass(frozen=True)
class Kubelet:
    """`state` is systemd's ActiveState (`active`, `activating`, …), `installed` whether there is such a unit.
    `healthy` is None when nothing listens on the health port. `machine_id` is what the kubelet tells the API."""

    installed: bool
    state: str
    enabled: bool
    healthy: bool | None
    machine_id: str


def kubelet(answer: Answer) -> Kubelet:
    """Raises KeyError when systemd did not answer, or when there is no curl to ask with."""
    said = dict(line.split("=", 1) for line in answer.out.splitlines() if "=" in line)
    health = said["Health"]
    if health not in ("ok", "none", "failed"):
        raise ValueError(health)
    return Kubelet(
        installed=said["LoadState"] == "loaded",
        state=said["ActiveState"],
        enabled=said["UnitFileState"] == "enabled",
        healthy=None if health == "none" else health == "ok",
        machine_id=said["Machine"],
    )


# 10248 is healthzPort, which the kubelet binds to the loopback only. curl ends with 7 when nothing listens there.
SCRIPT = """
systemctl show kubelet -p LoadState -p ActiveState -p UnitFileState
read -r id </etc/machine-id
echo "Machine=$id"
said=$(curl -sS -m 2 http://127.0.0.1:10248/healthz 2>&1)
case $? in
  0) [ "$said" = ok ] && echo Health=ok || echo Health=failed ;;
  7) echo Health=none ;;
  127) ;;
  *) echo Health=failed ;;
esac
"""

KUBELET = Probe("kubelet.unit", Shell(SCRIPT), kubelet)
