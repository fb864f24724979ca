#!/bin/sh
# Runs as PID 1 of a lab host for a moment, then becomes systemd. On v1 systemd-nspawn mounts the controllers read-only.
if [ "$(stat -f -c %T /sys/fs/cgroup)" = tmpfs ]; then
    for controller in /sys/fs/cgroup /sys/fs/cgroup/*/; do
        [ -L "${controller%/}" ] || mount -o remount,bind,rw "${controller%/}"
    done
fi
[ -d /sys/fs/bpf ] && mount -t bpf bpf /sys/fs/bpf
mount --make-rshared /
# A host with simulated GPUs sees their PCI functions in place of the machine's.
[ ! -d /var/lib/simulated-gpus/pci ] || mount --bind /var/lib/simulated-gpus/pci /sys/bus/pci/devices
exec /lib/systemd/systemd "$@"
