#!/bin/sh
# Takes back what apt-install.sh did: holds, and packages that were agreed on. Follows limits.sh. Reads HOLDS and
# PACKAGES (names; may be empty). A package whose configuration files were changed is removed without them.
# Says `changed: …` for what it did.
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

whole='' bare='' names=''
for package in $PACKAGES; do
  case $(dpkg-query -Wf '${db:Status-Status}' "$package" 2>/dev/null || :) in installed) ;; *) continue ;; esac
  names="$names $package"
  if pristine "$package"; then whole="$whole $package"; else bare="$bare $package"; fi
done
[ -n "$names" ] || exit 0
# shellcheck disable=SC2086 # words
others=$(apt-get -s remove $names | awk -v agreed="$names " '$1 == "Remv" && index(agreed, " " $2 " ") == 0 {print $2}')
if [ -n "$others" ]; then
  echo "apt would remove more than was agreed on: $others" >&2
  exit 1
fi
apt_get() { apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 --yes "$@" >/dev/null </dev/null 9>&-; }
# First all of them, since they need each other; then the configuration of those that nobody changed.
# shellcheck disable=SC2086 # words
apt_get remove $names
# One without configuration is gone already, and with its repository apt has forgotten that there ever was one.
left=
for package in $whole; do
  case $(dpkg-query -Wf '${db:Status-Status}' "$package" 2>/dev/null || :) in config-files) left="$left $package" ;; esac
done
# shellcheck disable=SC2086 # words
[ -z "$left" ] || apt_get purge $left
echo "changed: removed$names"
