#!/bin/sh
# Print for each place in the kubelet's source that logged an error within five minutes how often it did, and the last one.
command -v journalctl >/dev/null || exit
journalctl -u kubelet --since -5min -n 600 -o cat --no-pager 2>/dev/null |
  awk '/^[EF][0-9][0-9][0-9][0-9] / {count[$4]++; last[$4] = $0} END {for (place in last) print count[place], last[place]}' |
  sort -rn | sed -nE 's/^(.{1500}).{3,}(.{500})$/\1...\2/; 1,6p'
exit 0
