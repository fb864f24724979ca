# shellcheck shell=sh
# run_limited SECONDS COMMAND…: runs a program, ends it after so many seconds times TIMEOUT_FACTOR, and says so. The status
# alone does not tell: xargs, too, ends with 124, and the kernel kills with 137 where it has no memory.
# kube ARGUMENTS…: kubectl as the administrator, limited.
# hold_lock FILE SECONDS WHO: waits with descriptor 9 for what outlived its SSH connection, and says for whom.
run_limited() (
  seconds=$(($1 * ${TIMEOUT_FACTOR:-1}))
  shift
  code=0
  read -r began _ </proc/uptime
  timeout --kill-after=10 "$seconds" "$@" || code=$?
  read -r uptime _ </proc/uptime
  command="$(printf '%.200s' "$*" | tr '\n' ' ')"
  case $code in 124 | 137)
    if [ $((${uptime%.*} - ${began%.*})) -ge "$seconds" ]; then
      echo "ended after its limit of $seconds s on $(hostname): $command (gpustack explain limit-reached)" >&2
    elif [ "$code" = 137 ]; then
      echo "killed by another program or the kernel on $(hostname): $command; journalctl -k shows whether memory was short" >&2
    fi ;;
  esac
  exit "$code"
)
kube() (
  export KUBECONFIG=/etc/kubernetes/admin.conf
  run_limited 60 kubectl "$@"
)
hold_lock() {
  exec 9>"$1"
  set -- "$(($2 * ${TIMEOUT_FACTOR:-1}))" "$3"
  flock --timeout "$1" 9 || {
    echo "$2 of an earlier run is still at work on $(hostname) after $1 s: wait for it, or end it (gpustack explain limit-reached)" >&2
    exit 1
  }
}
