"""The removal judges data by the record of its host: without a record, or with a torn or lying one, nothing goes."""

import json

import pytest

from gpustack.ask.probe import Answer
from gpustack.errors import RolloutError
from gpustack.ownership.record import Record
from gpustack.probes.host.ownership import Ownership, Thing
from gpustack.rollout.host_ownership import judge_things
from gpustack.rollout.removal import Removal, judge_removal
from gpustack.rollout.reset import refuse_removal
from tests.worlds.snapshots.reset_hosts import BARE, CA, PLANE, WORKER, build_nodes, build_snapshot, render_records

ALL_HOSTS = {"k1": PLANE, "k2": WORKER}


def judge_worker(values: dict[str, str]) -> Removal:
    return judge_removal(build_snapshot({"k1": PLANE, "k2": WORKER | values}, build_nodes()), ["k2"])


def list_foreign(*paths: str, cluster: str = "") -> str:
    """Build the answer about data of a cluster that is there and has no record."""
    state = f"present of {cluster or 'no cluster'}"
    names = ("before", "after", "cluster", "run", "at")
    lines = [
        {"cluster": cluster},
        *({"path": path, "kind": "data", "now": state} | dict.fromkeys(names, "") for path in paths),
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


FOREIGN_DATA = {
    "etcd": "/var/lib/etcd/member",
    "kubelet": "/var/lib/kubelet",
    "pki": "/etc/kubernetes/pki/ca.key",
    "static pods": "/etc/kubernetes/manifests/etcd.yaml",
    "Flannel": "/etc/cni/net.d/10-flannel.conflist",
    "logs of pods": "/var/log/pods",
}


@pytest.mark.parametrize("path", FOREIGN_DATA.values(), ids=FOREIGN_DATA)
def test_data_of_a_cluster_that_gpustack_has_no_record_of_is_refused(path: str) -> None:
    """An etcd of its own, "the hard way", Patroni's: no kubeconfig says whose they are, and that proves nothing."""
    member = BARE["owned.membership"].replace("== etcd\nno", "== etcd\nyes")
    world = {"owned.records": list_foreign(path), "owned.control-plane": f"file {path}\n", "owned.membership": member}
    removal = judge_removal(build_snapshot({"k3": world}), ["k3"])
    (three,) = removal.foreign_hosts
    assert path in three.foreign
    assert (three.traces, three.ownership.agreements) == ((), ())
    with pytest.raises(RolloutError) as excinfo:
        refuse_removal(removal, foreign=False)
    assert excinfo.value.reference == "reset-foreign"
    (host_removal,) = judge_removal(build_snapshot({"k3": world}), ["k3"], foreign=True).hosts
    assert [agreement.path for agreement in host_removal.ownership.agreements] == [path]
    assert str(host_removal.traces[0][1][0]) == path, "the question names what would go"


def test_data_of_others_beside_our_cluster_is_left_and_named() -> None:
    lines = (
        render_records(("/var/lib/kubelet", "data"))
        + list_foreign("/var/lib/etcd/member", cluster=CA).partition("\n")[2]
    )
    (two,) = judge_worker({"owned.records": lines}).hosts
    assert two.foreign == ""
    assert [agreement.path for agreement in two.ownership.agreements] == ["/var/lib/kubelet"]
    assert any(text.startswith("/var/lib/etcd/member: ") for text in two.kept_resources)


def test_a_record_of_another_cluster_s_data_is_no_proof() -> None:
    lines = render_records(("/var/lib/kubelet", "data")).replace(f"present of {CA}", "present of sha256:2")
    lines = lines.replace(f'{{"cluster": "{CA}"}}', '{"cluster": "sha256:2"}')
    snapshot = build_snapshot({"k1": PLANE, "k2": WORKER | {"owned.records": lines}}, build_nodes())
    (two,) = judge_removal(snapshot, ["k2"]).foreign_hosts
    assert "/var/lib/kubelet" in two.foreign
    assert (two.traces, two.ownership.cluster) == ((), False)


@pytest.mark.parametrize("answer", ["{", '{"cluster": 1}\n', "[]\n"], ids=["torn", "of another shape", "a list"])
def test_an_unreadable_answer_about_the_record_removes_nothing(answer: str) -> None:
    removal = judge_worker({"owned.records": answer})
    assert [host_removal.host for host_removal in removal.blocked_hosts] == ["k2"]
    assert (removal.hosts[0].traces, removal.hosts[0].ownership.agreements) == ((), ())
    with pytest.raises(RolloutError) as excinfo:
        refuse_removal(removal, foreign=True)
    assert excinfo.value.reference == "ownership-record-unusable"


def test_a_torn_record_is_named() -> None:
    late = Answer("owned.records", "k2", 1, "", "owned.json cannot be read; nothing was changed")
    (two,) = judge_removal(build_snapshot(ALL_HOSTS, build_nodes(), late), ["k2"]).blocked_hosts
    assert two.record_error == "owned.json cannot be read; nothing was changed"
    assert any(two.record_error in text for text in (two.unknown[0], two.unknown[-1]))


def test_a_host_that_lies_about_its_record_gets_no_other_path_removed() -> None:
    lies = render_records(
        ("/etc/shadow", "file"), ("/home", "data"), ("/etc/fstab", "data"), ("/var/lib/kubelet", "data")
    )
    (two,) = judge_worker({"owned.records": lies}).hosts
    assert [agreement.path for agreement in two.ownership.agreements] == ["/var/lib/kubelet"]
    assert any("3 paths that no step declares" in text for text in two.kept_resources)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/containerd/../shadow.toml", "/etc/containerd/a/b.toml", "/etc/containerd/x.toml\nremove /etc/shadow",
        "/etc/containerd/a b.toml", "/etc/containerd/$(id).toml", "/etc/gpustack-cluster/standalone/rules-../../x",
        "etc/fstab", "/etc/fstab/", "//etc/fstab", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["file", "lines", "data", "folder"])
def test_no_pattern_of_the_declaration_reaches_another_path(path: str, kind: str) -> None:
    lies = render_records((path, kind))
    (two,) = judge_worker({"owned.records": lies}).hosts
    assert two.ownership.agreements == ()


def test_a_file_without_a_record_stays_and_is_named() -> None:
    snapshot = build_snapshot({"k3": {"owned.prereqs": "file /etc/modules-load.d/gpustack.conf\n"}})
    (three,) = judge_removal(snapshot, ["k3"]).hosts
    assert three.traces == ()
    assert "/etc/modules-load.d/gpustack.conf: gpustack has no record of it" in three.kept_resources


def test_a_configuration_that_others_wrote_too_stays_without_the_lines_of_gpustack() -> None:
    """NVIDIA's toolkit writes config.toml anew. The reset takes out gpustack's import, and forgets the file."""
    path = "/etc/containerd/config.toml"
    record = Record("lines", path, "file 644 0 0 111", "file 644 0 0 222")
    ownership = Ownership(things=(Thing(path, "lines", record, "file 644 0 0 333"),))
    ownership_of_host = judge_things(ownership, foreign=False, storage=False)
    ((kept_path, reason),) = ownership_of_host.kept_resources
    assert (kept_path, ownership_of_host.edited_files) == (path, (path,))
    assert "as NVIDIA's toolkit does: it stays, without gpustack's own lines" in reason
    assert "diff " in reason
