"""Which answers of a finding are shown as evidence, and as which command."""

from dataclasses import replace

import pytest

from gpustack.ask.alike import Evidence
from gpustack.ask.probe import Answer
from gpustack.doctor.tells import Told
from gpustack.report.evidence import asked_and_told, asking, deciding, sought
from gpustack.report.telling import Sought
from gpustack.report.words import cleaner
from tests.unit.steps import recorded_hosts

SCRIPT = r"""cd /etc || exit
echo '== units'
systemctl show -p Id one.service
if rules=$(iptables -w 2 -S 2>/dev/null); then
  echo '== rules'; echo "$rules" | awk '!/KUBE-/'
fi
echo '== links'; ip -4 -o addr show || exit
echo "== file $file"; cat "$file"
"""


@pytest.mark.parametrize(
    ("heading", "asks"),
    [
        ("units", "systemctl show -p Id one.service"),
        ("rules", "iptables -w 2 -S"),
        ("links", "ip -4 -o addr show"),
        ("file a", ""),
        ("", ""),
    ],
)
def test_of_a_script_what_asks_under_a_heading(heading: str, asks: str) -> None:
    assert asking(SCRIPT.splitlines(), heading) == asks


def test_what_says_nothing_of_the_finding_is_not_shown() -> None:
    """But what failed is, and everything where nothing has a word of it."""
    said = {
        "route": Answer("network.route", "h1", 0, "192.0.2.1 via 10.77.0.1 dev eth0"),
        "rules": Answer("network.filters", "h1", 0, "== live\n-P FORWARD DROP"),
        "refused": Answer("containerd.runtime", "h1", 1, "", "connection refused"),
    }
    asked = [Evidence("h1", name, answer) for name, answer in said.items()]

    def shown(found: str) -> list[str]:
        return [seen.command for seen in deciding(asked, str, Sought(found, "let through by eth0"))]

    assert shown("stopped by the policy DROP of FORWARD") == ["rules", "refused"]
    assert shown("none") == ["route", "refused"]
    assert [seen.command for seen in deciding(asked[:2], str, Sought("none"))] == ["route", "rules"]


def test_what_a_finding_names_or_quotes_decides() -> None:
    """Whatever else was read, and has words of it."""
    said = {"network.route": "stopped", "network.filters": "== live\n-P FORWARD DROP", "network.links": "eth0"}
    asked = [Evidence("h1", probe, Answer(probe, "h1", 0, out)) for probe, out in said.items()]

    def shown(found: Sought) -> list[str]:
        return [seen.command for seen in deciding(asked, str, found)]

    assert shown(Sought("stopped", quote="live DROP")) == ["network.filters"]
    assert shown(Sought("stopped", by="network.links")) == ["network.links"]
    assert shown(Sought("stopped", quote="absent")) == ["network.route"]


def test_bare_values_are_shown_with_what_they_are() -> None:
    answer = Answer("etcd.slow-requests", "h1", 0, "21 0 83\n")
    rows = (("", ("slow writes", "pulls", "% free")),)
    _, told = asked_and_told(Evidence("h1", "count", answer, rows=rows), str, Sought("21"))
    assert told == "slow writes 21, pulls 0, % free 83"
    _, told = asked_and_told(Evidence("h1", "count", replace(answer, out="21 0"), rows=rows), str, Sought("21"))
    assert told == "21 0"


def test_a_script_is_shown_as_what_a_person_would_type() -> None:
    """With the name of the part of its answer that tells; a file without when it was written."""
    answer = Answer("containerd.configuration", "h1", 0, "== conf.d/a.toml 1795320974\ndisabled_plugins = ['cri']\n")
    found = sought(Told(True, "CRI", "answers", "turned off by disabled_plugins"), str)
    seen = Evidence("h1", "cd /etc/containerd\nfor file in *; do", answer, "cat /etc/containerd/conf.d/*")
    shown = ("h1 $ cat /etc/containerd/conf.d/*", "conf.d/a.toml: disabled_plugins = ['cri']")
    assert asked_and_told(seen, str, found) == shown


def test_what_json_escapes_is_cleaned_too() -> None:
    answer = Answer("kube.nodes", "h1", 0, '{"said": "\\u001b[2Jpassw\\u006frd: hunter2", "b": 1}')
    clean = cleaner(recorded_hosts.snapshot({}, {}).inventory)
    _, told = asked_and_told(Evidence("h1", "kubectl get nodes", answer), clean, Sought("hunter2"))
    assert "\x1b" not in told
    assert "hunter2" not in told
