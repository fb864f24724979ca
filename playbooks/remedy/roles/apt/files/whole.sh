#!/bin/sh
# Ends what dpkg was broken off in (FINISH is yes), installs INSTALL and unpacks REINSTALL anew, in the version that is
# there, and held where it was. Says `changed: …` for what it did. Ends with 75 while another process has a lock of apt:
# the task tries again.
set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C

run() {
  message=$("$@" 2>&1 >/dev/null </dev/null) && return
  echo "$message" >&2
  case $message in *'Could not get lock'* | *'locked by another process'*) exit 75 ;; esac
  exit 1
}

# As install does: what others installed stays, and apt's history tells which packages we brought.
apt_get() {
  run apt-get -qq -o gpustack::installs=yes -o Dpkg::Use-Pty=0 -o DPkg::Options::=--force-confdef \
    -o DPkg::Options::=--force-confold --yes --no-remove --no-install-recommends "$@"
}

if [ "$FINISH" = yes ] && [ -n "$(ls /var/lib/dpkg/updates)$(dpkg --audit)" ]; then
  run dpkg --force-confdef --force-confold --configure -a
  apt_get --fix-broken install
  echo 'changed: finished what dpkg was interrupted in'
fi
for package in $INSTALL; do
  [ "$(dpkg-query -Wf '${db:Status-Status}' "$package" 2>/dev/null)" != installed ] || continue
  apt_get install "$package"
  echo "changed: installed $package"
done
for package in $REINSTALL; do
  version=$(dpkg-query -Wf '${Version}' "$package")
  hold=$(apt-mark showhold "$package")
  # It is the same version again; apt forgets by this that the package was held.
  apt_get --allow-change-held-packages --reinstall install "$package=$version"
  [ -z "$hold" ] || run apt-mark -qq hold "$package"
  echo "changed: unpacked $package $version again"
done
