#!/bin/sh
# Takes from the host what kubeadm and the kubelet made on it, a node of either kind. Follows limits.sh, remove-agreed.sh
# and end-pods.sh. Reads CLUSTER (`yes` where the cluster on the host was agreed on). Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
cd /
hold_lock /run/gpustack-kubeadm.lock 300 kubeadm

# Volumes of pods; the kubelet's folder is often a link to a larger disk. First of all: one that is in use ends it here,
# before anything is removed.
if is_agreed remove /var/lib/kubelet; then
  mounts=$(list_mounts /var/lib/kubelet)
  [ -z "$mounts" ] || printf '%s\n' "$mounts" | while read -r mount; do
    umount "$mount"
    echo "changed: unmounted $mount"
  done
  refuse_mounts /etc/kubernetes /var/lib/kubelet /var/lib/etcd/member /var/lib/cni /run/kubernetes
fi

# kubeadm would empty whole folders, whoever put what into them: it is not asked.
drop /root/.kube/config
etc=/etc/kubernetes
for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do drop "$etc/manifests/$name.yaml"; done
for name in apiserver apiserver-kubelet-client front-proxy-ca front-proxy-client apiserver-etcd-client etcd/ca etcd/server \
  etcd/peer etcd/healthcheck-client; do
  drop "$etc/pki/$name.crt" "$etc/pki/$name.key"
done
drop "$etc/pki/sa.pub" "$etc/pki/sa.key" "$etc/pki/ca.key" "$etc/tmp" /run/kubernetes \
  "$etc/gpustack-kubeadm.yaml" "$etc/gpustack-kubeadm.yaml.unfinished" /var/lib/etcd/member /var/log/pods /var/log/containers
drop_inside /var/lib/kubelet
for name in super-admin bootstrap-kubelet controller-manager scheduler; do drop "$etc/$name.conf"; done
# The last ones tell which cluster it was.
drop "$etc/pki/ca.crt" "$etc/admin.conf" "$etc/kubelet.conf"
for folder in "$etc/pki/etcd" "$etc/pki" "$etc/manifests" "$etc" /var/lib/kubelet /var/lib/etcd /root/.kube; do
  drop_empty "$folder"
done
[ "$CLUSTER" = yes ] || exit 0
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
