#!/bin/sh
# Print the flags in the manifests of kubeadm's components, each as `COMPONENT --flag=value`; nothing on a worker.
cd /etc/kubernetes/manifests 2>/dev/null || exit 0
# shellcheck disable=SC2043 # they are several
for component in COMPONENTS; do
  [ -r "$component.yaml" ] || continue
  sed -nE "s/^ +- (--[a-z0-9-]+(=[^ ].*)?)\$/$component \\1/p" "$component.yaml" || exit
done
