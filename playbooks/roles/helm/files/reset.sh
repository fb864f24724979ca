# shellcheck shell=sh
# Removes Helm and the charts it was given. Follows kept-copies.sh.
set -eu
drop /usr/local/lib/gpustack/helm /usr/local/lib/gpustack/helm.new /var/lib/gpustack-cluster/charts
drop_empty /usr/local/lib/gpustack
drop_empty /var/lib/gpustack-cluster
