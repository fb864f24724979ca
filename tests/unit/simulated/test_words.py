import pytest

from gpustack.errors import LabError
from gpustack_lab.simulated.hardware import build_gpu
from gpustack_lab.simulated.models import MODELS
from gpustack_lab.simulated.words import LOADS, NUMBERS, apply

FRESH = build_gpu("lab", "host1", 0, MODELS["H100"])


@pytest.mark.parametrize(
    ("texts", "live", "xids"),
    [
        (["xid=79"], {"xid": "79"}, (79,)),
        (["lost"], {"lost": "1", "xid": "79"}, (79,)),
        (["lost", "found"], {"xid": "79"}, (79,)),
        (["temp=92"], {"temp": "92"}, ()),
        (["ecc-dbe=1", "ecc_sbe=3"], {"ecc_dbe": "1", "ecc_sbe": "3"}, ()),
        (["ecc-dbe=1", "xid=48", "xid=63"], {"ecc_dbe": "1", "xid": "63"}, (48, 63)),
        (["power-brake"], {"viol_brake": "1"}, ()),
        (["load=training", "load=idle"], {}, ()),
        (["exporter-uuid=GPU-2"], {"exporter_uuid": "GPU-2"}, ()),
        (["pcie_tx=2.5e9"], {"pcie_tx": "2500000000"}, ()),
        (["temp=92", "recover"], {}, ()),
        (["xid=79", "recover"], {}, (79, 0)),
    ],
)
def test_words_change_the_live_state(texts: list[str], live: dict[str, str], xids: tuple[int, ...]) -> None:
    state = apply(FRESH, texts)
    assert (state.gpu.live, state.xids) == (live, xids)
    assert state.gpu.facts == FRESH.facts


def test_healing_ends_an_xid_of_before() -> None:
    assert apply(apply(FRESH, ["xid=79"]).gpu, ["recover"]).xids == (0,)


@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize("load", LOADS)
def test_a_load_fits_into_the_memory_and_is_made_of_known_numbers(key: str, load: str) -> None:
    live = apply(build_gpu("lab", "host1", 0, MODELS[key]), [f"load={load}"]).gpu.live
    assert set(live) <= set(NUMBERS)
    assert int(live.get("used", "0")) < MODELS[key].memory


def test_a_load_leaves_what_else_was_set() -> None:
    live = apply(FRESH, ["temp=92", "load=training", "load=inference"]).gpu.live
    assert (live["temp"], live["util"]) == ("92", "46")


@pytest.mark.parametrize(
    "word",
    ["", "on", "lost=1=2", "load=", "load=hard", "temp=", "temp=hot", "temp=-1", "temp=nan", "temp=inf", "xid=0",
     "xid=1000", "xid=²", "uuid=GPU-1", "minor=3", "exporter-uuid=x", "exporter-uuid=GPU-a b", "recover=1", "TEMP=3"],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_can(word: str) -> None:
    with pytest.raises(LabError) as excinfo:
        apply(FRESH, ["temp=80", word])
    assert excinfo.value.reference == "lab-bad-gpu-word"
    assert excinfo.value.reason.startswith(f"{word}: ")
    assert "load=LOAD                idle, inference, training" in excinfo.value.reason


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(LabError) as excinfo:
        apply(FRESH, ["a", "b=1"])
    assert [line[0] for line in excinfo.value.reason.splitlines()[:2]] == ["a", "b"]


def test_no_word_is_not_nothing_to_do() -> None:
    with pytest.raises(LabError, match="cannot be set so"):
        apply(FRESH, [])
