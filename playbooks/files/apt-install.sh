#!/bin/sh
# Installs Debian packages that are not there yet; asks the repositories only when apt does not know a package.
# Reads PACKAGES (name, or name=pattern of the version), HOLD (`yes` holds them) and SOURCES (names of our repositories,
# which are asked first; may be empty). Says `changed: …` for what it did.
# Ends with 75 when another process has a lock of apt, and says which: the task tries again, and the operator reads why.
set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C
exec 3>&2

# An installation that was broken off leaves its own script running on the host until that is through.
exec 9>/run/gpustack-apt.lock
flock --nonblock 9 || {
  echo "an interrupted installation is still running on this host" >&3
  exit 75
}

# Words: what is wanted of the package, what it is, its version.
state() { dpkg-query -Wf '${db:Status-Want} ${db:Status-Status} ${Version}' "${1%%=*}" 2>/dev/null || :; }

is_installed() {
  case $1 in *=*) pattern=${1#*=} ;; *) pattern='*' ;; esac
  # shellcheck disable=SC2254 # it is a pattern
  case $(state "$1") in *" installed "$pattern) ;; *) return 1 ;; esac
}

# Nothing of what a package starts may keep our lock, or wait for an answer.
run() {
  messages=$("$@" 2>&1 >/dev/null </dev/null 9>&-) && return
  case $messages in *'Could not get lock'* | *'locked by another process'*) report_lock ;; esac
  echo "$messages" >&2
  return 1
}

# apt: "It is held by process 12 (dpkg)"; dpkg: "was locked by another process with pid 12".
report_lock() {
  pid=$(echo "$messages" | sed -n 's/.*\(held by process\|process with pid\) \([0-9]\{1,\}\).*/\2/p' | head -n 1)
  args=$(tr '\0\n' '  ' <"/proc/${pid:-none}/cmdline" | cut -c 1-120) 2>/dev/null || args=
  echo "apt is locked by ${pid:+process $pid: }${args:-a process that has ended or cannot be seen} (gpustack explain apt-locked)" >&3
  exit 75
}

# A repository that cannot be read is an error here; for apt it is a warning when older lists are there. What a file of
# somebody else stands for is updated with all.
update_ours() {
  for name in $SOURCES; do
    list=/etc/apt/sources.list.d/gpustack-$name.sources
    [ -e "$list" ] || continue
    run apt-get -q -o "Dir::Etc::sourcelist=$list" \
      -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any update || return
  done
}

# What others installed stays, whatever apt would like to put in its place. The first option means nothing to apt: it is
# in apt's history, and tells the reset which packages we installed. Through a terminal of apt's own what dpkg says of
# its errors would be no error output.
apt_get() {
  run apt-get -qq -o gpustack::installs=yes -o Dpkg::Use-Pty=0 -o DPkg::Options::=--force-confdef \
    -o DPkg::Options::=--force-confold --yes --no-remove --no-install-recommends "$@"
}

install_missing() {
  # shellcheck disable=SC2086 # words
  apt_get install $missing
}

# After a dpkg that was killed apt refuses to work until its packages are configured, or unpacked anew.
get() {
  install_missing && return
  [ -n "$(ls /var/lib/dpkg/updates)$(dpkg --audit)" ] || return 1
  run dpkg --force-confdef --force-confold --configure -a || :
  install_missing || { apt_get --fix-broken install && install_missing; }
}

missing=
for package in $PACKAGES; do
  is_installed "$package" || missing="$missing $package"
done
if [ -n "$missing" ]; then
  get 2>/dev/null || { [ -n "$SOURCES" ] && update_ours && get 2>/dev/null; } || { run apt-get -q update && get; } || {
    echo "not installed on $(hostname):$missing (gpustack explain download-failed)" >&2
    exit 1
  }
  echo "changed: installed$missing"
fi
[ "$HOLD" = yes ] || exit 0
for package in $PACKAGES; do
  case $(state "$package") in hold\ *) continue ;; esac
  run apt-mark -qq hold "${package%%=*}"
  echo "changed: held ${package%%=*}"
done
