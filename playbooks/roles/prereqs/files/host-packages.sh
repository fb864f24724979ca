#!/bin/sh
# Adds to PACKAGES what only some hosts need. Read before apt-install.sh.
# Reads TIME_SYNC (`managed` or `external`).
apparmor=$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) || apparmor=
[ "$apparmor" != Y ] || PACKAGES="$PACKAGES apparmor"

# A second time service would throw out the first.
clocks=$(systemctl list-unit-files --no-legend --plain systemd-timesyncd.service chrony.service ntpsec.service ntp.service openntpd.service) || :
[ "$TIME_SYNC" != managed ] || [ -n "$clocks" ] || PACKAGES="$PACKAGES systemd-timesyncd"
