#!/bin/sh
# Removes what a join leaves that holds a token. A kubeconfig for joining that was there before gpustack is somebody
# else's. Follows recorded.sh. Says what it removed.
set -eu
rm --force --verbose /run/gpustack-join.yaml
file=/etc/kubernetes/bootstrap-kubelet.conf
! is_agreed remove "$file" || rm --force --verbose "$file"
