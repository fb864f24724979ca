#!/bin/sh
# Joins the cluster, unless the host has joined. Follows limits.sh, whose lock waits for a kubeadm that outlived its SSH
# connection. A join that was broken off leaves two files, and kubeadm refuses to begin beside them, or beside a kubelet
# that still runs without its credentials. A CA that is not the recorded one is somebody else's, and kubeadm says so. The
# data of the cluster is recorded as ours before its first byte.
# Reads OWNERSHIP, OWNERSHIP_REQUEST and CLUSTER (the digest of the CA).
hold_lock /run/gpustack-kubeadm.lock 900 kubeadm
etc=/etc/kubernetes
[ ! -e $etc/kubelet.conf ] || exit 0
remnants=$(python3 -I -c "$OWNERSHIP" remnants $etc/bootstrap-kubelet.conf $etc/pki/ca.crt) || exit
for file in $remnants; do rm -f "$file"; done
printf '%s' "$OWNERSHIP_REQUEST" | python3 -I -c "$OWNERSHIP" cluster "$CLUSTER" || exit
systemctl stop kubelet
run_limited 900 kubeadm join --config /run/gpustack-join.yaml
