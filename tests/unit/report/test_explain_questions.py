"""A question in words of its own finds the nearest pages, where no page has all of its words."""

import pytest

from gpustack.errors import UsageError
from gpustack.report.explain.contents import NEAREST, explain_topic
from gpustack.report.explain.nearest import MAX_PAGES, find_nearest_pages, fold_words


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("change grafana password", "mon-grafana-password-unknown"),
        ("share one gpu between pods", "gpu.sharing.replicas"),
        ("node rebooted by itself", "docs/nodes.md"),
        # NVIDIA/gpu-operator#26, as kubectl describe prints it.
        ("0/2 nodes are available: 2 node(s) had untolerated taint", "op-gpu-node-tainted"),
    ],
)
def test_a_question_finds_the_nearest_pages(question: str, name: str) -> None:
    heading, *lines = explain_topic(question).splitlines()
    assert heading == NEAREST
    assert name in {line.split()[0] for line in lines}


def test_fillers_of_a_question_are_not_looked_for() -> None:
    assert "  docs/nodes.md  Drain a node\n" in explain_topic("how do I drain a node")
    assert NEAREST not in explain_topic("how do I drain a node")


def test_the_words_may_come_one_by_one() -> None:
    assert explain_topic(*["how", "do", "I", "drain", "a", "node"]) == explain_topic("how do I drain a node")


def test_a_question_about_nothing_of_ours_is_no_page() -> None:
    with pytest.raises(UsageError, match="There is no page purple elephants dance"):
        explain_topic("purple elephants dance")


def test_a_short_word_is_not_found_in_the_middle_of_others() -> None:
    """`add` is not in `address`, and `a` is no word to look for."""
    assert "address" not in explain_topic("add a node")


def test_endings_and_fillers_do_not_count() -> None:
    assert fold_words("How do I drain the nodes?") == fold_words("draining a node")


def test_the_rarer_word_decides_and_the_shorter_text_comes_first() -> None:
    entries = [
        ("long", "drain a node that has many further words"),
        ("short", "drain a node"),
        *((f"other-{number}", "a node") for number in range(20)),
    ]
    assert [name for name, _ in find_nearest_pages("drain node", entries)] == ["short", "long"]
    many_pages = [(f"page-{number}", "drain a node") for number in range(20)]
    assert len(find_nearest_pages("drain node now", many_pages)) in {0, MAX_PAGES}
