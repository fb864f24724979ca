"""An image that was changed on the way starts no container; a mirror of simulated software is refused unless allowed.

The tests of this file stand in the order of the story and share one lab.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack.bundle import manifest
from gpustack.bundle.storage import prepare_storage
from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]
PORT = 8483
APISERVER, PAUSE = "registry.k8s.io/kube-apiserver", "registry.k8s.io/pause"
CONTAINERS = "ctr --namespace k8s.io containers list --quiet | wc -l"


@pytest.fixture(scope="module")
def one_host(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("images", ["debian-12"])


@pytest.fixture(scope="module")
def changed_mirror(one_host: lab.Lab, bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a mirror with what is signed as it was, and kube-apiserver's tag on the image of kube-scheduler."""
    images = tmp_path_factory.mktemp("changed") / "images"
    shutil.copytree(prepare_storage(bundle), images, symlinks=True)
    repositories = images / "docker/registry/v2/repositories/registry.k8s.io"
    shutil.copytree(repositories / "kube-scheduler", repositories / "kube-apiserver", dirs_exist_ok=True)
    listen = f"{one_host.record.gateway}:{PORT}"
    places = ["-files", bundle / "files", "-key", bundle / manifest.KEY, "-images", images]
    argv = [str(word) for word in (bundle / "bin" / "mirror", "-listen", listen, *places)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout
    try:
        assert process.stdout.readline().startswith(b"listening on ")
        yield f"http://{listen}"
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()


def build_source(running_lab: lab.Lab, **fields: str) -> dict[str, str]:
    assert running_lab.record.source
    return {"mirror": running_lab.record.source.url, "fingerprint": running_lab.record.source.fingerprint, **fields}


def test_a_mirror_of_stand_ins_is_refused_before_anything_is_changed(
    one_host: lab.Lab, gpustack: Run, tmp_path: Path
) -> None:
    host = witness.connect_host(one_host, "host1")
    before = host.check_output("find /etc /usr/local /opt -type f | sort | sha256sum; dpkg -l | sha256sum")
    inventory = roads.copy_inventory(one_host, tmp_path / "site", ["host1"], source=build_source(one_host))
    for code, *command in ((1, "plan"), (5, "install", "--yes")):
        process = gpustack(*command, "-i", inventory, code=code)
        assert "mirror-simulated" in process.stdout + process.stderr
    assert host.check_output("find /etc /usr/local /opt -type f | sort | sha256sum; dpkg -l | sha256sum") == before


def test_a_changed_image_ends_the_installation_and_no_container_of_it_starts(
    one_host: lab.Lab, changed_mirror: str, gpustack: Run, tmp_path: Path
) -> None:
    inventory = roads.copy_inventory(
        one_host,
        tmp_path / "changed",
        ["host1"],
        source=build_source(one_host, simulated="allowed") | {"mirror": changed_mirror},
    )
    process = gpustack("install", "-i", inventory, "--yes", limit=900, code=5)
    output = " ".join((process.stdout + process.stderr).split())
    assert f"{APISERVER}:v" in output
    assert "gpustack explain image-changed" in output
    host = witness.connect_host(one_host, "host1")
    assert APISERVER not in host.check_output("crictl images")
    assert host.check_output(CONTAINERS) == "0"


def test_from_the_right_mirror_all_of_them_are_pulled_and_the_second_install_has_nothing_to_do(
    one_host: lab.Lab, gpustack: Run
) -> None:
    gpustack("install", "-i", one_host.inventory, "--yes", limit=900)
    host = witness.connect_host(one_host, "host1")
    *lines, last = host.check_output("cat /etc/gpustack-cluster/images").splitlines()
    assert last == f"# end {len(lines)}"
    digests = dict(line.split() for line in lines)
    for line in host.check_output("ctr --namespace k8s.io images list").splitlines()[1:]:
        name, _, digest = line.split()[:3]
        assert digests.get(name, digest) == digest
        assert name in digests or "sha256:" in name, "every image of a bundle is listed"
    assert (
        json.loads(gpustack("install", "-i", one_host.inventory, "--yes", "-o", "json").stdout)["playbook_runs"] == []
    )


def test_an_image_with_another_digest_under_its_name_is_pulled_anew(one_host: lab.Lab, gpustack: Run) -> None:
    host = witness.connect_host(one_host, "host1")
    right = host.check_output("crictl inspecti -o go-template --template '{{.status.id}}' registry.k8s.io/pause:3.10.2")
    host.check_output(f"ctr -n k8s.io images tag --force registry.k8s.io/etcd:3.6.8-0 {PAUSE}:3.10.2")
    assert f"{PAUSE}:3.10.2" in gpustack("plan", "-i", one_host.inventory, code=1).stdout
    gpustack("install", "-i", one_host.inventory, "--yes", limit=600)
    output = host.check_output(
        "crictl inspecti -o go-template --template '{{.status.id}}' registry.k8s.io/pause:3.10.2"
    )
    assert output == right


def test_a_list_that_is_cut_off_lets_no_image_through_until_the_next_install(one_host: lab.Lab, gpustack: Run) -> None:
    host = witness.connect_host(one_host, "host1")
    host.check_output("sed -i '$d' /etc/gpustack-cluster/images")
    host.check_output("crictl rmi registry.k8s.io/pause:3.10.2 || true")
    process = host.run("crictl pull registry.k8s.io/pause:3.10.2")
    assert process.rc != 0
    assert "cut off or cannot be read" in process.stderr + process.stdout
    assert "image-list" in gpustack("plan", "-i", one_host.inventory, "-o", "json", code=1).stdout
    gpustack("install", "-i", one_host.inventory, "--yes", limit=600)
    assert host.run("crictl pull registry.k8s.io/pause:3.10.2").rc == 0
