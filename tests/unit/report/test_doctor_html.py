"""The page for a ticket: well-formed, nothing from elsewhere, stable addresses, no word of a host's becomes markup."""

import time
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.ask.judge import Result
from gpustack.ask.redact.printable import is_printable
from gpustack.ask.snapshot import Reach
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.report.doctor.html import render_html
from tests.unit.report.page import Page
from tests.worlds.results import diagnoses
from tests.worlds.results.plans import PASSWORD

UFW = diagnoses.make_ufw_diagnosis()
ALL_NAMES = ("healthy", "ufw", "unexplained", "joint")


def render_page(name: str) -> Page:
    return Page(render_html(getattr(diagnoses, f"make_{name}_diagnosis")()))


def build_hostile(text: str) -> Diagnosis:
    """Build a diagnosis with the text in every place where a host has a word: the answer, the actual value, and
    reasons."""
    diagnosis, root = UFW, UFW.roots[0]
    result = root.judgements[0].evidence[0]
    evidence = replace(result, answer=replace(result.answer, stdout=text, stderr=text))
    judgements = (replace(root.judgements[0], result=Result(text, text, text), evidence=(evidence,)),)
    uncertain = (replace(root.judgements[0], outcome="unknown", result=None, reason=text),)
    roots = (
        replace(root, judgements=judgements, uncertain=uncertain, ruled_out=(*root.ruled_out, *judgements)),
        *diagnosis.roots[1:],
    )
    reach = MappingProxyType(
        {**diagnosis.snapshot.reach, "gpu2": Reach("gpu2", "host-ssh-unreachable", text, Command(text))}
    )
    unknown = {
        place: replace(judgement, reason=text) if judgement.outcome == "unknown" else judgement
        for place, judgement in diagnosis.judgements.items()
    }
    return replace(
        diagnosis,
        verdict=replace(diagnosis.verdict, roots=roots),
        judgements=unknown,
        snapshot=replace(diagnosis.snapshot, reach=reach),
    )


@pytest.mark.parametrize("name", ALL_NAMES)
def test_it_loads_nothing_and_runs_nothing(name: str) -> None:
    page = render_page(name)
    assert {"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags) == set()
    assert [value for value in page.list_values("href") if not value.startswith("#")] == []
    assert [
        attribute
        for attribute, _ in page.attributes
        if attribute.startswith("on") or attribute in ("src", "srcset", "style")
    ] == []
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert "{" in style
    assert not {"url(", "@import", "//"} & {word for word in ("url(", "@import", "//") if word in style}
    assert "default-src 'none'" in " ".join(page.list_values("content"))


@pytest.mark.parametrize("name", ALL_NAMES)
def test_addresses_are_there_once_and_lead_somewhere(name: str) -> None:
    page = render_page(name)
    assert len(page.list_values("id")) == len(set(page.list_values("id")))
    assert {value[1:] for value in page.list_values("href")} <= set(page.list_values("id"))


def test_addresses_are_those_of_the_catalogue() -> None:
    names = ["root-host-ufw-blocks-pods", "root-host-ssh-unreachable", "unknown"]
    assert render_page("ufw").list_values("id") == names
    assert {"unexplained-st-node-notready", "differs"} <= set(render_page("unexplained").list_values("id"))
    assert "root-containerd-cgroup-driver" in render_page("joint").list_values("id")


def test_a_healthy_diagnosis_is_three_lines() -> None:
    page = render_page("healthy")
    text = page.text.partition("API reachable")[2].partition("Exit status 0")[0]
    assert "no fault found (" in text
    assert text.rstrip().endswith("healthy")
    assert {"section", "details"} & set(page.tags) == set()


def test_a_root_tells_all_that_a_ticket_needs() -> None:
    text = render_page("ufw").text
    for words in (
        "2 root causes 3 hosts, API reachable, 9 facts, 4.2 s",
        "ufw drops pod traffic on gpu1 host-ufw-blocks-pods certain",
        "Impact: 7 effects",
        "dashboards show no data",
        "expected as it should be , actual tcp 6443 is blocked",
        "gpu1 $ iptables -S",
        "Changed /etc/ufw/REDACTED.rules written (gpu1, 2 min earlier) apt: install ufw (gpu1, 1 h 30 min earlier)",
        "Healthy on cp1: host-ufw-blocks-pods: lets all of it through",
        "kube-proxy-down (kube-proxy-down: 41 rules of services)",
        "gpustack install -i site/hosts.yml --only firewall",
        "3 checks need this host; they could hide another cause.",
        "gpu2 was not reached (timeout): 3 checks unknown.",
        "after the fix: gpustack doctor -i site/hosts.yml",
        "Taken 2026-11-20 12:00:00 UTC of 3 hosts",
        "by gpustack 0.1.0",
    ):
        assert words in text
    assert text.index("ufw drops") < text.index("Unknown 3 checks")


def test_what_is_confirmed_below_a_root_cause_is_its_impact_and_nothing_else() -> None:
    diagnosis = diagnoses.make_ufw_diagnosis()
    confirmed_ones = {id for (id, _), judgement in diagnosis.judgements.items() if judgement.outcome == "failed"}
    assert set(render_page("ufw").list_values("title")) == confirmed_ones - {root.id for root in diagnosis.roots}


def test_verbose_unfolds_everything() -> None:
    page = Page(render_html(diagnoses.make_ufw_diagnosis(), verbose=True))
    assert page.tags.count("details") == [name for name, _ in page.attributes].count("open") > 0


def test_no_secret_and_no_escape_is_left() -> None:
    for name in ALL_NAMES:
        assert PASSWORD not in render_html(getattr(diagnoses, f"make_{name}_diagnosis")())
    output = render_html(
        build_hostile(f"\x1b]0;title\x07\x1b[31m\u202egnp.exe {PASSWORD}\r\x00 </script><script>alert(1)</script>")
    )
    assert PASSWORD not in output
    assert "<script" not in output
    assert "&lt;/script&gt;" in output
    assert [char for char in output if not is_printable(char)] == []


CALM = Page(render_html(build_hostile("calm")))


@pytest.mark.long
@given(
    st.text(max_size=80)
    | st.sampled_from(["</pre>", "-->", "]]>", "<svg onload=x>", "{{ 7*7 }}", '" onclick="x', "&lt;"])
)
@settings(max_examples=150, deadline=None)
def test_no_word_of_a_host_changes_the_page(word: str) -> None:
    """Whatever the text, the tags and addresses are those of plain words."""
    page = Page(render_html(build_hostile(f"a{word}")))
    assert page.tags == CALM.tags
    assert page.attributes == CALM.attributes


@pytest.mark.long
def test_a_hundred_megabytes_are_cut() -> None:
    began = time.process_time()
    output = render_html(build_hostile("spam <b> " * 11_000_000))
    assert [len(output) < 60_000, "… cut here" in output] == [True, True]
    assert time.process_time() - began < 20


@pytest.mark.long
def test_a_secret_at_the_cut_is_not_half_shown() -> None:
    for length in (395, 1_995, 7_995, 31_995):
        html = render_html(build_hostile("x" * length + PASSWORD + "y" * 90_000))
        assert (PASSWORD[:5] in html) is False
