# shellcheck shell=sh
# is_agreed for steps, after remove-agreed.sh where that is read: what a step itself no longer wants goes where the record
# says that it was not there before gpustack. A step records what it may write before it does, so there may be nothing.
is_agreed() {
  [ "$1" = remove ] && [ -e "$2" ] && grep -qs "^\"$2\": .*\"before\": \"absent\"" /var/lib/gpustack-cluster/owned.json
}
