"""What dpkg is at, what it left unfinished, and which package sources apt is told to trust."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.packages.software import SHOW_KEYS, primary_keys
from gpustack.probes.parsing import number
from gpustack.probes.sections import named, read_sections, sections

PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
# dpkg-query(1): half-installed, unpacked, half-configured; R wants to be installed anew.
UNFINISHED = re.compile(r"[a-z](?:[UFH].|[a-zA-Z]R)")


@dataclass(frozen=True)
class Holder:
    """Who has a lock file, for how many seconds it has run."""

    file: str
    pid: int
    process: str
    age: int


@dataclass(frozen=True)
class Dpkg:
    """`updates` counts records of work that was broken off; `unfinished` packages are neither installed nor gone."""

    holders: tuple[Holder, ...]
    updates: int
    unfinished: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """One place that apt asks; `key` is the file it trusts it by, empty where none is named or the signature does not
    count."""

    file: str
    uri: str
    suites: str
    key: str
    components: str = ""


@dataclass(frozen=True)
class Keyring:
    """`size` is None for a file that is not there. `fingerprints` are of primary keys, None where there is no gpg to
    read them; `ends` is when the last of these expires, None for never."""

    size: int | None
    fingerprints: tuple[str, ...] | None
    ends: datetime | None


@dataclass(frozen=True)
class Sources:
    """Keyrings by path. `refused` is what apt says where it cannot read all of them: then it does nothing at all."""

    sources: tuple[Source, ...]
    keyrings: Mapping[str, Keyring]
    refused: tuple[str, ...] = ()


def dpkg(answer: Answer) -> Dpkg | None:
    """None where there is no dpkg."""
    if answer.out.strip() == "== none":
        return None
    locks, updates, unfinished = read_sections(answer.out, "locks", "updates", "unfinished")
    (count,) = updates
    packages = [line.split("|") for line in unfinished]
    if odd := [words for words in packages if not UNFINISHED.fullmatch(words[0]) or not PACKAGE.fullmatch(words[1])]:
        raise ValueError(str(odd))
    return Dpkg(tuple(map(holder, locks)), number(count), tuple(name for _, name in packages))


def holder(line: str) -> Holder:
    file, pid, age, process = line.split(" ", 3)
    return Holder(file, number(pid), process, number(age))


def package_sources(answer: Answer) -> Sources:
    """Raises ValueError for an answer of another shape."""
    parts = named(sections(answer.out))
    found: list[Source] = []
    for line in parts["sources"]:
        file, uris, suites, key, enabled, *components = line.split("|")
        if enabled.strip().lower() not in ("no", "false", "off", "0"):
            words = [" ".join(text.split()) for text in (suites, *components)]
            found += [Source(file, uri.rstrip("/"), words[0], key.strip(), *words[1:]) for uri in uris.split()]
    keyrings: dict[str, list[str]] = {}
    sizes: dict[str, str] = {}
    path = ""
    for line in parts["keys"]:
        if line.startswith("key "):
            _, size, path = line.split(" ", 2)
            keyrings[path], sizes[path] = [], size
        else:
            keyrings[path].append(line)
    rings = {path: keyring(sizes[path], said) for path, said in keyrings.items()}
    return Sources(tuple(found), rings, tuple(parts.get("refused", ())))


def keyring(size: str, lines: list[str]) -> Keyring:
    """`size` is `-` for a file that is not there, `?` where no gpg is."""
    if size == "?":
        return Keyring(None, None, None)
    return Keyring(None if size == "-" else number(size), primary_keys(lines), ends(lines))


def ends(lines: list[str]) -> datetime | None:
    """Of gpg's colon listing, field 7 of a `pub` line is when it expires, in seconds of the epoch."""
    stamps = [line.split(":")[6] for line in lines if line.startswith("pub:")]
    if not stamps or not all(stamps):
        return None
    return datetime.fromtimestamp(max(map(number, stamps)), UTC)


