#!/bin/sh
# Adds to PACKAGES what only some hosts need. Read before apt-install.sh.
# Reads TIME_SYNC (`managed` or `external`).
apparmor=$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) || apparmor=
[ "$apparmor" != Y ] || PACKAGES="$PACKAGES apparmor"

# A second time service would throw out the first.
clocks=$(systemctl list-unit-files --no-legend --plain systemd-timesyncd.service chrony.service ntpsec.service ntp.service openntpd.service) || :
[ "$TIME_SYNC" != managed ] || [ -n "$clocks" ] || PACKAGES="$PACKAGES systemd-timesyncd"

# With a list that it cannot read apt does nothing at all. One of ours goes: the steps that own it write it again.
for list in /etc/apt/sources.list.d/gpustack-*.sources; do
  [ -e "$list" ] || continue
  apt-get -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=- indextargets >/dev/null 2>&1 && continue
  rm "$list"
  echo "changed: removed $list, which apt could not read"
done
