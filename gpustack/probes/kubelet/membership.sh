#!/bin/sh
echo '== cluster'
sed -n 's/^current-context: .*@//p' /etc/kubernetes/admin.conf 2>/dev/null
echo '== node'
openssl x509 -noout -subject -in /var/lib/kubelet/pki/kubelet-client-current.pem 2>/dev/null
echo '== made'
has_config=no
for file in CONFIG UNFINISHED; do
  [ ! -e "$file" ] || has_config=yes
done
echo $has_config
echo '== etcd'
if [ -e /var/lib/etcd/member ]; then echo yes; else echo no; fi
echo '== pods'
if command -v crictl >/dev/null && systemctl -q is-active containerd; then
  if pods=$(timeout "$((3 * ${TIMEOUT_FACTOR:-1}))" crictl --runtime-endpoint SOCKET pods --state Ready 2>/dev/null); then
    printf '%s\n' "$pods" | awk -F '   *' 'NR > 1 {print $5 "/" $4}'
  elif [ -n "$(ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null)" ]; then
    echo unknown
  fi
elif [ -n "$(ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null)" ]; then
  echo unknown
fi
exit 0
