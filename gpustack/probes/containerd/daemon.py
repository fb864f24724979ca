"""containerd: as the running daemon answers, and what its files would make of it after a restart."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Lines, Probe, Shell
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.containerd.toml_keys import FUNCTION
from gpustack.probes.host.units import is_unsettled, show_units
from gpustack.probes.parsing import number, yaml_mapping
from gpustack.probes.sections import named, sections

SOCKET = "unix:///run/containerd/containerd.sock"
UNSERVED = "code = Unimplemented"
"""What crictl says of a daemon that answers and has no CRI."""
OURS = "# Written by gpustack; a change here is undone by the next install."
FOLDER = "/etc/containerd/"
DROP_IN = "conf.d/gpustack.toml"
OPTIONS = ("SystemdCgroup", "BinaryName")
REGISTRIES = ("docker.io", "ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")


@dataclass(frozen=True)
class Runtime:
    """What CRI v1 tells of the running daemon. `nvidia` is the program of its runtime of that name, empty for none."""

    systemd_cgroup: bool
    bin_dirs: tuple[str, ...]
    restrict_oom_score_adj: bool
    nvidia: str


@dataclass(frozen=True)
class Mirror:
    """A hosts.toml: whether it is ours, the server that is asked last, the hosts that are asked before it; `login` is
    `same` or `other`, compared with that of the spec on the host, with the file's mode, and empty without any."""

    ours: bool
    server: str
    hosts: tuple[str, ...]
    login: str = ""


@dataclass(frozen=True)
class Configuration:
    """config.toml and the files of conf.d. `drop_in` is ours, parsed, None when it is not there; `disabled` are plugins
    by the file that disables them; `broken` says of files that are no TOML why; `newest` is when the last of all was
    written, in seconds of the epoch, 0 without any. `systemd`: of the files that say it, in the order of reading,
    whether runc leaves cgroups to systemd."""

    imports: tuple[str, ...]
    disabled: Mapping[str, tuple[str, ...]]
    drop_in: Mapping[str, Any] | None
    broken: Mapping[str, str]
    newest: int
    systemd: Mapping[str, bool]

    @property
    def last_without_systemd(self) -> str:
        """The file that has the last word on it, where that is another's and a no; empty for none."""
        last = next(reversed(list(self.systemd)), "")
        return last if last and last != DROP_IN and not self.systemd[last] else ""


def runtime(answer: Answer) -> Runtime | None:
    """None when no daemon answers CRI v1. Raises KeyError on any other shape of `info`, ValueError while the daemon is
    restarted: one that serves no CRI says so."""
    if answer.rc != 0:
        if answer.out and UNSERVED not in answer.err and is_unsettled(answer.out):
            raise ValueError("just being started or stopped")
        return None
    config = load_json(answer.out)["config"]
    cni, runtimes = config["cni"], config["containerd"]["runtimes"]
    runc, nvidia = runtimes["runc"], runtimes.get("nvidia", {})
    # containerd 2.1 names a list beside the older single directory.
    dirs = cni.get("binDirs") or [cni["binDir"]]
    return Runtime(
        runc["options"].get("SystemdCgroup", False) is True,
        tuple(dirs),
        config.get("restrictOOMScoreAdj", False) is True,
        (nvidia.get("options") or {}).get("BinaryName", ""),
    )


def runtime_only(text: str) -> str:
    """What `runtime` reads of `crictl info`, which has the logins of registries as well."""
    config = load_json(text)["config"]
    runtimes = {
        name: {"options": pick(config["containerd"]["runtimes"][name].get("options") or {}, OPTIONS)}
        for name in ("runc", "nvidia")
        if name in config["containerd"]["runtimes"]
    }
    cni = pick(config["cni"], ("binDir", "binDirs"))
    settings = {"cni": cni, "containerd": {"runtimes": runtimes}, **pick(config, ("restrictOOMScoreAdj",))}
    return dump_json({"config": settings}, indent=2) + "\n"


def pick(table: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: table[key] for key in keys if key in table}


# Without its socket there is no daemon, and no crictl is needed to see that.
RUNTIME = Probe(
    "containerd.runtime",
    Shell(f"""[ -S {SOCKET.removeprefix("unix://")} ] || exit 1
crictl --runtime-endpoint {SOCKET} info && exit
rc=$?
({show_units("containerd")}
)
exit $rc"""),
    runtime,
    ends=(0, 1),
    like="crictl info",
    shorten=runtime_only,
)


