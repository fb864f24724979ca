"""The root rule, clause by clause, on graphs of a handful of ids."""

from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.verdict import verdict
from tests.worlds.graphs import graph, judged, names, roots, told

CHAIN = graph(["a -> b", "b -> st-c", "st-c -> d-pointer"])


def test_a_root_is_a_confirmed_fault_without_a_confirmed_ancestor() -> None:
    found = told(CHAIN, {"a@one + b@one + st-c@one + d-pointer@one": "yes"})
    assert roots(found) == [("a", ("one",))]
    assert names(found.roots[0].impact) == ["b@one", "st-c@one", "d-pointer@one"]
    assert names(found.roots[0].caused) == ["b@one"]


def test_nothing_confirmed_is_no_finding() -> None:
    found = told(CHAIN, {"a@one + b@one": "no", "st-c@one": "?"})
    assert (found.roots, found.unexplained, found.notes) == ((), (), ())


def test_a_fault_on_one_host_hides_none_on_another() -> None:
    found = told(CHAIN, {"a@one + b@two": "yes"})
    assert roots(found) == [("a", ("one",)), ("b", ("two",))]


def test_one_fault_on_three_hosts_is_one_finding() -> None:
    found = told(CHAIN, {"a@one + a@two + a@three": "yes"})
    assert roots(found) == [("a", ("one", "two", "three"))]


def test_an_edge_at_a_node_of_the_cluster_joins_all_hosts() -> None:
    known = graph(["a -> st-all-b", "st-all-b -> st-c"])
    found = told(known, {"a@one + st-all-b + st-c@two": "yes"})
    assert roots(found) == [("a", ("one",))]
    assert names(found.roots[0].impact) == ["st-all-b@@cluster", "st-c@two"]


def test_an_edge_between_hosts_joins_those_of_its_pairs() -> None:
    assert roots(told(graph(["a -> b *"]), {"a@one + b@two": "yes"})) == [("a", ("one",))]
    assert roots(told(graph(["a -> b"]), {"a@one + b@two": "yes"})) == [("a", ("one",)), ("b", ("two",))]


def test_a_conditional_fault_is_a_root_only_with_its_guard() -> None:
    known = graph(["b-when -> st-c"])
    values = {"b-when@one + st-c@one": "yes"}
    assert roots(told(known, {**values, "b-when guard@one": "yes"})) == [("b-when", ("one",))]
    for guard in ("no", "?"):
        found = told(known, {**values, "b-when guard@one": guard})
        assert roots(found) == []
        assert [one.id for one in found.unexplained] == ["b-when"]


def test_a_conditional_fault_without_its_guard_is_a_symptom() -> None:
    found = told(graph(["a -> b-when"]), {"a@one + b-when@one": "yes", "b-when guard@one": "no"})
    assert roots(found) == [("a", ("one",))]
    assert names(found.roots[0].impact) == ["b-when@one"]
    assert found.roots[0].caused == ()


def test_pointers_and_states_are_never_roots() -> None:
    found = told(CHAIN, {"st-c@one + d-pointer@one": "yes", "a@one + b@one": "no"})
    assert found.roots == ()
    assert [(one.id, names(one.impact)) for one in found.unexplained] == [("st-c", ["d-pointer@one"])]


def test_a_state_is_suppressed_over_a_condition_that_is_not_known() -> None:
    found = told(graph(["a -> st-b?"]), {"a@one + st-b@one": "yes", "a -> st-b@one": "?"})
    assert names(found.roots[0].impact) == ["st-b@one"]
    assert found.unexplained == ()


def test_a_fault_is_suppressed_only_where_the_condition_is_confirmed() -> None:
    known, values = graph(["a -> b?"]), {"a@one + b@one": "yes"}
    assert roots(told(known, {**values, "a -> b@one": "yes"})) == [("a", ("one",))]
    for condition in ("no", "?"):
        assert roots(told(known, {**values, "a -> b@one": condition})) == [("a", ("one",)), ("b", ("one",))]
    assert roots(told(known, values)) == [("a", ("one",)), ("b", ("one",))]


