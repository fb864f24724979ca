#!/bin/sh
# Print how many packets the kernel has dropped since the boot since the way back to their sender is by another link, and
# the links on which it does so: rp_filter is 1 (strict), as the larger of a link's own and that of all links.
awk '/^TcpExt:/ && !count {count = split($0, names, " "); next}
  /^TcpExt:/ {split($0, values, " "); for (i = 2; i <= count; i++) if (names[i] == "IPReversePathFilter") print "drops", values[i]}' /proc/net/netstat
host_filter=$(cat /proc/sys/net/ipv4/conf/all/rp_filter) || exit
for path in /proc/sys/net/ipv4/conf/*/rp_filter; do
  link=${path%/rp_filter}
  link=${link##*/}
  case $link in all | default | lo | veth*) continue ;; esac
  filter=$(cat "$path") || continue
  [ "$host_filter" -le "$filter" ] || filter=$host_filter
  [ "$filter" != 1 ] || echo "strict $link"
done
exit 0
