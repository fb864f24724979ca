#!/bin/sh
# Joins the cluster, unless the host has joined. The lock waits for a kubeadm that outlived its SSH connection.
# A join that was broken off leaves two files, and kubeadm refuses to begin beside them, or beside a kubelet that still
# runs without its credentials.
exec 9>/run/gpustack-kubeadm.lock
flock --timeout 900 9 || exit 1
unset HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
etc=/etc/kubernetes
[ ! -e $etc/kubelet.conf ] || exit 0
[ -e $etc/pki/ca.key ] || rm -f $etc/bootstrap-kubelet.conf $etc/pki/ca.crt
systemctl stop kubelet
timeout --kill-after=10 900 kubeadm join --config /run/gpustack-join.yaml
