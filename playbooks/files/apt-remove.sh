#!/bin/sh
# Takes back what apt-install.sh did: holds, and packages that were agreed on. Follows limits.sh. Reads HOLDS and
# PACKAGES (names; may be empty). A package keeps its configuration files, and with them what its own script would delete
# on a purge, where it has such a script or where one of these files was changed. Says `changed: …` for what it did.
set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C

# An installation that was broken off leaves its own script running on the host until that is through.
hold_lock /run/gpustack-apt.lock 300 'an installation'

for package in $HOLDS; do
  case $(dpkg-query -Wf '${db:Status-Want}' "$package" 2>/dev/null || :) in hold) ;; *) continue ;; esac
  apt-mark -qq unhold "$package" >/dev/null
  echo "changed: no hold of $package"
done

# As dpkg has it: ` PATH MD5`, with a further word for one that is obsolete.
pristine() {
  dpkg-query -Wf '${Conffiles}\n' "$1" | while read -r path sum _; do
    [ -z "$path" ] || [ ! -e "$path" ] || [ "$(md5sum <"$path")" = "$sum  -" ] || exit 1
  done
}

# On a purge dpkg runs the package's postrm script. Debian's own scripts delete more than configuration: the series of
# Prometheus, the silences of Alertmanager, the text files of node-exporter. Files that ucf keeps are in no list of dpkg.
has_removal_script() { [ -n "$(dpkg-query --control-path "$1" postrm 2>/dev/null)" ]; }

purged_packages='' names=''
for package in $PACKAGES; do
  case $(dpkg-query -Wf '${db:Status-Status}' "$package" 2>/dev/null || :) in installed) ;; *) continue ;; esac
  names="$names $package"
  has_removal_script "$package" || ! pristine "$package" || purged_packages="$purged_packages $package"
done
[ -n "$names" ] || exit 0
# shellcheck disable=SC2086 # words
other_packages=$(apt-get -s remove $names | awk -v names="$names " '$1 == "Remv" && index(names, " " $2 " ") == 0 {print $2}')
if [ -n "$other_packages" ]; then
  echo "apt would remove more than was agreed on: $other_packages" >&2
  exit 1
fi
apt_get() { apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 --yes "$@" >/dev/null </dev/null 9>&-; }
# First all of them, since they need each other; then the configuration files that nobody changed.
# shellcheck disable=SC2086 # words
apt_get remove $names
# One without configuration is gone already, and with its repository apt has forgotten that there ever was one.
configured_packages='' changed_packages=''
for package in $names; do
  case $(dpkg-query -Wf '${db:Status-Status}' "$package" 2>/dev/null || :) in config-files) ;; *) continue ;; esac
  case "$purged_packages " in *" $package "*) configured_packages="$configured_packages $package" ;; *) changed_packages="$changed_packages $package" ;; esac
done
# shellcheck disable=SC2086 # words
[ -z "$configured_packages" ] || apt_get purge $configured_packages
echo "changed: removed$names"
[ -z "$changed_packages" ] || echo "their configuration files and data stay, apt-get purge deletes both:$changed_packages"
