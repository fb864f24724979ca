# shellcheck shell=sh
# is_agreed for steps, after remove-agreed.sh where that is read: what a step itself no longer wants goes where the record
# of this machine says that it was not there before gpustack and is as a step left it. Reads OWNERSHIP.
is_agreed() {
  [ "$1" = remove ] && [ -e "${OWNERSHIP_ROOT:-}$2" ] &&
    [ "$(python3 -I -c "${OWNERSHIP:?}" removable "$2")" = "remove $2" ]
}