def configuration(answer: Answer) -> Configuration:
    files: dict[str, dict[str, Any]] = {}
    broken: dict[str, str] = {}
    times = [0]
    for title, lines in named(sections(answer.out)).items():
        name, time = title.rsplit(" ", 1)
        times.append(number(time))
        try:
            files[name] = tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError as error:
            broken[name] = str(error)
    plugins = {name: table.get("disabled_plugins") for name, table in files.items()}
    disabled = {name: tuple(found) for name, found in plugins.items() if found}
    imports = tuple(files.get("config.toml", {}).get("imports", ()))
    systemd = {name: value for name, table in files.items() if isinstance(value := cgroups(table), bool)}
    return Configuration(imports, disabled, files.get(DROP_IN), broken, max(times), systemd)


def cgroups(document: Mapping[str, Any]) -> Any:
    """What a file says of runc's SystemdCgroup, in the table of version 3."""
    found: Any = document
    for key in (
        "plugins",
        "io.containerd.cri.v1.runtime",
        "containerd",
        "runtimes",
        "runc",
        "options",
        "SystemdCgroup",
    ):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def mirrors(answer: Answer) -> Mapping[str, Mirror]:
    """By registry."""
    return {name: mirror(lines) for name, lines in named(sections(answer.out)).items()}


def mirror(lines: list[str]) -> Mirror:
    ours = lines[:1] == [OURS]
    try:
        document = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return Mirror(ours, "(the file is not TOML)", ())
    hosts: dict[str, Any] = document.get("host", {})
    headers = (host.get("header", {}) for host in hosts.values() if isinstance(host, dict))
    logins = {str(header["Authorization"]) for header in headers if "Authorization" in header}
    return Mirror(ours, str(document.get("server", "")), tuple(hosts), ", ".join(sorted(logins)))


CONFIGURATION = Probe(
    "containerd.configuration",
    Lines(
        FUNCTION
        + r"""cd /etc/containerd 2>/dev/null || exit 0
set --
for file in config.toml conf.d/*.toml; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -gt 0 ] || exit 0
times=$(stat -Lc '%Y %n' "$@") || exit
set --
while read -r time file; do
  set -- "$@" "$file $time" "$file"
done <<TIMES
$times
TIMES
toml_keys 'version|imports|disabled_plugins|config_path|bin_dirs?' "$@" """
    ),
    configuration,
    like="cat /etc/containerd/config.toml /etc/containerd/conf.d/*.toml",
)
# What is said as Authorization never leaves the host, in foreign files neither, nor does any other header.
MIRRORS = Probe(
    "containerd.mirrors",
    Lines(
        FUNCTION
        + r"""cd /etc/containerd/certs.d 2>/dev/null || exit 0
set --
for file in */hosts.toml; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -gt 0 ] || exit 0
secret=$(grep -li authorization "$@")
for file; do
  shift
  case "
$secret
" in
  *"
$file
"*)
    login=$(sed -n 's/^ *Authorization = "\(.*\)"$/\1/p' "$file")
    found=$(printf '%s%s' "$SALT" "$login" | sha256sum)
    [ "${found%% *}" = "$MIRROR_LOGIN" ] && is=same || is=other
    value="(\"[^\"]*\"|'[^']*'|\[[^]]*])" mode=$(stat -c %04a "$file")
    sed -E "s/(authorization['\"]?[[:space:]]*=[[:space:]]*)$value/\1\"$is, mode $mode\"/Ig" "$file" |
      toml_keys 'server|capabilities' "${file%/hosts.toml}" /dev/stdin ;;
  *) set -- "$@" "${file%/hosts.toml}" "$file" ;;
  esac
done
[ $# -eq 0 ] || toml_keys 'server|capabilities' "$@" """
    ),
    mirrors,
    like="cat /etc/containerd/certs.d/*/hosts.toml",
)


def crictl(answer: Answer) -> Mapping[str, str]:
    """/etc/crictl.yaml, empty when there is none. Raises ValueError when it is no mapping."""
    document = yaml_mapping(answer.out) if answer.out.strip() else {}
    return {str(key): str(value) for key, value in document.items()}


# Comments and whatever crictl does not know stay on the host; a line that is no setting leaves the file no mapping.
CRICTL = Probe(
    "containerd.crictl",
    Lines(
        r"""[ ! -e /etc/crictl.yaml ] || awk '
  { sub(/\r$/, "") }
  /^[ \t]*(#|$)/ || /^---[ \t]*$/ { next }
  /^["\047]?(runtime-endpoint|image-endpoint|timeout|debug|pull-image-on-create|disable-pull-on-run)["\047]?[ \t]*:/ {
    sub(/[ \t]+#.*$/, "")
    print
    next
  }
  /^["\047]?[A-Za-z][A-Za-z-]*["\047]?[ \t]*:([ \t]|$)/ { sub(/:.*/, ": REDACTED"); print; next }
  { print "- REDACTED" }' /etc/crictl.yaml"""
    ),
    crictl,
    like="cat /etc/crictl.yaml",
)
