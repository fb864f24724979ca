"""Whatever a host answers, a parser gives a fact or says that it cannot: nothing else is ever raised."""

import json
from typing import Any, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.ask.probe import Answer, FactUnavailable, Probe
from gpustack.ask.type_check import fits
from tests.worlds.snapshots.answers import index_probes

PROBES: list[Probe[Any]] = list(index_probes().values())
KEYS = ["items", "metadata", "name", "spec", "status", "conditions", "type", "nodeInfo", "template", "data", "taints"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
WORDS = ["Not After : ", "Subject: CN=a", "DNS:b", "server a b", "600 /x", "READY=yes", "LISTEN 0 1 *:1 *:*", "\n", "="]


@settings(max_examples=500)
@given(
    probe=st.sampled_from(PROBES),
    rc=st.sampled_from([0, 0, 0, 1, 7, 22, 127]),
    stdout=st.text() | JSON.map(json.dumps) | st.lists(st.sampled_from(WORDS) | st.text(max_size=4)).map("".join),
    err=st.text(max_size=20),
)
def test_any_answer_is_a_fact_or_unavailable(probe: Probe[Any], rc: int, stdout: str, err: str) -> None:
    try:
        fact = probe.extract_fact(Answer(probe.id, "host1", rc, stdout, err))
    except FactUnavailable:
        return
    assert fits(fact, get_type_hints(probe.parse)["return"])
