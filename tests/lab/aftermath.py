"""After an interruption and one more install nothing of the interrupted run is left anywhere."""

import time
from pathlib import Path

from tests.lab.broken_off import LIMIT
from tests.lab.stage import Stage

# Lock files stay, empty; that is how flock(1) works. The holder's note goes with the lock.
LEFTOVERS = r"""
ls -d /run/gpustack* /run/gpustack-cluster/* /tmp/*gpustack* /tmp/tmp.* ~ops/.ansible/gpustack/* ~ops/.ansible/tmp/* \
  /root/.ansible/*/* /etc/kubernetes/*.unfinished /etc/kubernetes/bootstrap-kubelet.conf 2>/dev/null |
  grep -vxE '/run/(gpustack-cluster(/lock)?|gpustack-(apt|kubeadm)\.lock)'
find /etc /usr/local /opt/cni -xdev \( -name '.ansible_tmp*' -o -name 'hosts.toml.new' \) 2>/dev/null
dpkg --audit | grep .
[ ! -e /run/gpustack-cluster/lock ] || flock --nonblock /run/gpustack-cluster/lock true || echo "the lock is held"
for pid in $(pgrep -f 'ansible|AnsiballZ|kubeadm|apt-get|/usr/bin/dpkg'); do
  [ "$pid" = $$ ] || tr '\0\n' '  ' <"/proc/$pid/cmdline" && echo
done 2>/dev/null
"""
TOKENS = "[ ! -e /etc/kubernetes/admin.conf ] || kubeadm token list --kubeconfig /etc/kubernetes/admin.conf"


def install_again(stage: Stage, limit: float = LIMIT) -> tuple[str, float]:
    """Run one more install, and a verification that finds nothing. Return what the install did, and its seconds."""
    start = time.monotonic()
    following = stage.run()
    assert following.end(limit) == 0, following.read_output()
    took = time.monotonic() - start
    process = stage.run("verify")
    assert process.end() == 0, process.read_output()
    return "nothing to do" if "nothing to do" in following.read_output() else "converged", took


def list_leftovers(stage: Stage) -> dict[str, list[str]]:
    """List what is left, by host, and on the controller processes and private files of all runs of this stage."""
    leftovers = {
        host.name: stage.on(host.name, f"set +e\n{LEFTOVERS}exit 0").splitlines() for host in stage.story.lab.hosts
    }
    # The script itself names what it looks for.
    leftovers = {
        name: [line for line in lines if line.strip() and "pgrep" not in line] for name, lines in leftovers.items()
    }
    leftovers["tokens"] = stage.on("host1", TOKENS).splitlines()
    leftovers["controller"] = [str(path) for run in stage.runs for path in run.memory.glob("*")]
    leftovers["controller"] += [
        name for run in stage.runs for pid in run.list_processes() if (name := read_program(pid)) != "ssh"
    ]
    return {name: lines for name, lines in leftovers.items() if lines}


def read_program(pid: int) -> str:
    """Read the name of a process. ssh's master connections stay for a minute."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return "ssh"
