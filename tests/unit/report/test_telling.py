"""Which line of an answer is shown as evidence."""

import json

import pytest

from gpustack.report.answer_lines import LARGE
from gpustack.report.telling import LEAD, LONG, Sought, telling

UNIT = "Id=kubelet.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled"
LIVE = "== live\nnet/ipv4/ip_forward 0\n== boot\nnet.ipv4.ip_forward = 1"
NODES = json.dumps(
    {
        "items": [
            {"metadata": {"name": "host1"}, "spec": {"podCIDR": "10.244.0.0/24"}},
            {"metadata": {"name": "host2"}, "status": {"nodeInfo": {"a": {"b": {"kubeletVersion": "v1.37.0"}}}}},
        ]
    }
)
MAP = json.dumps({"items": [{"metadata": {"name": "cfg"}, "data": {"net": '{\n "Network": "10.99.0.0/16"\n}'}}]})
CRI_LOG = "exporter 2026-11-22T20:58:55.050887647Z stderr F Not collecting DCP metrics"


@pytest.mark.parametrize(
    ("text", "found", "line"),
    [
        (UNIT, "inactive, disabled", "ActiveState=inactive"),
        ("ActiveState=active\nUnitFileState=enabled", "not active, enabled", "UnitFileState=enabled"),
        ("== live\n-A INPUT -j a\n-P FORWARD DROP", "stopped by the policy of FORWARD", "-P FORWARD DROP"),
        ("== a.toml\nplugins = []\n== b.toml\nplugins = [1]", "plugins in b.toml", "plugins = [1]"),
        ("a 47\nb 48", "Xid 48", "b 48"),
        ("# Written by us\nx = 1", "none", "x = 1"),
        ("x = 1", "nothing", "(nothing of it)"),
        ("/etc/a.conf\n/etc/b.conf", "no /etc/c.conf", "(nothing of /etc/c.conf)"),
        ("/etc/a.conf\n/etc/b.conf", "no /etc/b.conf", "/etc/b.conf"),
        (NODES, "another: 10.244.0.0/24", "host1 spec.podCIDR: 10.244.0.0/24"),
        (NODES, "kubelet 1.37.0", "host2 …a.b.kubeletVersion: v1.37.0"),
        (MAP, "10.99.0.0/16", 'cfg data.net: "Network": "10.99.0.0/16"'),
        (f"== a\n{NODES}", "1.37.0", "host2 …a.b.kubeletVersion: v1.37.0"),
        ('{"items": []}', "none", "items: []"),
        (CRI_LOG, "Not collecting", "exporter Not collecting DCP metrics"),
        (
            '{"a.b": {"runc": {"Cgroup": false}, "nvidia": {"Cgroup": true}}}',
            "runc's Cgroup is false",
            "…b.runc.Cgroup: false",
        ),
        ("avg(DCGM_FI_DEV_X)\nwho", "who", "who"),
        ("a 0.93.0\nb 0.80.2", "0.80", "b 0.80.2"),
        ("== live\nnet/a/b 0\n== boot\nnet.a.b = 1", "net.a.b = 0", "net/a/b 0"),
        ("other-config", "no such thing", "(nothing of time-slicing-config)"),
        ("{ no JSON\nb c", "words", "{ no JSON"),
        ("", "none", ""),
        ("== live\n", "none", ""),
    ],
)
def test_the_line_that_tells(text: str, found: str, line: str) -> None:
    assert telling(text, Sought(found, "ConfigMap time-slicing-config")).text == line


def test_names_in_what_should_be_count_as_words() -> None:
    assert (
        telling("left out\navg(DCGM_FI_DEV_X)", Sought("none of it", "DCGM_FI_DEV_X of a GPU")).text
        == "avg(DCGM_FI_DEV_X)"
    )


def test_where_no_line_has_a_word_of_it_it_is_the_nearest_to_what_it_should_be() -> None:
    assert telling(LIVE, Sought("0", "net.ipv4.ip_forward")).text == "net/ipv4/ip_forward 0"
    assert telling('{"a": 1, "SystemdCgroup": false}', Sought("cgroupfs", "systemd")).text == "SystemdCgroup: false"


@pytest.mark.parametrize(
    ("quote", "line"),
    [
        ("boot ip_forward", "net.ipv4.ip_forward = 1"),
        ("ip_forward", "net/ipv4/ip_forward 0"),
        ("boot absent", "(no line with boot, absent)"),
    ],
)
def test_the_line_with_all_parts_of_the_quote_goes_first(quote: str, line: str) -> None:
    assert telling(LIVE, Sought("0", "net.ipv4.ip_forward", quote)).text == line


def test_of_a_long_line_that_is_quoted_what_stands_around_the_quote() -> None:
    shown = telling(f"{'other ' * LONG}mine", Sought("other", quote="mine")).text
    assert shown.index("mine") == LEAD + 1


def test_of_a_long_line_the_place_that_tells() -> None:
    shown = telling(f"{'other ' * LONG}mine", Sought("mine wants another")).text
    assert shown.startswith("…")
    assert shown.index("mine") == LEAD + 1


def test_large_and_deep_json_is_taken_as_text() -> None:
    """10 MB of it would take seconds, and what is nested ten thousand deep is no JSON to a parser."""
    assert telling(json.dumps({"a": "b" * LARGE}), Sought("none")).text.startswith('{"a": "b')
    assert telling("[" * 10_000, Sought("none")).text.startswith("[[")
