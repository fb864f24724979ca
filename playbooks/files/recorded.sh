# shellcheck shell=sh
# Goes after remove-agreed.sh in a step: what the step itself no longer wants goes where the record says that it was not
# there before gpustack.
is_agreed() {
  [ "$1" = remove ] && grep -qs "^\"$2\": .*\"before\": \"absent\"" /var/lib/gpustack-cluster/owned.json
}
