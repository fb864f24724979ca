#!/bin/sh
# Removes what containerd stored, once its package is gone. Follows remove-agreed.sh. Says `changed: …` for what it did.
set -eu
! dpkg-query -Wf '${db:Status-Status}' containerd.io 2>/dev/null | grep -qx installed || exit 0
drop /var/lib/containerd /run/containerd
for folder in /opt/containerd/bin /opt/containerd/lib /opt/containerd /etc/containerd; do drop_empty "$folder"; done
