"""The root rule, clause by clause, on graphs of a handful of ids."""

from dataclasses import replace

from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.verdict import build_verdict
from tests.worlds.results.graphs import build_graph, judge_graph, list_names, list_roots, make_judgements

CHAIN = build_graph(["a -> b", "b -> st-c", "st-c -> d-pointer"])


def test_a_root_is_a_confirmed_fault_without_a_confirmed_ancestor() -> None:
    verdict = judge_graph(CHAIN, {"a@one + b@one + st-c@one + d-pointer@one": "!yes"})
    assert list_roots(verdict) == [("a", ("one",))]
    assert list_names(verdict.roots[0].impact) == ["b@one", "st-c@one", "d-pointer@one"]
    assert list_names(verdict.roots[0].caused_faults) == ["b@one"]


def test_nothing_confirmed_is_no_finding() -> None:
    verdict = judge_graph(CHAIN, {"a@one + b@one": "no", "st-c@one": "?"})
    assert (verdict.roots, verdict.unexplained_symptoms, verdict.notes) == ((), (), ())


def test_a_fault_on_one_host_hides_none_on_another() -> None:
    verdict = judge_graph(CHAIN, {"a@one + b@two": "!yes"})
    assert list_roots(verdict) == [("a", ("one",)), ("b", ("two",))]


def test_one_fault_on_three_hosts_is_one_finding() -> None:
    verdict = judge_graph(CHAIN, {"a@one + a@two + a@three": "!yes"})
    assert list_roots(verdict) == [("a", ("one", "two", "three"))]


def test_an_edge_at_a_node_of_the_cluster_joins_all_hosts() -> None:
    graph = build_graph(["a -> st-all-b", "st-all-b -> st-c"])
    verdict = judge_graph(graph, {"a@one + st-all-b + st-c@two": "!yes"})
    assert list_roots(verdict) == [("a", ("one",))]
    assert list_names(verdict.roots[0].impact) == ["st-all-b@@cluster", "st-c@two"]


def test_an_edge_between_hosts_joins_those_of_its_pairs() -> None:
    assert list_roots(judge_graph(build_graph(["a -> b *"]), {"a@one + b@two": "!yes"})) == [("a", ("one",))]
    assert list_roots(judge_graph(build_graph(["a -> b"]), {"a@one + b@two": "!yes"})) == [
        ("a", ("one",)),
        ("b", ("two",)),
    ]


def test_a_conditional_fault_is_a_root_only_with_its_guard() -> None:
    graph = build_graph(["b-when -> st-c"])
    values = {"b-when@one + st-c@one": "!yes"}
    assert list_roots(judge_graph(graph, {**values, "b-when guard@one": "!yes"})) == [("b-when", ("one",))]
    for guard in ("no", "?"):
        verdict = judge_graph(graph, {**values, "b-when guard@one": guard})
        assert list_roots(verdict) == []
        assert [symptom.id for symptom in verdict.unexplained_symptoms] == ["b-when"]


def test_a_conditional_fault_without_its_guard_is_a_symptom() -> None:
    verdict = judge_graph(build_graph(["a -> b-when"]), {"a@one + b-when@one": "!yes", "b-when guard@one": "no"})
    assert list_roots(verdict) == [("a", ("one",))]
    assert list_names(verdict.roots[0].impact) == ["b-when@one"]
    assert verdict.roots[0].caused_faults == ()


def test_pointers_and_states_are_never_roots() -> None:
    verdict = judge_graph(CHAIN, {"st-c@one + d-pointer@one": "!yes", "a@one + b@one": "no"})
    assert verdict.roots == ()
    assert [(symptom.id, list_names(symptom.impact)) for symptom in verdict.unexplained_symptoms] == [
        ("st-c", ["d-pointer@one"])
    ]


def test_a_state_is_suppressed_over_a_condition_that_is_not_known() -> None:
    verdict = judge_graph(build_graph(["a -> st-b?"]), {"a@one + st-b@one": "!yes", "a -> st-b@one": "?"})
    assert list_names(verdict.roots[0].impact) == ["st-b@one"]
    assert verdict.unexplained_symptoms == ()


def test_a_fault_is_suppressed_only_where_the_condition_is_confirmed() -> None:
    graph, values = build_graph(["a -> b?"]), {"a@one + b@one": "!yes"}
    assert list_roots(judge_graph(graph, {**values, "a -> b@one": "!yes"})) == [("a", ("one",))]
    for condition in ("no", "?"):
        assert list_roots(judge_graph(graph, {**values, "a -> b@one": condition})) == [("a", ("one",)), ("b", ("one",))]
    assert list_roots(judge_graph(graph, values)) == [("a", ("one",)), ("b", ("one",))]


