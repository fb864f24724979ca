"""The parsers of host probes against invented answers: what is put into an answer comes out as the fact."""

import json
import string
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.probe import Answer
from gpustack.probes.containerd.daemon import CONFIGURATION, RUNTIME
from gpustack.probes.host.system import OS
from gpustack.probes.kernel.settings import SWAP, SYSCTL, SYSCTLS
from gpustack.probes.network.addresses import ADDRESSES, LISTENERS
from gpustack.probes.packages.software import MISSING_MESSAGE, PACKAGE_NAMES, PACKAGES, parse_upstream_version

WORD = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
VERSION = st.from_regex(r"[0-9]{1,2}(\.[0-9a-z+~]{1,3}){0,3}(-[0-9a-z.]{1,4})?", fullmatch=True)
PORT = st.integers(1, 65535)


def build_answer(output: str, rc: int = 0) -> Answer:
    return Answer("any", "h1", rc, output if not output or output.endswith("\n") else f"{output}\n")


@given(
    epoch=st.sampled_from(["", "1:", "5:"]),
    version=VERSION,
    revision=st.from_regex(r"[0-9a-z.~+]{1,8}", fullmatch=True),
)
def test_upstream_is_what_stands_between_epoch_and_revision(epoch: str, version: str, revision: str) -> None:
    assert parse_upstream_version(f"{epoch}{version}-{revision}") == version


@given(st.dictionaries(st.sampled_from(PACKAGE_NAMES), st.tuples(st.sampled_from(["install", "hold"]), VERSION)))
def test_packages_are_parsed(packages: dict[str, tuple[str, str]]) -> None:
    stdout = "".join(f"{name} {want} installed {version}-1\n" for name, (want, version) in packages.items())
    missing = "".join(f"{MISSING_MESSAGE}{name}\n" for name in PACKAGE_NAMES if name not in packages)
    fact = PACKAGES.extract_fact(replace(build_answer(stdout, rc=1 if missing else 0), stderr=missing))
    assert set(fact) == set(PACKAGE_NAMES)
    assert {name: (package.held, package.version) for name, package in fact.items() if package} == {
        name: (want == "hold", version) for name, (want, version) in packages.items()
    }


@given(
    st.sets(st.tuples(st.sampled_from(["tcp", "udp"]), PORT, st.sampled_from(["0.0.0.0", "[::]", "*", "127.0.0.1%lo"])))
)
def test_listeners_are_parsed(sockets: set[tuple[str, int, str]]) -> None:
    lines = [
        f'{protocol} LISTEN 0 128 {local}:{port} *:* users:(("a b",pid=1,fd=3))' for protocol, port, local in sockets
    ]
    fact = LISTENERS.extract_fact(build_answer("\n".join(lines)))
    assert {(listener.protocol, listener.port, listener.process) for listener in fact} == {
        (name, port, "a b") for name, port, _ in sockets
    }


@given(st.dictionaries(WORD, st.lists(st.ip_addresses(v=4).map(str), min_size=1, max_size=3), max_size=4))
def test_addresses_are_parsed(interfaces: dict[str, list[str]]) -> None:
    lines = [
        f"{i}: {name}    inet {interface}/24 scope global {name}"
        for i, name in enumerate(interfaces)
        for interface in interfaces[name]
    ]
    assert ADDRESSES.extract_fact(build_answer("\n".join(lines))) == {
        name: tuple(addresses) for name, addresses in interfaces.items()
    }


@given(
    live=st.fixed_dictionaries({key: st.sampled_from(["0", "1", "-"]) for key in SYSCTLS}),
    files=st.lists(st.tuples(st.sampled_from(SYSCTLS), st.sampled_from(["0", "1"]), st.booleans()), max_size=6),
)
def test_the_last_file_wins(live: dict[str, str], files: list[tuple[str, str, bool]]) -> None:
    lines = ["== live", *(f"{key} {value}" for key, value in live.items()), "== boot"]
    for number, (key, value, slashes) in enumerate(files):
        lines += [f"# /etc/sysctl.d/{number}.conf", f"{key.replace('.', '/') if slashes else key} = {value}"]
    fact = SYSCTL.extract_fact(build_answer("\n".join([*lines, "== ufw"])))
    assert fact.live == {key: None if value == "-" else value for key, value in live.items()}
    last = {key: (f"/etc/sysctl.d/{number}.conf", value) for number, (key, value, _) in enumerate(files)}
    assert {key: (settings[-1].file, settings[-1].value) for key, settings in fact.at_boot.items() if settings} == last


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["swap", "ext4"]), st.sampled_from([" ", "\t", "   "]))))
def test_only_living_swap_lines_of_fstab_count(lines: list[tuple[bool, str, str]]) -> None:
    text = [f"{'#' if dead else ''}/dev/x{gap}none{gap}{kind}{gap}sw 0 0" for dead, kind, gap in lines]
    fact = SWAP.extract_fact(build_answer("\n".join(["== active", "Filename\tType", "== fstab", *text, "== units"])))
    assert len(fact.fstab) == sum(1 for dead, kind, _ in lines if kind == "swap" and not dead)


@given(
    st.dictionaries(
        WORD.map(lambda name: f"conf.d/{name}.toml"), st.tuples(st.integers(1, 2**31), st.lists(WORD, max_size=3))
    )
)
def test_configuration_files_are_parsed(files: dict[str, tuple[int, list[str]]]) -> None:
    stdout = "".join(
        f"== {name} {time}\ndisabled_plugins = {json.dumps(plugins)}\n\n" for name, (time, plugins) in files.items()
    )
    fact = CONFIGURATION.extract_fact(build_answer(stdout))
    assert fact.newest == max((time for time, _ in files.values()), default=0)
    assert fact.disabled_plugins == {name: tuple(plugins) for name, (_, plugins) in files.items() if plugins}
    assert fact.parse_errors == {}


@given(cgroup=st.booleans(), restricted=st.booleans(), dirs=st.lists(WORD.map("/".__add__), min_size=1, max_size=3))
def test_the_runtime_is_parsed(cgroup: bool, restricted: bool, dirs: list[str]) -> None:
    runtimes = {"runc": {"options": {"SystemdCgroup": cgroup}}}
    config = {"cni": {"binDirs": dirs}, "containerd": {"runtimes": runtimes}, "restrictOOMScoreAdj": restricted}
    fact = RUNTIME.extract_fact(build_answer(json.dumps({"config": config})))
    assert fact
    assert (fact.systemd_cgroup, fact.restrict_oom_score_adj, fact.bin_dirs) == (cgroup, restricted, tuple(dirs))


@given(id=WORD, version=VERSION, quote=st.sampled_from(["", "'", '"']))
def test_os_release_may_quote(id: str, version: str, quote: str) -> None:
    fact = OS.extract_fact(
        build_answer(f"x86_64\n# a comment\n\nID={quote}{id}{quote}\nVERSION_ID={quote}{version}{quote}\n")
    )
    assert (fact.id, fact.version, fact.codename) == (id, version, "")
