"""Which Debian packages we installed, by apt's own history, and who else needs them.

apt notes each run with its command line; ours carry an option that says so (playbooks/files/apt-install.sh). Debian
keeps a year of it: what is older, and what another program installed, is not known to be ours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.packages.software import OURS
from gpustack.probes.sections import named, sections

# Debian policy 5.6.7.
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class PackagesOfOurs:
    """`ours` are there and were last installed by us; `held` of them; `others` are the main ones that are there and not
    known to be ours; `needs` are (who, package): packages, units or namespaces of containerd that need one of ours."""

    ours: tuple[str, ...]
    held: tuple[str, ...]
    others: tuple[str, ...]
    needs: tuple[tuple[str, str], ...]

    def kept(self) -> Mapping[str, str]:
        """Those of ours that must stay, and who needs them. What one of these needs stays as well."""
        found: dict[str, str] = {}
        while True:
            gone = set(self.ours) - set(found)
            more = {what: who for who, what in reversed(self.needs) if what in gone and who not in gone}
            if not more:
                return found
            found |= more


def packages_of_ours(answer: Answer) -> PackagesOfOurs:
    """Raises ValueError or KeyError for an answer of another shape."""
    parts = named(sections(answer.out))
    history = {name for name in parts["history"] if name}
    if odd := [name for name in history if not NAME.fullmatch(name)]:
        raise ValueError(odd)
    states = [line.split(" ") for line in parts["states"]]
    there = {name: want for name, want, status in states if status == "installed"}
    ours = tuple(sorted(history & set(there)))
    needs = sorted({(who, what) for who, what in (line.split(" ") for line in parts["needs"]) if who != what})
    return PackagesOfOurs(
        ours,
        tuple(name for name in ours if there[name] == "hold"),
        tuple(name for name in OURS if name in there and name not in history),
        tuple(needs),
    )


PACKAGES_OF_OURS = Probe(
    "owned.packages",
    Lines(
        r"""history() {
  find /var/log/apt -maxdepth 1 -name 'history.log*' | sort -rV | while read -r file; do zcat -f "$file"; done
}
ours=$(history | awk '
  /^Start-Date: / { mine = 0 }
  /^Commandline: / { mine = / gpustack::installs=yes / }
  /^(Install|Remove|Purge): / {
    kind = $1
    sub(/^[A-Za-z]+: /, "")
    n = split($0, entry, /\), /)
    for (i = 1; i <= n; i++) {
      sub(/[: ].*/, "", entry[i])
      if (kind == "Install:") who[entry[i]] = mine; else delete who[entry[i]]
    }
  }
  END { for (name in who) if (who[name]) print name }' | sort)
echo '== history'; printf '%s\n' "$ours"
echo '== states'
# shellcheck disable=SC2086 # words
dpkg-query -Wf '${Package} ${db:Status-Want} ${db:Status-Status}\n' MAIN $ours 2>/dev/null | sort -u
echo '== needs'
all=$(dpkg-query -Wf '${Package} ${db:Status-Status} ${Pre-Depends}, ${Depends}\n') || exit
printf '%s\n' "$all" | awk -v ours="$(echo "$ours" | tr '\n' ' ')" '
  BEGIN { n = split(ours, name, " "); for (i = 1; i <= n; i++) is[name[i]] }
  $2 == "installed" {
    who = $1
    $1 = $2 = ""
    n = split($0, word, /[,|]/)
    for (i = 1; i <= n; i++) {
      sub(/^ */, "", word[i])
      sub(/[ (:].*/, "", word[i])
      if (word[i] in is) print who, word[i]
    }
  }' | sort -u
! systemctl -q is-enabled nftables.service 2>/dev/null || echo 'nftables.service nftables'
if command -v ctr >/dev/null; then
  if systemctl -q is-active containerd; then
    spaces=$(timeout 3 ctr namespaces ls -q) || exit
    for space in $spaces; do
      [ "$space" = k8s.io ] || [ -z "$(ctr -n "$space" containers ls -q; ctr -n "$space" images ls -q)" ] ||
        echo "containerd's-namespace-$space containerd.io"
    done
  elif [ -e /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db ]; then
    echo 'whoever-has-containers-in-the-stopped-containerd containerd.io'
  fi
fi
exit 0""".replace("MAIN", " ".join(OURS))
    ),
    packages_of_ours,
    limit=10,
)
