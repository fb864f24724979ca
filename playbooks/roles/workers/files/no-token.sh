#!/bin/sh
# Removes what a join leaves that holds a token. A kubeconfig for joining another cluster is somebody else's. Reads
# OWNERSHIP. Says what it removed.
set -eu
rm --force --verbose /run/gpustack-join.yaml
remnants=$(python3 -I -c "$OWNERSHIP" remnants /etc/kubernetes/bootstrap-kubelet.conf)
for file in $remnants; do rm --force --verbose "$file"; done
