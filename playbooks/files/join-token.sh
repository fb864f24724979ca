#!/bin/sh
# The token that workers join with: there is one at a time, always of the same id, and none between two joins.
# Reads MAKE (`yes`: one in place of what a broken-off join left, and the command of a join is printed; else there is
# none afterwards) and VERSION, of Kubernetes, for which kubeadm would ask the internet.
# Follows limits.sh. The secret half goes to kubeadm through a pipe: it is in no argument and no file.
set -eu
id=gpstck
kube --namespace kube-system delete secret "bootstrap-token-$id" --ignore-not-found
[ "$MAKE" = yes ] || exit 0
secret=$(LC_ALL=C tr -dc a-z0-9 </dev/urandom | head -c 16)
run_limited 60 kubeadm --kubeconfig /etc/kubernetes/admin.conf token create --print-join-command --config /dev/stdin <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: "$VERSION"
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: $id.$secret
  description: "gpustack: workers join, deleted when they have"
  ttl: 15m
  usages: [signing, authentication]
  groups: [system:bootstrappers:kubeadm:default-node-token]
EOF
