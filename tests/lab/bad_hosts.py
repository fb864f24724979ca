"""Addresses of lab hosts at which something else answers than the host's own sshd, or nothing at all.

Each kind of badness is built on the host that has the address: packets to port 22 of that address are refused, dropped
or sent to another port, where an sshd with other settings or a small program listens.
"""

from collections.abc import Mapping
from pathlib import Path

from gpustack_lab import lab

# kind: nftables verdict for packets to port 22 of the address
VERDICTS = {
    "refused": "reject with tcp reset",
    "dropped": "drop",
    "silent": "redirect to :2201",
    "slow": "redirect to :2202",
    "hangs": "redirect to :2203",
    "mute": "redirect to :2204",
    "no-sudo": "redirect to :2205",
    "other-key": "redirect to :2206",
    "drips": "redirect to :2207",
}
# port: what its sshd does instead of the command it is asked to run
COMMANDS = {
    2203: "exec sleep 300",
    2204: "exec >/dev/null 2>/dev/null </dev/null; exec sleep 300",
    2207: "exec /opt/drip",
    2205: 'export PATH=/opt/nothing; eval "$SSH_ORIGINAL_COMMAND"',
}
DELAY = 4
DRIP = """#!/usr/bin/python3
import os, subprocess, sys, time
asked = subprocess.Popen(["sh", "-c", os.environ["SSH_ORIGINAL_COMMAND"]], stdout=subprocess.PIPE, stderr=2)
while byte := asked.stdout.read(1):
    os.write(1, byte)
    time.sleep(1)
"""
RELAY = f"""
import socket, threading, time
def pipe(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
def slow(client):
    time.sleep({DELAY})
    server = socket.create_connection(("127.0.0.1", 22))
    threading.Thread(target=pipe, args=(client, server)).start()
    pipe(server, client)
silent, late, kept = socket.create_server(("", 2201)), socket.create_server(("", 2202)), []
def keep():
    while True:
        kept.append(silent.accept())
threading.Thread(target=keep).start()
while True:
    threading.Thread(target=slow, args=(late.accept()[0],)).start()
"""
SETUP = """
set -eu
mkdir -p /opt/nothing /run/sshd
ln -sf /bin/sh /usr/bin/id /opt/nothing
[ -f /opt/other_key ] || ssh-keygen -q -t ed25519 -N '' -f /opt/other_key
id plain >/dev/null 2>&1 || useradd --create-home --shell /bin/bash plain
install -d -o plain -g plain -m 700 /home/plain/.ssh
install -o plain -g plain -m 600 /home/ops/.ssh/authorized_keys /home/plain/.ssh/authorized_keys
printf '%s' "$DRIP" >/opt/drip
chmod 755 /opt/drip
systemd-run --quiet --unit=bad-relay python3 -c "$RELAY"
"""


def make_bad(running_lab: lab.Lab, bad: Mapping[str, str]) -> None:
    """Make the addresses bad, in the way of their name. `no-right` is another login, and `unknown-key` a matter of
    `ssh_config`: nothing is done to the host for these two."""
    addresses = {extra.name: extra for extra in running_lab.record.addresses}
    for host in running_lab.hosts:
        mine = {addresses[name].address: kind for name, kind in bad.items() if addresses[name].host == host.name}
        chains = {"redirect": "", "verdict": ""}
        for address, kind in mine.items():
            if verdict := VERDICTS.get(kind):
                chain = "redirect" if verdict.startswith("redirect") else "verdict"
                chains[chain] += f"ip daddr {address} tcp dport 22 {verdict}\n"
        rules = (
            f"table ip bad {{\nchain nat {{ type nat hook prerouting priority -100;\n{chains['redirect']}}}\n"
            f"chain in {{ type filter hook input priority -10;\n{chains['verdict']}}}\n}}\n"
        )
        daemons = [f"/usr/sbin/sshd -p {port} -o 'ForceCommand={command}'\n" for port, command in COMMANDS.items()]
        daemons.append("/usr/sbin/sshd -p 2206 -h /opt/other_key -o HostKey=/opt/other_key\n")
        script = f"RELAY='{RELAY}'\nDRIP='{DRIP}'\n{SETUP}{''.join(daemons)}nft -f - <<'END'\n{rules}END\n"
        process = running_lab.exec(host.name, ["sudo", "sh", "-s"], text=script, limit=60)
        assert process.returncode == 0, process.stderr


def write_ssh_config(running_lab: lab.Lab, unknown: list[str], folder: Path) -> Path:
    """Write the lab's ssh_config without the known keys of some addresses, into a folder that is made."""
    dropped_addresses = {extra.address for extra in running_lab.record.addresses if extra.name in unknown} | set(
        unknown
    )
    known_lines = []
    for line in (running_lab.record.state / "ssh" / "known_hosts").read_text().splitlines():
        names, key = line.split(" ", 1)
        known_lines.append(f"{','.join(name for name in names.split(',') if name not in dropped_addresses)} {key}\n")
    folder.mkdir()
    (folder / "known_hosts").write_text("".join(known_lines))
    text = running_lab.ssh_config.read_text()
    changed_text = text.replace(str(running_lab.record.state / "ssh" / "known_hosts"), str(folder / "known_hosts"))
    assert changed_text != text
    (folder / "ssh_config").write_text(changed_text)
    return folder / "ssh_config"
