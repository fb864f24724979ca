#!/bin/sh
# Joins the cluster, unless the host has joined. Follows limits.sh, whose lock waits for a kubeadm that outlived its SSH
# connection. A join that was broken off leaves two files, and kubeadm refuses to begin beside them, or beside a kubelet that still
# runs without its credentials.
hold_lock /run/gpustack-kubeadm.lock 900 kubeadm
unset HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
etc=/etc/kubernetes
[ ! -e $etc/kubelet.conf ] || exit 0
[ -e $etc/pki/ca.key ] || rm -f $etc/bootstrap-kubelet.conf $etc/pki/ca.crt
systemctl stop kubelet
limited 900 kubeadm join --config /run/gpustack-join.yaml
