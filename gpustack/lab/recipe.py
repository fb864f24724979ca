"""What a bare lab host consists of. Every change here makes new seeds."""

import os

# What a minimal server installation has, and no more: what a cluster needs is for the product to install.
INCLUDE = (
    "systemd,systemd-sysv,dbus,udev,openssh-server,sudo,python3,iproute2,iptables,nftables,procps,kmod,iputils-ping,"
    "curl,ca-certificates,gpg"
)
MASKED = (
    "systemd-networkd-wait-online.service getty.target console-getty.service apt-daily.timer apt-daily-upgrade.timer "
    "e2scrub_all.timer fstrim.timer"
)
# A kernel without module support has these built in; with this list `modprobe` of them succeeds as on any other kernel.
BUILT_IN = """\
kernel/fs/overlayfs/overlay.ko
kernel/net/bridge/bridge.ko
kernel/net/bridge/br_netfilter.ko
kernel/drivers/net/vxlan/vxlan.ko
kernel/drivers/net/veth.ko
kernel/net/netfilter/nf_conntrack.ko
kernel/net/netfilter/nf_tables.ko
kernel/net/netfilter/nf_nat.ko
kernel/net/netfilter/xt_comment.ko
kernel/net/ipv4/netfilter/ip_tables.ko
kernel/net/ipv4/netfilter/iptable_nat.ko
kernel/net/ipv4/netfilter/iptable_filter.ko
"""
# Runs with the root as $1 and the directory with certificates, settings and the module list as $2.
CUSTOMIZE = f"""set -e
root=$1 given=$2 kernel={os.uname().release}
mkdir -p "$root/usr/local/share/ca-certificates" "$root/lib/modules/$kernel"
cp "$given"/certificates/* "$root/usr/local/share/ca-certificates/" 2>/dev/null || [ -z "$(ls "$given/certificates")" ]
cp "$given/90machine" "$root/etc/apt/apt.conf.d/90machine"
cp "$given/modules.builtin" "$given/modules.order" "$root/lib/modules/$kernel/"
mv "$root"/etc/apt/sources.list.d/*.sources "$root/etc/apt/sources.list.d/debian.sources"
chroot "$root" depmod "$kernel"
chroot "$root" update-ca-certificates >/dev/null
chroot "$root" useradd --create-home --shell /bin/bash ops
echo 'ops ALL=(ALL) NOPASSWD:ALL' > "$root/etc/sudoers.d/ops"
chmod 440 "$root/etc/sudoers.d/ops"
printf 'PermitRootLogin no\\nPasswordAuthentication no\\n' > "$root/etc/ssh/sshd_config.d/10-keys-only.conf"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/resolv.conf" "$root"/etc/apt/apt.conf.d/99mmdebstrap
: > "$root/etc/machine-id"
chroot "$root" systemctl --quiet enable systemd-networkd ssh
chroot "$root" systemctl --quiet mask {MASKED}
"""
