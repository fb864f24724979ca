#!/bin/sh
module=
if [ -e /proc/driver/nvidia/version ]; then
  read -r module </proc/driver/nvidia/version
elif [ -e /sys/module/nvidia/version ]; then
  read -r module </sys/module/nvidia/version
fi
echo "module ${module:--}"
library=
for link in /usr/lib/*-linux-gnu/libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so.1 /usr/lib/libnvidia-ml.so.1; do
  [ ! -e "$link" ] || { library=$(readlink -f "$link"); break; }
done
library=${library##*/}
echo "library ${library:--}"
[ ! -d /sys/module/nouveau ] || echo nouveau-loaded
settings=$(modprobe --showconfig) || exit
case "
$settings
" in *'
blacklist nouveau
'*) echo nouveau-blacklisted ;; esac
firmware=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
if [ -e "$firmware" ] && [ "$(od -An -tu1 -j4 -N1 "$firmware" | tr -d ' ')" = 1 ]; then
  echo secure-boot
  key=$(sed -n "s,^ *mok_certificate=[\"']*\(/[A-Za-z0-9_.+/-]*\)[\"' ]*$,\1,p" \
    /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf 2>/dev/null | tail -n 1)
  if [ -z "$key" ]; then
    key=/var/lib/dkms/mok.pub
    ! grep -qx 'ID=ubuntu' /etc/os-release || key=/var/lib/shim-signed/mok/MOK.der
  fi
  echo "key $key"
  # mokutil.c, print_skip_message: a key of the firmware's own list is "in db", one of shim's "enrolled".
  [ ! -e "$key" ] || ! mokutil --test-key "$key" 2>/dev/null | grep -Eq 'is already (enrolled|in db)$' || echo key-enrolled
fi
[ ! -e /usr/bin/nvidia-uninstall ] || echo uninstaller
# Only where the step installs packages of a driver does it write this file, and it records that before it begins.
guard=/etc/apt/apt.conf.d/52gpustack-nvidia-driver
installer=others
case $(sed -n "s,^\"$guard\": ,,p" /var/lib/gpustack-cluster/owned.json 2>/dev/null) in
  *'"after": "file '*) installer=gpustack ;;
  *'"after": ""'*) [ ! -e "$guard" ] || installer=gpustack ;;
esac
echo "installer $installer"
unit=$(systemctl show -p LoadState,ActiveState nvidia-persistenced.service) || exit
case $unit in
  *LoadState=not-found*) echo 'persistence none' ;;
  *ActiveState=active*) echo 'persistence active' ;;
  *) echo 'persistence inactive' ;;
esac
