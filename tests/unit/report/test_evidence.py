"""Which line of an answer is shown as evidence."""

import json

import pytest

from gpustack.ask.alike import Evidence
from gpustack.ask.probe import Answer
from gpustack.report.evidence import LEAD, LONG, asking, deciding, telling

UNIT = "Id=kubelet.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled"
LIST = json.dumps({"items": [{"name": f"other-{number}"} for number in range(40)] + [{"name": "mine"}]})


@pytest.mark.parametrize(
    ("text", "found", "line"),
    [
        (UNIT, "inactive, disabled", "ActiveState=inactive"),
        ("ActiveState=active\nUnitFileState=enabled", "not active, enabled", "UnitFileState=enabled"),
        ("== live\n-A INPUT -j a\n-P FORWARD DROP", "stopped by the policy of FORWARD", "-P FORWARD DROP"),
        ("== a.toml\nplugins = []\n== b.toml\nplugins = [1]", "plugins in b.toml", "plugins = [1]"),
        ("# Written by us\nx = 1", "none", "x = 1"),
        ('{\n  "status": {\n  }\n}', "nothing", '"status": {'),
        ("{\n}", "nothing", "{"),
        ("", "none", ""),
        ("== live\n", "none", ""),
    ],
)
def test_the_line_that_tells(text: str, found: str, line: str) -> None:
    assert telling(text, found).text == line


def test_of_a_long_line_the_place_that_tells() -> None:
    shown = telling(LIST, "mine wants another").text
    assert len(LIST) > LONG
    assert shown.startswith("…")
    assert shown.index("mine") == LEAD + 1


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
        return [seen.command for seen in deciding(asked, str, found)]

    assert shown("stopped by the policy DROP of FORWARD") == ["rules", "refused"]
    assert [seen.command for seen in deciding(asked[:2], str, "none")] == ["route", "rules"]
