#!/bin/sh
# customize.sh ROOT GIVEN: makes of a minimal Debian root what a lab host starts from.
# GIVEN holds certificates/, own-sources, 90machine (apt settings) and the list of modules that the kernel has built in.
set -eu
root=$1 given=$2 kernel=$(uname -r)

for certificate in "$given"/certificates/*.crt; do
    [ ! -f "$certificate" ] || cp "$certificate" "$root/usr/local/share/ca-certificates/"
done
chroot "$root" update-ca-certificates > /dev/null
cp "$given/90machine" "$root/etc/apt/apt.conf.d/90machine"
# A suite that only some packages were taken from is none of the host's.
rm "$root"/etc/apt/sources.list.d/*.sources
rm -f "$root/etc/apt/preferences.d/newer"
cp "$given/own-sources" "$root/etc/apt/sources.list.d/debian.sources"

# A kernel without module support has these built in; with the list `modprobe` of them succeeds as on any other kernel.
# A virtual machine has its own kernel's.
if [ -f "$given/modules.builtin" ]; then
    mkdir -p "$root/lib/modules/$kernel"
    : > "$root/lib/modules/$kernel/modules.order"
    cp "$given/modules.builtin" "$root/lib/modules/$kernel/modules.builtin"
    chroot "$root" depmod "$kernel"
fi

chroot "$root" useradd --create-home --shell /bin/bash ops
echo 'ops ALL=(ALL) NOPASSWD:ALL' > "$root/etc/sudoers.d/ops"
chmod 440 "$root/etc/sudoers.d/ops"
printf 'PermitRootLogin no\nPasswordAuthentication no\n' > "$root/etc/ssh/sshd_config.d/10-keys-only.conf"

# Each host gets its own.
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/resolv.conf"
: > "$root/etc/machine-id"
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"

chroot "$root" systemctl --quiet enable systemd-networkd ssh
chroot "$root" systemctl --quiet mask systemd-networkd-wait-online.service getty.target console-getty.service \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer
