#!/bin/sh
# Takes from the host what kubeadm and the kubelet made on it, a node of either kind. Follows limits.sh,
# kept-copies.sh and end-pods.sh. Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
cd /
hold_lock /run/gpustack-kubeadm.lock 300 kubeadm

# Volumes of pods; the kubelet's folder is often a link to a larger disk. First of all: one that is in use ends it here,
# before anything is removed.
mounts=$(list_mounts /var/lib/kubelet)
[ -z "$mounts" ] || printf '%s\n' "$mounts" | while read -r mounted; do
  umount "$mounted"
  echo "changed: unmounted $mounted"
done
refuse_mounts /etc/kubernetes /var/lib/kubelet /var/lib/etcd/member /var/lib/cni /run/kubernetes

# Root's kubeconfig is ours while it equals admin.conf. Making it, we kept the one that was there before.
if cmp -s /root/.kube/config /etc/kubernetes/admin.conf; then
  rm /root/.kube/config
  echo "changed: removed /root/.kube/config"
  before=$(find /root/.kube -maxdepth 1 -name 'config.~[0-9]*~' | sort -V | tail -n 1)
  if [ -n "$before" ]; then
    mv "$before" /root/.kube/config
    echo "changed: put $before back"
  fi
fi

confs=''
for name in admin super-admin kubelet bootstrap-kubelet controller-manager scheduler; do
  confs="$confs /etc/kubernetes/$name.conf"
done
made() {
  # shellcheck disable=SC2086 # words
  for path in $confs /etc/kubernetes/pki/* /etc/kubernetes/manifests/* /var/lib/kubelet/*; do
    [ ! -e "$path" ] || return 0
  done
  return 1
}
# Without a kubeconfig it asks no API. Its phase for etcd would empty /var/lib/etcd, also one that is somebody else's.
if made && command -v kubeadm >/dev/null; then
  limited 300 kubeadm reset --force --cleanup-tmp-dir --kubeconfig /nonexistent \
    --cri-socket unix:///run/containerd/containerd.sock --skip-phases=remove-etcd-member >&2 9>&-
  echo "changed: kubeadm reset"
fi
# What kubeadm leaves, or all of it where there is no kubeadm.
# shellcheck disable=SC2086 # words
drop $confs
drop /etc/kubernetes/pki /etc/kubernetes/manifests/* /etc/kubernetes/tmp /etc/kubernetes/gpustack-kubeadm.yaml \
  /etc/kubernetes/gpustack-kubeadm.yaml.unfinished /var/lib/etcd/member /var/log/pods /var/log/containers
drop /var/lib/kubelet/* /var/lib/kubelet/.[!.]*
for folder in /etc/kubernetes/manifests /etc/kubernetes /var/lib/kubelet /var/lib/etcd /root/.kube; do
  drop_empty "$folder"
done
command -v nft >/dev/null || exit 0
tables=$(nft list tables)
for family in ip ip6; do
  case "
$tables
" in
    *"
table $family kube-proxy
"*)
      nft delete table $family kube-proxy
      echo "changed: deleted table $family kube-proxy" ;;
  esac
done
