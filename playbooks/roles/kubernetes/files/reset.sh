#!/bin/sh
# Takes from the host what step kubernetes put there, but for packages. Follows kept-copies.sh.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export LC_ALL
HEADER='# Written by gpustack; a change here is undone by the next install.'

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

# Ours whole, or lines of ours in a file of the operator's, which is then as it was.
rest() { grep -vE '^(runtime|image)-endpoint:' "$1" || :; }
if [ -e /etc/crictl.yaml ]; then
  first=$(copies /etc/crictl.yaml | head -n 1)
  if [ -n "$first" ] && [ "$(rest /etc/crictl.yaml)" = "$(rest "$first")" ]; then
    cp -p "$first" /etc/crictl.yaml
    copies /etc/crictl.yaml | while read -r copy; do rm "$copy"; done
    echo "changed: /etc/crictl.yaml is as it was"
  fi
  if [ "$(rest /etc/crictl.yaml)" = "$HEADER" ]; then drop /etc/crictl.yaml; fi
fi
if [ -e /etc/systemd/system/kubelet.service.d/20-gpustack-proxy.conf ]; then
  drop /etc/systemd/system/kubelet.service.d/20-gpustack-proxy.conf
  drop_empty /etc/systemd/system/kubelet.service.d
  systemctl daemon-reload
fi
for folder in kubelet-plugins/volume/exec kubelet-plugins/volume kubelet-plugins ''; do
  drop_empty "/usr/libexec/kubernetes${folder:+/$folder}"
done
drop /etc/apt/sources.list.d/gpustack-kubernetes.sources /etc/apt/keyrings/gpustack-kubernetes.gpg \
  /etc/apt/preferences.d/gpustack-kubernetes.pref