def test_an_edge_whose_condition_is_refuted_is_none() -> None:
    found = told(graph(["a -> st-b?"]), {"a@one + st-b@one": "yes", "a -> st-b@one": "no"})
    assert found.roots[0].impact == ()
    assert [one.id for one in found.unexplained] == ["st-b"]


def test_a_condition_is_judged_on_the_host_of_its_edge() -> None:
    known = graph(["a -> all-b?"])
    values = {"a@one + a@two + all-b": "yes", "a -> all-b@one": "no"}
    assert roots(told(known, {**values, "a -> all-b@two": "yes"})) == [("a", ("one", "two"))]
    assert roots(told(known, {**values, "a -> all-b@two": "no"})) == [("a", ("one", "two")), ("all-b", ("@cluster",))]
    below = graph(["all-a -> b?"])
    found = told(below, {"all-a + b@one + b@two": "yes", "all-a -> b@one": "yes", "all-a -> b@two": "no"})
    assert roots(found) == [("all-a", ("@cluster",)), ("b", ("two",))]


def test_a_fault_is_not_suppressed_through_what_is_refuted() -> None:
    known, values = graph(["a -> st-b", "st-b -> c"]), {"a@one + c@one": "yes"}
    assert roots(told(known, {**values, "st-b@one": "no"})) == [("a", ("one",)), ("c", ("one",))]
    for between in ("yes", "?"):
        assert roots(told(known, {**values, "st-b@one": between})) == [("a", ("one",))]
    assert roots(told(known, values)) == [("a", ("one",))]


def test_another_way_around_what_is_refuted_suppresses() -> None:
    known = graph(["a -> st-b", "st-b -> c", "a -> st-d", "st-d -> c"])
    assert roots(told(known, {"a@one + c@one": "yes", "st-b@one": "no"})) == [("a", ("one",))]


def test_independent_roots_stand_side_by_side() -> None:
    found = told(graph(["a -> st-c", "b -> st-c"]), {"a@one + b@one + st-c@one": "yes"})
    assert roots(found) == [("a", ("one",)), ("b", ("one",))]
    assert all(names(one.impact) == ["st-c@one"] for one in found.roots)


def test_a_correlated_group_is_one_finding_at_one_place() -> None:
    known = graph([], [["b", "a"]], ["a", "b"])
    (found,) = told(known, {"a@one + b@one": "yes"}).roots
    assert (found.id, names(found.correlated), found.correlation) == ("b", ["a@one"], "one act")
    assert roots(told(known, {"a@one + b@two": "yes"})) == [("a", ("one",)), ("b", ("two",))]


def test_a_state_without_a_confirmed_fault_is_unexplained_and_says_what_to_ask() -> None:
    known = graph(["a -> st-c", "b -> st-c", "st-c -> st-d"])
    (found,) = told(known, {"st-c@one + st-d@one": "yes", "a@one": "no", "b@one": "?"}).unexplained
    assert (found.id, found.ask, names(found.suspects)) == ("st-c", "ask b", ["b@one"])
    assert (names(found.ruled_out), names(found.impact)) == (["a@one"], ["st-d@one"])
    (alone,) = told(known, {"st-c@one": "yes", "a@one + b@one": "no"}).unexplained
    assert alone.ask == "ask st-c"


def test_a_fault_below_an_unexplained_state_is_no_root() -> None:
    found = told(graph(["st-a -> b"]), {"st-a@one + b@one": "yes"})
    assert found.roots == ()
    assert [(one.id, names(one.impact)) for one in found.unexplained] == [("st-a", ["b@one"])]


def test_an_unknown_ancestor_lowers_the_certainty_and_is_named() -> None:
    values = {"b@one": "yes"}
    assert told(CHAIN, {**values, "a@one": "no"}).roots[0].certainty == "certain"
    (found,) = told(CHAIN, {**values, "a@one": "?"}).roots
    assert (found.certainty, [one.why for one in found.uncertain]) == ("likely", ["one was not reached"])


