#!/bin/sh
# Adds to PACKAGES what only some hosts need. Follows recorded.sh, and is read before apt-install.sh.
# Reads TIME_SYNC (`managed` or `external`) and OWNERSHIP.
apparmor=$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) || apparmor=
[ "$apparmor" != Y ] || PACKAGES="$PACKAGES apparmor"

# A second time service would throw out the first.
clocks=$(systemctl list-unit-files --no-legend --plain systemd-timesyncd.service chrony.service ntpsec.service ntp.service openntpd.service) || :
[ "$TIME_SYNC" != managed ] || [ -n "$clocks" ] || PACKAGES="$PACKAGES systemd-timesyncd"

# With a list that it cannot read apt does nothing at all. One that we made goes: the steps that own it write it again.
for name in containerd kubernetes nvidia toolkit; do
  list=/etc/apt/sources.list.d/gpustack-$name.sources
  [ -e "$list" ] || continue
  is_agreed remove "$list" || continue
  apt-get -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=- indextargets >/dev/null 2>&1 && continue
  rm "$list"
  echo "changed: removed $list, which apt could not read"
done
