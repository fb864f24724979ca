from dataclasses import replace

import pytest

from gpustack.steps.kubernetes.step import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures

PACKAGES, REPOSITORIES = "packages.installed", "packages.repositories"


def test_a_fresh_host_is_for_install() -> None:
    assert list_failures(judge(STEP, state="fresh")) == {
        "repository": ("nothing", "install"),
        "packages-installed": ("missing: cri-tools, kubeadm, kubectl, kubelet, kubernetes-cni", "install"),
        "kubelet-at-boot": ("no unit", "install"),
        "crictl-endpoint": ("image-endpoint: nothing, runtime-endpoint: nothing", "install"),
    }


def test_a_drifted_host_is_for_install() -> None:
    drifted_probes = (PACKAGES, REPOSITORIES, "units.services", "containerd.crictl")
    failures = list_failures(
        judge(STEP, {(probe, "h1"): read_case(probe, "drifted-debian-12") for probe in drifted_probes})
    )
    assert set(failures) == {"repository", "packages-held", "kubelet-at-boot", "crictl-endpoint"}
    assert failures["packages-held"] == ("not held: kubelet", "install")
    assert failures["kubelet-at-boot"] == ("disabled", "install")


def test_a_keyring_with_one_key_too_many_is_for_install() -> None:
    (actual, cure) = list_failures(judge(STEP, place_answers("h1", read_case(REPOSITORIES, "drifted-debian-12"))))[
        "repository"
    ]
    assert actual.startswith("fingerprints B02F2293F7B78A3111583174AF233E29F632E03B, ")
    assert cure == "install"


def test_another_minor_is_another_repository() -> None:
    failures = list_failures(judge(STEP, spec={"kubernetes": {"version": "1.37.1"}}))
    assert failures["repository"] == ("uri http://10.77.1.1:8480/pkgs.k8s.io/core:/stable:/v1.36/deb/", "install")
    assert failures["versions"] == ("kubeadm 1.36.4, kubectl 1.36.4, kubelet 1.36.4", "upgrade")


@pytest.mark.parametrize(
    ("version", "target", "hint"),
    [
        ("1.36.3", "1.36.4", "gpustack explain upgrade-needed"),
        ("1.35.9", "1.36.4", "gpustack explain upgrade-needed"),
        ("1.34.2", "1.36.4", "one minor version at a time: first set kubernetes.version to a patch of 1.35"),
        ("1.37.1", "1.36.4", "Kubernetes cannot go back: set kubernetes.version to 1.37.1 or newer in the spec"),
        ("1.36.5", "1.36.4", "Kubernetes cannot go back: set kubernetes.version to 1.36.5 or newer in the spec"),
        ("1.36.4~rc.1", "1.36.4", "gpustack explain upgrade-needed"),
    ],
)
def test_another_version_names_the_upgrade(version: str, target: str, hint: str) -> None:
    """Skew: kubeadm manages its own minor and the one before, and the kubelet is never newer than the API."""
    edits = [
        (f"{name} hold installed 1.36.4-1.1", f"{name} hold installed {version}-1.1") for name in ("kubelet", "kubeadm")
    ]
    answers = place_answers("h1", read_case(PACKAGES, "prepared-debian-12", *edits))
    mismatch = judge(STEP, answers, {"kubernetes": {"version": target}})["versions"].result
    assert mismatch
    assert (mismatch.cure, mismatch.hint) == ("upgrade", hint)


@pytest.mark.parametrize("state", ["fresh", "prepared"])
def test_googles_kubectl_is_not_that_of_kubernetes(state: str) -> None:
    """dpkg-query prints this of kubectl 1:528.0.0-0 from packages.cloud.google.com/apt cloud-sdk."""
    packages = read_case(PACKAGES, f"{state}-debian-12")
    lines = [line for line in packages.stdout.splitlines() if not line.startswith("kubectl ")]
    err = packages.stderr.replace("dpkg-query: no packages found matching kubectl\n", "")
    answer = replace(packages, stdout="\n".join([*lines, "kubectl install installed 1:528.0.0-0"]) + "\n", stderr=err)
    judgements = judge(STEP, {(PACKAGES, "h1"): answer}, state=state)
    wrong = judgements["origin"].result
    assert wrong
    assert (wrong.actual, wrong.cure) == ("kubectl 528.0.0 of the Google Cloud CLI", "operator")
    assert wrong.hint.startswith("apt-get remove kubectl ")
    assert judgements["versions"].result is None
    assert judgements["packages-held"].result is None
    assert not (missing := judgements["packages-installed"].result) or "kubectl" not in missing.actual


def test_settings_of_crictl_that_are_not_ours_are_no_drift() -> None:
    crictl = "containerd.crictl"
    text = read_case(crictl, "prepared-debian-12", ("image-endpoint", "timeout: 5\nimage-endpoint"))
    assert list_failures(judge(STEP, {(crictl, "h1"): text})) == {}


def test_the_kubelet_takes_the_proxy() -> None:
    answers = place_answers("h1", read_case("egress.daemons", "proxied"))
    failures = list_failures(judge(STEP, answers, {"proxy": {"http": "http://p:3128"}}))
    assert failures["egress"][0].startswith("no /etc/systemd/system/kubelet.service.d/")
    assert failures["proxy"] == ("a different one", "install")
