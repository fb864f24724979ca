import re
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from jinja2 import Environment

from gpustack.config.resources import locate_playbooks
from gpustack.steps.containerd.files import build_drop_in
from gpustack.steps.containerd.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures

ROLE = locate_playbooks() / "roles" / "containerd"
RUNTIME, CONFIGURATION, PACKAGES = "containerd.runtime", "containerd.configuration", "packages.installed"
IMAGES = "containerd.images"


def test_a_fresh_host_is_for_install() -> None:
    failures = list_failures(judge(STEP, state="fresh"))
    assert {cure for _, cure in failures.values()} == {"install"}
    assert failures["version"] == ("nothing", "install")
    assert failures["running"] == ("no unit", "install")
    assert failures["repository"] == ("nothing", "install")


@pytest.mark.parametrize("name", ["docker.io", "containerd", "moby-engine"])
def test_other_runtimes_are_left_to_the_operator(name: str) -> None:
    packages = read_case(PACKAGES, "prepared-debian-12")
    more_packages = replace(packages, stdout=f"{packages.stdout}{name} install installed 26.1.5-1\n")
    result = judge(STEP, {(PACKAGES, "h1"): more_packages})["other-runtimes"].result
    assert result
    assert (result.actual, result.cure) == (name, "operator")
    assert result.hint.startswith(f"apt-get remove {name} ")


def add_docker_ce() -> dict[tuple[str, str], Any]:
    """Add docker-ce, as on DGX OS and in images for deep learning."""
    packages = read_case(PACKAGES, "prepared-debian-12")
    docker = "docker-ce install installed 5:29.8.2-1~ubuntu.24.04~noble\n"
    return {(PACKAGES, "h1"): replace(packages, stdout=packages.stdout + docker)}


def test_docker_ce_shares_its_containerd() -> None:
    assert list_failures(judge(STEP, add_docker_ce())) == {}


def test_with_docker_ce_only_cri_is_enabled_and_what_restarts_is_named() -> None:
    """Docker's package disables CRI."""
    answers = {**add_docker_ce(), (CONFIGURATION, "h1"): read_case(CONFIGURATION, "vendor")}
    failure = list_failures(judge(STEP, answers))["configuration"]
    wrong = "config.toml disables cri, config.toml does not import conf.d, no conf.d/gpustack.toml"
    restarts = "containerd is restarted for it, and the containers of Docker keep running"
    assert failure == (f"{wrong}; {restarts}", "install")


def test_a_package_that_is_not_held_is_for_install() -> None:
    edit = ("containerd.io hold", "containerd.io install")
    assert list_failures(judge(STEP, place_answers("h1", read_case(PACKAGES, "prepared-debian-12", edit)))) == {
        "packages-held": ("not held: containerd.io", "install")
    }


def test_the_shipped_configuration_disables_cri() -> None:
    """Mistake 5 of the usual install scripts: containerd.io comes with disabled_plugins = ["cri"]."""
    answers = place_answers("h1", read_case(CONFIGURATION, "vendor"), read_case(RUNTIME, "cri-disabled"))
    failures = list_failures(judge(STEP, answers))
    missing = "config.toml disables cri, config.toml does not import conf.d, no conf.d/gpustack.toml"
    assert failures["configuration"] == (missing, "install")
    assert failures["cri"] == ("not responding", "install")


def test_a_daemon_that_does_not_answer_has_no_wrong_cgroup_driver() -> None:
    judgements = judge(STEP, place_answers("h1", read_case(RUNTIME, "cri-disabled")))
    mismatches = {check: judgement.result for check, judgement in judgements.items() if judgement.result}
    assert set(mismatches) == {"cri", "cgroups", "settings"}
    assert (mismatches["cgroups"].actual, mismatches["cgroups"].fault) == ("unknown: containerd does not respond", "")


def test_without_crictl_the_daemon_is_not_judged() -> None:
    judgements = judge(STEP, place_answers("h1", read_case(RUNTIME, "no-crictl")))
    assert {check for check, judgement in judgements.items() if judgement.outcome == "unknown"} == {
        "cri",
        "cgroups",
        "settings",
    }
    assert [judgement.result for judgement in judgements.values() if judgement.result] == []