def test_what_was_never_asked_is_no_doubt() -> None:
    assert told(CHAIN, {"b@one": "yes"}).roots[0].certainty == "certain"


def test_a_doubt_behind_what_is_refuted_is_none() -> None:
    known = graph(["a -> st-b", "st-b -> c"])
    assert told(known, {"c@one": "yes", "a@one": "?", "st-b@one": "no"}).roots[0].certainty == "certain"
    assert told(known, {"c@one": "yes", "a@one": "?"}).roots[0].certainty == "likely"


def test_what_is_unknown_neither_sets_nor_clears() -> None:
    found = told(CHAIN, {"a@one": "?", "b@one": "?", "st-c@one": "?"})
    assert (found.roots, found.unexplained) == ((), ())


def test_other_causes_of_the_same_symptom_are_ruled_out_by_their_value() -> None:
    known = graph(["a -> st-c", "b -> st-c", "x -> st-y"])
    (found,) = told(known, {"a@one + st-c@one": "yes", "b@one + x@one": "no", "b@two": "no"}).roots
    assert [(one.id, one.where, one.result and one.result.found) for one in found.ruled_out] == [("b", "one", "no")]
    (bare,) = told(known, {"a@one": "yes", "b@one": "no"}).roots
    assert names(bare.ruled_out) == ["b@one"]


def test_a_cause_that_is_confirmed_on_another_host_is_not_ruled_out() -> None:
    known = graph(["a -> st-c-all", "b -> st-c-all"])
    found = told(known, {"a@one + b@two + st-c-all": "yes", "a@two + b@one": "no"})
    assert roots(found) == [("a", ("one",)), ("b", ("two",))]
    assert [names(one.ruled_out) for one in found.roots] == [[], []]


def test_what_is_true_and_harmless_is_a_note_and_explains_its_state() -> None:
    known = graph(["a-info -> st-b"])
    found = told(known, {"a-info@one + st-b@one": "yes"})
    assert (found.roots, found.unexplained, names(found.notes)) == ((), (), ["a-info@one"])


def test_a_host_that_cannot_be_managed_says_how_much_it_hides() -> None:
    known = graph(["a -> st-host-unmanaged"], alone=("b", "c"))
    (found,) = told(known, {"a@one": "yes", "b@one + c@one + b@two": "?"}).roots
    assert found.hidden_checks == 2


def test_the_chain_shows_each_below_the_nearest_that_leads_to_it() -> None:
    known = graph(["a -> st-b", "st-b -> st-c", "st-c -> st-d", "a -> st-d"])
    (found,) = told(known, {"a@one + st-c@one + st-d@one": "yes"}).roots
    assert found.chain is not None
    assert [one.id for one in found.chain.branches] == ["st-c"]
    assert [one.id for one in found.chain.branches[0].branches] == ["st-d"]
    (deep,) = told(CHAIN, {"a@one + st-c@one + d-pointer@one": "yes"}).roots
    assert deep.chain is not None
    assert deep.chain.branches[0].branches[0].id == "d-pointer"


def test_five_thousand_hosts_are_no_hardship() -> None:
    hosts = tuple(f"gpu{number}" for number in range(5000))
    values = judged({f"{id}@{host}": "yes" for host in hosts for id in ("a", "b", "st-c")})
    found = verdict(PlacedGraph(graph(["a -> b *", "b -> st-c *"]), hosts, values, {"all": [(hosts, hosts)]}))
    assert [(one.id, len(one.judged), len(one.impact)) for one in found.roots] == [("a", 5000, 10000)]


def test_nothing_is_folded_through_what_is_refuted() -> None:
    """An innocent finding does not swallow the symptoms of an unknown fault."""
    known = graph(["a -> b", "b -> st-c"])
    found = told(known, {"a@one + st-c@one": "yes", "b@one": "no"})
    assert (roots(found), names(found.roots[0].impact)) == ([("a", ("one",))], [])
    assert [one.id for one in found.unexplained] == ["st-c"]
