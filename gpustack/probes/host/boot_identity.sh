#!/bin/sh
# Of a container boot_id is that of its machine, and the start of process 1 is its own. Field 22 of proc_pid_stat(5),
# whose field 2 is in parentheses and may have anything in it.
read -r id </proc/sys/kernel/random/boot_id || exit
stat=$(cat /proc/1/stat) || exit
# shellcheck disable=SC2086 # the fields are words
set -- ${stat##*) }
read -r uptime _ </proc/uptime || exit
reboot_required=no
[ ! -e /run/reboot-required ] || reboot_required=yes
echo "$id-${20} $(($(date +%s) - ${uptime%.*} + ${20} / $(getconf CLK_TCK))) $reboot_required"
