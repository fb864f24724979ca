#!/bin/sh
# Print of each file that the kubelet takes for a static pod the name of its pod, - where it has none in kubeadm's form.
cd /etc/kubernetes/manifests 2>/dev/null || exit 0
for file in *; do
  [ -f "$file" ] || continue
  name=$(sed -nE '/^  name: *([a-z0-9.-]+) *$/{s//\1/p;q;}' "$file") || exit
  printf '%s %s\n' "${name:--}" "$file"
done
