#!/bin/sh
# Stops the kubelet, which would start pods again, and ends the pods of containerd's namespace k8s.io; containers of
# other namespaces go on running. Goes before the network of the pods is taken away, which containerd needs to end them.
# Follows limits.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
SOCKET=unix:///run/containerd/containerd.sock

# A kubeadm that outlived its SSH connection would make again what is removed here.
hold_lock /run/gpustack-kubeadm.lock 300 kubeadm
case $(systemctl show -p ActiveState --value kubelet.service) in
  active | activating | reloading)
    systemctl stop kubelet.service 9>&-
    echo "changed: stopped kubelet" ;;
esac

command -v ctr >/dev/null || exit 0
if ! systemctl -q is-active containerd; then
  [ -n "$(ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null)" ] || exit 0
  systemctl start containerd 9>&-
  echo "changed: started containerd, which has pods to end"
fi
containers=$(run_limited 30 ctr -n k8s.io containers ls -q) || exit
[ -n "$containers" ] || exit 0
end_containers() {
  run_limited 60 xargs -r -n 1 -P 32 crictl --runtime-endpoint "$SOCKET" stop --timeout 10 >/dev/null || :
}
# One that restarts answers after some seconds (RestartSec of its unit is 5), and lists nothing until then.
wait_for_containerd() {
  read -r uptime _ </proc/uptime
  deadline=$((${uptime%.*} + 60 * ${TIMEOUT_FACTOR:-1}))
  while ! run_limited 10 ctr -n k8s.io containers ls -q >/dev/null 2>&1; do
    read -r uptime _ </proc/uptime
    [ "${uptime%.*}" -lt "$deadline" ] || {
      echo "containerd has not answered for $((60 * ${TIMEOUT_FACTOR:-1})) s on $(hostname): systemctl status containerd" >&2
      exit 1
    }
    sleep 1
  done
}
# Each program is asked to end first: etcd and databases write what they have. NVIDIA's toolkit is the last: as it ends,
# it takes away its runtime, which containers with GPUs need to end, and restarts containerd.
if running=$(run_limited 30 crictl --runtime-endpoint "$SOCKET" ps -q 2>/dev/null); then
  toolkit=$(run_limited 30 crictl --runtime-endpoint "$SOCKET" ps -q --name '^nvidia-container-toolkit-ctr$' || :)
  printf '%s\n' "$running" | grep -vxF "${toolkit:-none}" | end_containers
  printf '%s\n' "$toolkit" | end_containers
  wait_for_containerd
  run_limited 120 crictl --runtime-endpoint "$SOCKET" --timeout "$((60 * ${TIMEOUT_FACTOR:-1}))s" rmp --all --force >/dev/null || :
fi
# What containerd's Kubernetes interface does not know or cannot end.
attempts=0
while wait_for_containerd; containers=$(run_limited 30 ctr -n k8s.io containers ls -q) || exit; [ -n "$containers" ]; do
  attempts=$((attempts + 1))
  [ "$attempts" -le 5 ] || { printf 'containers that do not end:\n%s\n' "$containers" >&2; exit 1; }
  # A shim that hangs ends nothing any more: without it containerd ends what it had.
  [ "$attempts" -lt 2 ] || printf '%s\n' "$containers" | while read -r id; do
    ! pkill -KILL -f "containerd-shim-runc-v2 -namespace k8s.io -id $id" || echo "changed: killed the shim of $id, which hung"
  done
  run_limited 30 ctr -n k8s.io tasks ls -q | run_limited 60 xargs -r -n 1 ctr -n k8s.io tasks rm --force >/dev/null || :
  run_limited 30 ctr -n k8s.io containers ls -q | run_limited 60 xargs -r -n 1 ctr -n k8s.io containers rm || :
done
echo "changed: ended the pods"
