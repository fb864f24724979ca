# shellcheck shell=sh
# Removes the provisioner's manifest; volumes are the operator's data and stay. Follows remove-agreed.sh.
set -eu
drop /etc/kubernetes/gpustack-storage/*
drop_empty /etc/kubernetes/gpustack-storage
drop_empty /etc/kubernetes
