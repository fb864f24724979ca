#!/bin/sh
# Runs as PID 1 of a lab host for a moment, then becomes systemd. On v1 systemd-nspawn mounts the controllers read-only.
if [ "$(stat -f -c %T /sys/fs/cgroup)" = tmpfs ]; then
    for controller in /sys/fs/cgroup /sys/fs/cgroup/*/; do
        [ -L "${controller%/}" ] || mount -o remount,bind,rw "${controller%/}"
    done
fi
[ -d /sys/fs/bpf ] && mount -t bpf bpf /sys/fs/bpf
mount --make-rshared /
exec /lib/systemd/systemd "$@"
