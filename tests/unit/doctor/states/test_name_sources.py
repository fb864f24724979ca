"""Names that are looked up where nobody has them: on hosts that ask no name server, and in CoreDNS."""

import json
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.states import name_sources
from gpustack.doctor.states.state import AbnormalState, observe_all
from gpustack.probes.network.plugin_chain import LAST_PLUGINS
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

# coredns/coredns#3650
HOSTS = "    hosts {\n       192.0.2.10 nas.example.org\n    }\n"
KUBERNETES = "    kubernetes cluster.local"


def list_plugin_states(plugin: str) -> list[AbnormalState]:
    answer = read_case("resolver.last-plugins", "usual")
    lists = json.loads(answer.stdout)
    data = lists["items"][0]["data"]
    data["Corefile"] = data["Corefile"].replace(KUBERNETES, plugin + KUBERNETES)
    answers = {(LAST_PLUGINS.id, CLUSTER): replace(answer, location=CLUSTER, stdout=json.dumps(lists))}
    states, _ = observe_all(name_sources.OBSERVERS, build_snapshot(answers))
    return list(states)


def list_source_states(sources: str, server: str = "nameserver 10.77.0.1\n") -> list[AbnormalState]:
    answers = place_answers(
        "h1",
        make_answer("resolver.sources", f"{sources}\n" if sources else ""),
        make_answer("resolver.pods", f"file /etc/resolv.conf\n{server}"),
    )
    states, _ = observe_all(name_sources.OBSERVERS, build_snapshot(answers))
    return list(states)


@pytest.mark.parametrize(
    "plugin",
    [
        HOSTS,
        "    hosts /etc/coredns/hosts\n",
        "    template ANY ANY {\n       rcode NXDOMAIN\n    }\n",
        "    template ANY ANY . {\n       rcode NXDOMAIN\n    }\n",
    ],
)
def test_a_plugin_that_answers_for_all_names_is_broken(plugin: str) -> None:
    (state,) = list_plugin_states(plugin)
    assert (state.kind, state.severity, state.subjects) == (
        "settings-contradict", "broken", ("configmap kube-system/coredns",),
    )  # fmt: skip
    assert f"its plugin {plugin.split(maxsplit=1)[0]} has no fallthrough" in state.message


@pytest.mark.parametrize(
    "plugin",
    [
        "",
        HOSTS.replace("    }", "       fallthrough\n    }"),
        "    hosts /etc/coredns/hosts example.org {\n       192.0.2.10 nas.example.org\n    }\n",
        "    # hosts {\n",
        "    template ANY ANY example.org {\n       rcode NXDOMAIN\n    }\n",
        "    template ANY AAAA {\n       rcode NOERROR\n    }\n",
    ],
    ids=["usual", "falls-through", "own-zone", "comment", "template-of-a-zone", "no-ipv6"],
)
def test_a_plugin_that_lets_other_names_pass_is_no_state(plugin: str) -> None:
    assert list_plugin_states(plugin) == []


def test_a_host_that_asks_no_name_server_is_a_risk() -> None:
    (state,) = list_source_states(" files")
    assert (state.severity, state.locations) == ("risk", ("h1",))
    assert "nsswitch.conf looks for hosts in files only" in state.message
    assert "10.77.0.1" in state.message


@pytest.mark.parametrize(
    ("sources", "server"),
    [
        (" files dns", "nameserver 10.77.0.1\n"),
        (" mymachines resolve [!UNAVAIL=return] files myhostname", "nameserver 127.0.0.53\n"),
        (" files", ""),
        ("", "nameserver 10.77.0.1\n"),
    ],
    ids=["usual", "resolved", "no-server", "no-file"],
)
def test_a_host_that_asks_a_name_server_or_has_none_is_no_state(sources: str, server: str) -> None:
    assert list_source_states(sources, server) == []