def test_an_edge_whose_condition_is_refuted_is_none() -> None:
    verdict = judge_graph(build_graph(["a -> st-b?"]), {"a@one + st-b@one": "!yes", "a -> st-b@one": "no"})
    assert verdict.roots[0].impact == ()
    assert [symptom.id for symptom in verdict.unexplained_symptoms] == ["st-b"]


def test_a_condition_is_judged_on_the_host_of_its_edge() -> None:
    graph = build_graph(["a -> all-b?"])
    values = {"a@one + a@two + all-b": "!yes", "a -> all-b@one": "no"}
    assert list_roots(judge_graph(graph, {**values, "a -> all-b@two": "!yes"})) == [("a", ("one", "two"))]
    assert list_roots(judge_graph(graph, {**values, "a -> all-b@two": "no"})) == [
        ("a", ("one", "two")),
        ("all-b", ("@cluster",)),
    ]
    graph_below = build_graph(["all-a -> b?"])
    verdict = judge_graph(
        graph_below, {"all-a + b@one + b@two": "!yes", "all-a -> b@one": "!yes", "all-a -> b@two": "no"}
    )
    assert list_roots(verdict) == [("all-a", ("@cluster",)), ("b", ("two",))]


def test_a_fault_is_not_suppressed_through_what_is_refuted() -> None:
    graph, values = build_graph(["a -> st-b", "st-b -> c"]), {"a@one + c@one": "!yes"}
    assert list_roots(judge_graph(graph, {**values, "st-b@one": "no"})) == [("a", ("one",)), ("c", ("one",))]
    for answer_between in ("!yes", "?"):
        assert list_roots(judge_graph(graph, {**values, "st-b@one": answer_between})) == [("a", ("one",))]
    assert list_roots(judge_graph(graph, values)) == [("a", ("one",))]


def test_another_way_around_what_is_refuted_suppresses() -> None:
    graph = build_graph(["a -> st-b", "st-b -> c", "a -> st-d", "st-d -> c"])
    assert list_roots(judge_graph(graph, {"a@one + c@one": "!yes", "st-b@one": "no"})) == [("a", ("one",))]


def test_independent_roots_stand_side_by_side() -> None:
    verdict = judge_graph(build_graph(["a -> st-c", "b -> st-c"]), {"a@one + b@one + st-c@one": "!yes"})
    assert list_roots(verdict) == [("a", ("one",)), ("b", ("one",))]
    assert all(list_names(root.impact) == ["st-c@one"] for root in verdict.roots)


def test_a_correlated_group_is_one_finding_at_one_place() -> None:
    graph = build_graph([], [["b", "a"]], ["a", "b"])
    (finding,) = judge_graph(graph, {"a@one + b@one": "!yes"}).roots
    assert (finding.id, list_names(finding.correlated_causes), finding.correlation) == ("b", ["a@one"], "one act")
    assert list_roots(judge_graph(graph, {"a@one + b@two": "!yes"})) == [("a", ("one",)), ("b", ("two",))]


def test_a_state_without_a_confirmed_fault_is_unexplained_and_says_what_to_ask() -> None:
    graph = build_graph(["a -> st-c", "b -> st-c", "st-c -> st-d"])
    (finding,) = judge_graph(graph, {"st-c@one + st-d@one": "!yes", "a@one": "no", "b@one": "?"}).unexplained_symptoms
    assert (finding.id, finding.next_check, list_names(finding.suspects)) == ("st-c", "ask b", ["b@one"])
    assert (list_names(finding.ruled_out), list_names(finding.impact)) == (["a@one"], ["st-d@one"])
    (alone,) = judge_graph(graph, {"st-c@one": "!yes", "a@one + b@one": "no"}).unexplained_symptoms
    assert alone.next_check == "ask st-c"


def test_a_fault_below_an_unexplained_state_is_no_root() -> None:
    verdict = judge_graph(build_graph(["st-a -> b"]), {"st-a@one + b@one": "!yes"})
    assert verdict.roots == ()
    assert [(symptom.id, list_names(symptom.impact)) for symptom in verdict.unexplained_symptoms] == [
        ("st-a", ["b@one"])
    ]


def test_an_unknown_ancestor_lowers_the_certainty_and_is_named() -> None:
    values = {"b@one": "!yes"}
    assert judge_graph(CHAIN, {**values, "a@one": "no"}).roots[0].certainty == "certain"
    (finding,) = judge_graph(CHAIN, {**values, "a@one": "?one was not reached"}).roots
    assert (finding.certainty, [judgement.reason for judgement in finding.uncertain]) == (
        "likely",
        ["one was not reached"],
    )


def test_what_was_never_asked_is_no_doubt() -> None:
    assert judge_graph(CHAIN, {"b@one": "!yes"}).roots[0].certainty == "certain"


