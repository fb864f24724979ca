#!/bin/sh
# Print each route of the main table to the pods of another node, how the kernel sends a packet there, from the host and
# from its own pods, and the rules of routing that are not the usual three.
[ -r /run/flannel/subnet.env ] || exit 0
network=$(sed -n 's/^FLANNEL_NETWORK=//p' /run/flannel/subnet.env)
subnet=$(sed -n 's/^FLANNEL_SUBNET=//p' /run/flannel/subnet.env)
ip -4 route show table main root "$network" | while read -r prefix rest; do
  case "$prefix $rest" in */*\ via\ *) ;; *) continue ;; esac
  address=${prefix%/*}
  address=${address%.*}.1
  link=${rest#*dev }
  echo "route $prefix ${link%% *}"
  echo "host $(ip -4 route get "$address" 2>&1 | head -n 1)"
  [ ! -e /sys/class/net/cni0 ] || echo "pods $(ip -4 route get "$address" from "${subnet%.*}.250" iif cni0 2>&1 | head -n 1)"
done
ip -4 rule show | grep -Ev '^(0:.*lookup local|32766:.*lookup main|32767:.*lookup default)' | sed 's/^/rule /'
exit 0
