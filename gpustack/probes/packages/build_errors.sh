#!/bin/sh
cd /var/lib/dkms 2>/dev/null || exit 0
for log in */*/build/make.log; do
  [ -e "$log" ] || continue
  module=${log%/build/make.log} kernel=$(sed -n '1s/.* for kernel \([^ ]*\).*/\1/p' "$log")
  output=$(tr -cd '\11\12\40-\176' <"$log" | grep -E 'error: |denied|not found|No such file|[*][*][*] ' | head -n 2)
  [ -z "$output" ] || printf '%s\n' "$output" | sed "s|^|$module ${kernel:--} |"
done
exit 0
