# shellcheck shell=sh
# Removes Helm and the charts it was given. Follows remove-agreed.sh.
set -eu
drop /usr/local/lib/gpustack/helm /var/lib/gpustack-cluster/charts/*
drop_empty /var/lib/gpustack-cluster/charts
drop_empty /usr/local/lib/gpustack
