#!/bin/sh
# Installs Debian packages that are not there yet; asks the repositories only when apt does not know a package.
# Reads PACKAGES (name, or name=pattern of the version), HOLD (`yes` holds them) and SOURCES (names of our repositories,
# which are asked first; may be empty). Says `changed: …` for what it did.
set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
LIMIT=300

# Words: what is wanted of the package, what it is, its version.
state() { dpkg-query -Wf '${db:Status-Want} ${db:Status-Status} ${Version}' "${1%%=*}" 2>/dev/null || :; }

installed() {
  case $1 in *=*) pattern=${1#*=} ;; *) pattern='*' ;; esac
  # shellcheck disable=SC2254 # it is a pattern
  case $(state "$1") in *" installed "$pattern) ;; *) return 1 ;; esac
}

# apt waits for dpkg's lock by itself, not for that of the package lists. A repository that cannot be read is an error
# here; for apt it is a warning when older lists are there.
update() {
  until=$(($(date +%s) + LIMIT))
  while ! said=$(apt-get -q "$@" update 2>&1); do
    case $said in *lists/lock*) [ "$(date +%s)" -ge "$until" ] || { sleep 2; continue; } ;; esac
    echo "$said" >&2
    return 1
  done
}

update_ours() {
  for name in $SOURCES; do
    update -o "Dir::Etc::sourcelist=/etc/apt/sources.list.d/gpustack-$name.sources" -o Dir::Etc::sourceparts=- \
      -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any || return
  done
}

apt_get() {
  # shellcheck disable=SC2086 # words
  apt-get -qq -o DPkg::Lock::Timeout=$LIMIT -o DPkg::Options::=--force-confdef -o DPkg::Options::=--force-confold \
    --yes --no-install-recommends install $missing >/dev/null </dev/null
}

# After a dpkg that was killed apt refuses to work until its packages are configured.
get() {
  apt_get && return
  [ -n "$(ls /var/lib/dpkg/updates)$(dpkg --audit)" ] || return 1
  dpkg --force-confdef --force-confold --configure -a >/dev/null </dev/null && apt_get
}

missing=
for package in $PACKAGES; do
  installed "$package" || missing="$missing $package"
done
if [ -n "$missing" ]; then
  get 2>/dev/null || { [ -n "$SOURCES" ] && update_ours && get 2>/dev/null; } || { update && get; }
  echo "changed: installed$missing"
fi
[ "$HOLD" = yes ] || exit 0
for package in $PACKAGES; do
  case $(state "$package") in hold\ *) continue ;; esac
  apt-mark -qq hold "${package%%=*}" >/dev/null
  echo "changed: held ${package%%=*}"
done