def test_a_file_that_is_no_toml_is_for_the_operator() -> None:
    failures = list_failures(judge(STEP, place_answers("h1", read_case(CONFIGURATION, "broken"))))
    assert failures["readable"] == ("config.toml: Invalid value (at line 1, column 11)", "operator")


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (
            'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n',
            {"configuration": ("config.toml is of version 2", "install")},
        ),
        ('imports = ["/etc/containerd/conf.d/*.toml"]\n', {}),
        ('version = 4\nimports = ["/etc/containerd/conf.d/*.toml"]\n[plugins."io.containerd.cri.v1.images"]\n', {}),
        (
            'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n[plugins."io.containerd.grpc.v1.cri"]\n',
            {"root-version": ("2, with plugins.io.containerd.grpc.v1.cri", "operator")},
        ),
        (
            'imports = ["/etc/containerd/conf.d/*.toml"]\ndisabled_plugins = ["zfs"]\n',
            {"root-version": ("none, with disabled_plugins: zfs", "operator")},
        ),
    ],
)  # fmt: skip
def test_ours_is_never_of_a_higher_version_than_the_main_file(root: str, expected: dict[str, tuple[str, str]]) -> None:
    """A main file of version 2 loses its sandbox_image beside a newer file (containerd pull request 12891)."""
    answer = read_case(CONFIGURATION, "prepared-debian-12")
    text = re.sub(r"(?s)^(== config.toml \d+\n).*?(?=== conf)", lambda match: match[1] + root, answer.stdout)
    assert list_failures(judge(STEP, place_answers("h1", make_answer(CONFIGURATION, text)))) == expected


def test_another_file_disables_cri() -> None:
    failures = list_failures(judge(STEP, place_answers("h1", read_case(CONFIGURATION, "nvidia-toolkit"))))
    assert failures["cri-disabled-elsewhere"] == ("conf.d/site.toml", "operator")


def test_foreign_files_are_no_drift() -> None:
    """The NVIDIA toolkit keeps a file of its own in conf.d."""
    foreign = "\n== conf.d/99-nvidia.toml 1\nversion = 3\n"
    answer = read_case(CONFIGURATION, "prepared-debian-12")
    assert list_failures(judge(STEP, place_answers("h1", make_answer(CONFIGURATION, answer.stdout + foreign)))) == {}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (
            (('"SystemdCgroup": true', '"SystemdCgroup": false'),),
            {"cgroups": ("cgroupfs: runc's SystemdCgroup is false", "install")},
        ),
        ((('        "/opt/cni/bin"', '        "/usr/lib/cni"'),), {"settings": ("/usr/lib/cni", "install")}),
        ((('"restrictOOMScoreAdj": true', '"restrictOOMScoreAdj": false'),), {"settings": ("no", "install")}),
    ],
)
def test_the_running_daemon_counts(edits: tuple[tuple[str, str], ...], expected: dict[str, tuple[str, str]]) -> None:
    """The files are right in all these cases."""
    assert list_failures(judge(STEP, place_answers("h1", read_case(RUNTIME, "prepared-debian-12", *edits)))) == expected


def test_the_cgroup_driver_names_its_fault() -> None:
    answer = read_case(RUNTIME, "prepared-debian-12", ('"SystemdCgroup": true', '"SystemdCgroup": false'))
    mismatch = judge(STEP, {(RUNTIME, "h1"): answer})["cgroups"].result
    assert mismatch
    assert mismatch.fault == "containerd-cgroup-driver"


RUNC = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc"
CGROUPS_OFF = f"version = 3\n[{RUNC}.options]\n  SystemdCgroup = false\n"


@pytest.mark.parametrize(
    ("after", "cure", "file"),
    [
        (f"== conf.d/zz-site.toml 1\n{CGROUPS_OFF}", "operator", "/etc/containerd/conf.d/zz-site.toml"),
        (f"== conf.d/zz-site.toml 1\n{CGROUPS_OFF.replace('false', 'true')}", "install", ""),
        (
            f"== conf.d/a.toml 1\n{CGROUPS_OFF}\n== conf.d/b.toml 1\n{CGROUPS_OFF.replace('false', 'true')}",
            "install",
            "",
        ),
        (f'== conf.d/odd.toml 1\n[{RUNC}]\noptions = "none"\n', "install", ""),
    ],
)
def test_the_file_that_has_the_last_word_on_cgroups_may_be_another_s(after: str, cure: str, file: str) -> None:
    """Install changes no file of others: it would be played, and fix nothing."""
    runs = read_case(RUNTIME, "prepared-debian-12", ('"SystemdCgroup": true', '"SystemdCgroup": false'))
    files = read_case(CONFIGURATION, "prepared-debian-12")
    answers = {(RUNTIME, "h1"): runs, (CONFIGURATION, "h1"): make_answer(CONFIGURATION, f"{files.stdout}\n{after}")}
    mismatch = judge(STEP, answers)["cgroups"].result
    assert mismatch
    assert (mismatch.cure, mismatch.fault) == (cure, "containerd-cgroup-driver")
    assert file in mismatch.hint