# apt and dpkg lock with fcntl, which /proc/locks calls POSIX.
DPKG = Probe(
    "packages.dpkg",
    Lines(r"""command -v dpkg-query >/dev/null || { echo '== none'; exit 0; }
echo '== locks'
cd /var || exit
stat -c '%i %n' lib/dpkg/lock-frontend lib/dpkg/lock lib/apt/lists/lock cache/apt/archives/lock 2>/dev/null |
  awk 'FNR == NR {file[$1] = "/var/" $2; next}
    $2 != "POSIX" || $4 != "WRITE" {next}
    split($6, at, ":") && at[3] in file && $5 ~ /^[1-9]/ {print file[at[3]], $5}' - /proc/locks |
  while read -r file pid; do
    find "/proc/$pid/fd" -lname "$file" 2>/dev/null | grep -q . || continue
    read -r name <"/proc/$pid/comm" || continue
    age=$(ps -o etimes= -p "$pid") || continue
    echo "$file $pid ${age##* } $name"
  done
echo '== updates'
find /var/lib/dpkg/updates -name '[0-9]*' | wc -l
echo '== unfinished'
dpkg-query -Wf '${db:Status-Abbrev}|${Package}\n' | grep -E '^[a-z]([UFH]|.R)' | head -n 20 || :"""),
    dpkg,
    like="ls /var/lib/dpkg/updates; fuser -v /var/lib/dpkg/lock*",
)
# sources.list(5): what stands in brackets or in a field of these makes apt take a source without a valid signature.
UNSIGNED = "trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure"
# The options keep gpg from making a directory and a trust database of its own. The last part is apt's own judgement:
# one file that it cannot read, or one place with two keys, and it reads none.
SOURCES = Probe(
    "packages.sources",
    Lines(
        SHOW_KEYS
        + r"""echo '== sources'
cd /etc/apt 2>/dev/null || { echo '== keys'; exit 0; }
set --
for file in sources.list sources.list.d/*.list; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || awk '$1 == "deb" {
  key = parts = options = ""
  sub(/#.*/, "")
  if (match($0, /\[[^]]*\]/)) {
    options = substr($0, RSTART + 1, RLENGTH - 2)
    $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
  }
  if (match(options, /signed-by=[^ ]+/)) key = substr(options, RSTART + 10, RLENGTH - 10)
  if (options ~ /(UNSIGNED)=/) key = ""
  for (i = 4; i <= NF; i++) parts = parts " " $i
  print FILENAME "|" $2 "|" $3 "|" key "|yes|" parts
}' "$@" || exit
for file in sources.list.d/*.sources; do
  [ -e "$file" ] || continue
  set -- "$@" "$file"
  awk -v file="$file" 'BEGIN { RS = ""; FS = "\n" } {
    types = uri = suite = key = parts = field = ""; on = "yes"; loose = 0
    for (i = 1; i <= NF; i++) {
      if ($i ~ /^#/) continue
      value = $i
      if ($i !~ /^[ \t]/) {
        field = tolower($i); sub(/:.*/, "", field)
        sub(/^[^:]*:[ \t]*/, "", value)
        if (field == "signed-by" && value ~ /^\//) key = value
      }
      if (field == "types") types = types " " value " "
      if (field == "uris") uri = uri " " value
      if (field == "suites") suite = suite " " value
      if (field == "components") parts = parts " " value
      if (field == "enabled") on = value
      if (field ~ /^(UNSIGNED)$/) loose = 1
    }
    if (uri != "" && types ~ / deb /) print file "|" uri "|" suite "|" (loose ? "" : key) "|" on "|" parts
  }' "$file" || exit
done
echo '== keys'
paths=$([ $# -eq 0 ] || grep -ohiE '(signed-by=|^signed-by: *)/[^] ,]+' "$@") || [ $? -eq 1 ] || exit
[ -z "$paths" ] || printf '%s\n' "$paths" |
  sed 's,^[^/]*,,' | sort -u | while read -r key; do
    command -v gpg >/dev/null || { echo "key ? $key"; continue; }
    echo "key $(stat -Lc %s "$key" 2>/dev/null || echo -) $key"
    show_keys "$key" | grep -E '^(pub|sub|fpr):'
  done
echo '== refused'
apt-get indextargets 2>&1 >/dev/null | grep '^E: ' | sort -u
exit 0""".replace("UNSIGNED", UNSIGNED)
    ),
    package_sources,
    like="cat /etc/apt/sources.list /etc/apt/sources.list.d/*",
)