def test_a_doubt_behind_what_is_refuted_is_none() -> None:
    graph = build_graph(["a -> st-b", "st-b -> c"])
    assert judge_graph(graph, {"c@one": "!yes", "a@one": "?", "st-b@one": "no"}).roots[0].certainty == "certain"
    assert judge_graph(graph, {"c@one": "!yes", "a@one": "?"}).roots[0].certainty == "likely"


def test_what_is_unknown_neither_sets_nor_clears() -> None:
    verdict = judge_graph(CHAIN, {"a@one": "?", "b@one": "?", "st-c@one": "?"})
    assert (verdict.roots, verdict.unexplained_symptoms) == ((), ())


def test_other_causes_of_the_same_symptom_are_ruled_out_by_their_value() -> None:
    graph = build_graph(["a -> st-c", "b -> st-c", "x -> st-y"])
    (finding,) = judge_graph(graph, {"a@one + st-c@one": "!yes", "b@one + x@one": "no", "b@two": "no"}).roots
    assert [
        (judgement.id, judgement.location, judgement.result and judgement.result.actual)
        for judgement in finding.ruled_out
    ] == [("b", "one", "no")]
    (bare,) = judge_graph(graph, {"a@one": "!yes", "b@one": "no"}).roots
    assert list_names(bare.ruled_out) == ["b@one"]


def test_a_cause_that_is_confirmed_on_another_host_is_not_ruled_out() -> None:
    graph = build_graph(["a -> st-c-all", "b -> st-c-all"])
    verdict = judge_graph(graph, {"a@one + b@two + st-c-all": "!yes", "a@two + b@one": "no"})
    assert list_roots(verdict) == [("a", ("one",)), ("b", ("two",))]
    assert [list_names(root.ruled_out) for root in verdict.roots] == [[], []]


def test_what_is_true_and_harmless_is_a_note_and_explains_its_state() -> None:
    graph = build_graph(["a-info -> st-b"])
    verdict = judge_graph(graph, {"a-info@one + st-b@one": "!yes"})
    assert (verdict.roots, verdict.unexplained_symptoms, list_names(verdict.notes)) == ((), (), ["a-info@one"])


def test_a_host_that_cannot_be_managed_says_how_much_it_hides() -> None:
    graph = build_graph(["a -> st-host-unmanaged"], alone=("b", "c"))
    (finding,) = judge_graph(graph, {"a@one": "!yes", "b@one + c@one + b@two": "?"}).roots
    assert finding.hidden_checks == 2


def test_the_chain_shows_each_below_the_nearest_that_leads_to_it() -> None:
    graph = build_graph(["a -> st-b", "st-b -> st-c", "st-c -> st-d", "a -> st-d"])
    (finding,) = judge_graph(graph, {"a@one + st-c@one + st-d@one": "!yes"}).roots
    assert finding.chain is not None
    assert [branch.id for branch in finding.chain.branches] == ["st-c"]
    assert [branch.id for branch in finding.chain.branches[0].branches] == ["st-d"]
    (deep,) = judge_graph(CHAIN, {"a@one + st-c@one + d-pointer@one": "!yes"}).roots
    assert deep.chain is not None
    assert deep.chain.branches[0].branches[0].id == "d-pointer"


def test_five_thousand_hosts_are_no_hardship() -> None:
    hosts = tuple(f"gpu{number}" for number in range(5000))
    values = make_judgements({f"{id}@{host}": "!yes" for host in hosts for id in ("a", "b", "st-c")})
    verdict = build_verdict(
        PlacedGraph(build_graph(["a -> b *", "b -> st-c *"]), hosts, values, {"all": [(hosts, hosts)]})
    )
    assert [(root.id, len(root.judgements), len(root.impact)) for root in verdict.roots] == [("a", 5000, 10000)]


def test_evidence_that_fits_other_causes_is_not_certain() -> None:
    judgements = make_judgements({"a@one + a@two": "!yes"})
    first, second = judgements.values()
    assert first.result
    vague = {first.place: replace(first, result=replace(first.result, certain=False)), second.place: second}
    certainties = [
        build_verdict(PlacedGraph(CHAIN, ("one", "two"), values, {})).roots[0].certainty
        for values in (judgements, vague)
    ]
    assert certainties == ["certain", "likely"]


def test_nothing_is_folded_through_what_is_refuted() -> None:
    """An innocent finding does not swallow the symptoms of an unknown fault."""
    graph = build_graph(["a -> b", "b -> st-c"])
    verdict = judge_graph(graph, {"a@one + st-c@one": "!yes", "b@one": "no"})
    assert (list_roots(verdict), list_names(verdict.roots[0].impact)) == ([("a", ("one",))], [])
    assert [symptom.id for symptom in verdict.unexplained_symptoms] == ["st-c"]
