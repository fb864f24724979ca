# shellcheck shell=sh
# limited SECONDS COMMAND…: runs a program, ends it after so many seconds times TIMEOUT_FACTOR, and says so. One that
# somebody else kills is none of that: the kernel does so for want of memory.
# kube ARGUMENTS…: kubectl as the administrator, limited.
# hold_lock FILE SECONDS WHO: waits with descriptor 9 for what outlived its SSH connection, and says for whom.
limited() (
  most=$(($1 * ${TIMEOUT_FACTOR:-1}))
  shift
  code=0
  read -r began _ </proc/uptime
  timeout --kill-after=10 "$most" "$@" || code=$?
  read -r now _ </proc/uptime
  case $code in
    124) how="ended after $most s" ;;
    137) how="killed after $((${now%.*} - ${began%.*})) s" ;;
    *) exit "$code" ;;
  esac
  echo "$how on $(hostname): $(printf '%.200s' "$*" | tr '\n' ' ') (gpustack explain limit-reached)" >&2
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
