"""Files that the operator wrote, or somebody for him, are read, or refused with a reference; never a traceback."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.ask.redact.redact import redact
from gpustack.ask.redact.secret_shapes import REDACTION
from gpustack.ask.transport.refusal import HostRefused
from gpustack.ask.transport.ssh_options import SshOptions, resolve_options
from gpustack.config.ansible.cfg import AnsibleCfg, read_ansible_cfg
from gpustack.config.ansible.connection import READ_VARIABLES, REFUSED_VARIABLES
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.spec import Spec
from gpustack.config.validate import judge_inventory
from gpustack.errors import ConfigError
from tests.unit.hostile.answers import ALL_SPOILS, ESCAPES, generate_noise, spoil_text
from tests.unit.hostile.profile import SEED, STEP_CASES

CFG = "[defaults]\ninventory = hosts\nremote_user = ops\n[ssh_connection]\nssh_args = -o A=b\n[privilege_escalation]\n"
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(ESCAPES)
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
)
SPEC_KEYS = st.sampled_from([*Spec.model_fields, "odd"])
VARIABLES = st.dictionaries(
    st.sampled_from([*READ_VARIABLES, *REFUSED_VARIABLES, "gpustack_node_ip", "gpustack_odd", "gpustack"]),
    JSON | st.dictionaries(SPEC_KEYS, JSON, max_size=3),
    max_size=4,
)
SECRET = "canary-7f3a9c"


@settings(STEP_CASES)
@given(first=VARIABLES, second=VARIABLES)
def test_variables_are_judged_or_complained_of(first: dict[str, Any], second: dict[str, Any]) -> None:
    groups = {CONTROL_PLANE: ("k1",), NODE: ("k1", "k2")}
    hosts, spec, complaints = judge_inventory(
        Path("hosts.yml"), groups, {"k1": first, "k2": second}, AnsibleCfg(None, "", "", "", ""), None
    )
    assert [host.name for host in hosts] == ["k1", "k2"]
    assert isinstance(spec, Spec)
    assert all(str(complaint) and complaint.reference for complaint in complaints)


@settings(STEP_CASES)
@given(seed=SEED)
def test_an_ansible_cfg_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.getbasetemp() / "ansible.cfg"
    path.write_bytes(spoil_text(Random(seed), CFG).encode(errors="surrogatepass"))
    try:
        assert isinstance(read_ansible_cfg({"ANSIBLE_CONFIG": str(path)}), AnsibleCfg)
    except ConfigError as refusal:
        assert refusal.reference == "ansible-cfg-unreadable"  # noqa: PT017 - one that can be read is as good


@pytest.mark.parametrize("seed", range(12))
def test_what_ssh_says_of_its_options_is_taken_or_refused(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "hostname 10.0.0.1\nport 22\nuser ops\nuserknownhostsfile ~/.ssh/known_hosts\nidentityfile ~/.ssh/id\n"
    (tmp_path / "output").write_bytes(
        spoil_text(Random(seed), text, ALL_SPOILS).encode(errors="surrogatepass") + b"\xff\n"
    )
    (tmp_path / "ssh").write_text(f"#!/bin/sh\ncat {tmp_path}/output\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    try:
        assert isinstance(resolve_options(Host("h1", "10.0.0.1")), SshOptions)
    except HostRefused as refusal:
        assert refusal.reach.reference == "ssh-options"  # noqa: PT017 - options that can be read are as good


@settings(STEP_CASES)
@given(seed=SEED)
def test_no_noise_hides_a_secret(seed: int) -> None:
    """The secrets stand on lines of their own, between noise; redacting once is enough."""
    random = Random(seed)
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"
    forms = [f"password: {SECRET}", f'{{"token": "{SECRET}"}}', f"https://user:{SECRET}@proxy:3128/", key]
    forms += [f"Authorization: Bearer {SECRET}", f"client-key-data: {SECRET}", f"x --token {SECRET} y"]
    text = f"{generate_noise(random, '')}\n{random.choice(forms)}\n{generate_noise(random, '')}"
    redacted_text = redact(text)
    assert SECRET not in redacted_text
    assert REDACTION in redacted_text
    assert redact(redacted_text) == redacted_text
