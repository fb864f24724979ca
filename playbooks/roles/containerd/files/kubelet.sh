#!/bin/sh
# A kubelet asks containerd for its cgroup driver when it starts, and keeps to it. One that was told another than systemd
# starts no pod from now on: it is started anew, which leaves running pods alone. Says `changed: …` for what it did.
set -eu
systemctl --quiet is-active kubelet || exit 0
invocation=$(systemctl show -p InvocationID --value kubelet)
driver=$(journalctl "_SYSTEMD_INVOCATION_ID=$invocation" -o cat --no-pager 2>/dev/null | head -n 2000 |
  sed -n 's/.*"Using cgroup driver setting received from the CRI runtime" cgroupDriver="\([a-z]*\)".*/\1/p' | head -n 1)
case $driver in '' | systemd) exit 0 ;; esac
systemctl restart kubelet
echo "changed: started the kubelet anew, which had taken $driver"
