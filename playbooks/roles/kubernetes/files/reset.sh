#!/bin/sh
# Takes from the host what step kubernetes put there, but for packages. Follows remove-agreed.sh. Reads KUBELET (`yes`
# where it runs for no other cluster).
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL

if [ "$KUBELET" = yes ]; then
  # Without a cluster it would end and be started again for ever.
  if systemctl -q is-enabled kubelet.service 2>/dev/null; then
    systemctl -q disable kubelet.service
    echo "changed: kubelet does not start at boot"
  fi
  case $(systemctl show -p ActiveState --value kubelet.service) in
    active | activating | reloading)
      systemctl stop kubelet.service
      echo "changed: stopped kubelet" ;;
    failed) systemctl reset-failed kubelet.service ;;
  esac
  if systemctl -q is-active kubepods.slice; then
    systemctl stop kubepods.slice
    echo "changed: stopped kubepods.slice"
  fi
fi

drop /etc/crictl.yaml
if is_agreed remove /etc/systemd/system/kubelet.service.d/20-gpustack-proxy.conf; then
  drop /etc/systemd/system/kubelet.service.d/20-gpustack-proxy.conf
  drop_empty /etc/systemd/system/kubelet.service.d
  systemctl daemon-reload
fi
for folder in kubelet-plugins/volume/exec kubelet-plugins/volume kubelet-plugins ''; do
  drop_empty "/usr/libexec/kubernetes${folder:+/$folder}"
done
drop /etc/apt/sources.list.d/gpustack-kubernetes.sources /etc/apt/keyrings/gpustack-kubernetes.gpg \
  /etc/apt/preferences.d/gpustack-kubernetes.pref