def test_a_kubelet_that_took_another_driver_names_the_same_fault() -> None:
    """The kubelet was started while containerd had another driver; containerd has been put right since."""
    answers = place_answers("h1", read_case("kubelet.cgroups", "cgroupfs"))
    mismatch = judge(STEP, answers)["cgroups"].result
    assert mismatch
    assert (mismatch.subject, mismatch.fault) == ("cgroup driver of the running kubelet", "containerd-cgroup-driver")
    agrees = place_answers("h1", read_case("kubelet.cgroups", "two-hosts"))
    assert judge(STEP, agrees)["cgroups"].result is None


def test_a_daemon_older_than_its_files_is_restarted() -> None:
    text = read_case(CONFIGURATION, "prepared-debian-12").stdout
    newer = re.sub(r"(?m)^(== config.toml) \d+$", r"\1 2000000000", text)
    assert set(list_failures(judge(STEP, place_answers("h1", make_answer(CONFIGURATION, newer))))) == {"up-to-date"}


def test_without_a_mirror_nothing_of_ours_stands_in_the_way() -> None:
    failures = list_failures(judge(STEP, spec={"source": "official"}))
    assert failures["mirrors"] == ("different for docker.io, ghcr.io, nvcr.io, quay.io, registry.k8s.io", "install")
    assert failures["repository"][1] == "install"
    foreign = read_case("containerd.mirrors", "broken")
    assert "mirrors" not in list_failures(judge(STEP, {("containerd.mirrors", "h1"): foreign}, {"source": "official"}))


def test_a_mirror_has_no_public_fallback() -> None:
    edit = ('server = "http://10.77.1.1:8480"', 'server = "https://registry-1.docker.io"')
    answers = place_answers("h1", read_case("containerd.mirrors", "prepared-debian-12", edit))
    assert set(list_failures(judge(STEP, answers))) == {"mirrors"}


def test_a_foreign_mirror_is_left_to_the_operator() -> None:
    answers = place_answers("h1", read_case("containerd.mirrors", "drifted-debian-12"))
    assert list_failures(judge(STEP, answers)) == {"mirrors": ("different for quay.io", "operator")}


@pytest.mark.parametrize("restricted", [True, False])
def test_the_template_says_what_the_check_expects(restricted: bool) -> None:
    template = Environment(autoescape=True).from_string((ROLE / "templates" / "gpustack.toml.j2").read_text())
    text = template.render(containerd_restrict_oom_score_adj=restricted)
    assert tomllib.loads(text) == build_drop_in(restrict_oom_score_adj=restricted)


def test_a_login_of_the_mirror_is_compared_on_the_host() -> None:
    source = {"mirror": "http://10.77.1.1:8480", "fingerprint": "A" * 40, "user": "me", "password_file": "/p"}
    assert list_failures(judge(STEP, spec={"source": source}))["mirrors"][0].startswith("different for docker.io")
    answer = read_case("containerd.mirrors", "prepared-debian-12")
    text = re.sub(
        r'(?m)^(\[host\.".*")\]\n(.*)$', r'\1]\n\2\n\1.header]\n  Authorization = "same, mode 0600"', answer.stdout
    )
    failures = list_failures(
        judge(STEP, place_answers("h1", make_answer("containerd.mirrors", text)), {"source": source})
    )
    assert "mirrors" not in failures
    other_text = text.replace("same, mode 0600", "other, mode 0600", 1)
    failures = list_failures(
        judge(STEP, place_answers("h1", make_answer("containerd.mirrors", other_text)), {"source": source})
    )
    assert failures["mirrors"] == ("different for docker.io", "install")


PROXY = {"proxy": {"http": "http://p:3128"}}


def test_a_proxy_reaches_the_files_and_the_running_daemon() -> None:
    failures = list_failures(judge(STEP, spec=PROXY))
    assert failures["egress"] == ("no /etc/systemd/system/containerd.service.d/gpustack-proxy.conf", "install")
    assert failures["proxy"] == ("none", "install")


def test_a_proxy_file_that_the_spec_no_longer_has_is_removed() -> None:
    file = "/etc/systemd/system/containerd.service.d/gpustack-proxy.conf"
    answers = place_answers("h1", make_answer("egress.files", f"{file} other 644 root\n"))
    assert list_failures(judge(STEP, answers)) == {"egress": (f"{file} left over", "install")}
