#!/bin/sh
# Takes the pod network from the host: links, routes, files. Follows remove-agreed.sh and end-pods.sh.
# Reads PODS (the network of the pods) and CLUSTER (`yes` where the cluster on the host was agreed on).
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
ENV=/run/flannel/subnet.env
if [ -e "$ENV" ]; then
  network=$(sed -n 's/^FLANNEL_NETWORK=//p' "$ENV")
  PODS=${network:-$PODS}
fi

delete() { # LINK
  ip link delete "$1"
  echo "changed: deleted link $1"
}
if [ "$CLUSTER" = yes ]; then
  # A bridge of this name with an address elsewhere is somebody else's.
  if [ -n "$(ip -4 -o addr show dev cni0 to "$PODS" 2>/dev/null)" ]; then
    ip -o link show master cni0 | sed -n 's/^[0-9]*: \(veth[^@:]*\)[@:].*/\1/p' | while read -r veth; do
      namespace=$(ip -o link show dev "$veth" | sed -n 's/.* link-netns \(cni-[^ ]*\).*/\1/p')
      delete "$veth"
      # A process in it would keep it: then it is not left over.
      if [ -n "$namespace" ] && [ -z "$(ip netns pids "$namespace")" ]; then
        ip netns delete "$namespace"
        echo "changed: deleted network namespace $namespace"
      fi
    done
    delete cni0
  fi
  [ ! -e /sys/class/net/flannel.1 ] || delete flannel.1
  # Those of the backend host-gw; others went with their link.
  ip -4 route show root "$PODS" | sed -n 's/^\([0-9./]* via [0-9.]* dev [^ ]*\).*/\1/p' | while read -r route; do
    # shellcheck disable=SC2086 # words
    ip -4 route delete $route
    echo "changed: deleted route $route"
  done
fi

# The folder net.d stays, even empty: containerd ends when it goes. Files of others stay in it.
drop /etc/cni/net.d/10-flannel.conflist
dpkg -S /opt/cni/bin/flannel >/dev/null 2>&1 || drop /opt/cni/bin/flannel
drop /var/lib/cni/flannel /var/lib/cni/networks/cbr0 /etc/kubernetes/gpustack-flannel/*
drop_matches '/var/lib/cni/results/cbr0-*'
for folder in /var/lib/cni/networks /var/lib/cni/results /var/lib/cni /etc/kubernetes/gpustack-flannel /etc/kubernetes; do
  drop_empty "$folder"
done
# Last, since it tells which network was ours.
drop /run/flannel
