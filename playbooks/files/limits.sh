# shellcheck shell=sh
# limited SECONDS COMMAND…: runs a program, ends it after so many seconds times TIMEOUT_FACTOR, and says so.
# kube ARGUMENTS…: kubectl as the administrator, limited.
# hold_lock FILE SECONDS WHO: waits with descriptor 9 for what outlived its SSH connection, and says for whom.
limited() (
  most=$(($1 * ${TIMEOUT_FACTOR:-1}))
  shift
  code=0
  timeout --kill-after=10 "$most" "$@" || code=$?
  case $code in
    124 | 137) echo "ended after $most s on $(hostname): $(printf '%.200s' "$*" | tr '\n' ' ') (gpustack explain limit-reached)" >&2 ;;
  esac
  exit "$code"
)
kube() (
  export KUBECONFIG=/etc/kubernetes/admin.conf
  limited 60 kubectl "$@"
)
hold_lock() {
  exec 9>"$1"
  flock --timeout $(($2 * ${TIMEOUT_FACTOR:-1})) 9 || {
    echo "$3 of an earlier run is still at work on $(hostname) after $(($2 * ${TIMEOUT_FACTOR:-1})) s: wait for it, or end it (gpustack explain limit-reached)" >&2
    exit 1
  }
}
