# shellcheck shell=sh
# Brings about now what a boot would: the module is built for this kernel and the next one, loaded, and kept busy by
# nvidia-persistenced; FABRIC is the Fabric Manager's unit where one is needed. Follows build-log.sh. Says `changed: …` for what it did.
running=$(uname -r)
newest=$(find /boot -maxdepth 1 -name 'vmlinuz-*' | sed 's,.*/vmlinuz-,,' | sort -V | tail -n 1)
has_module() { modinfo -k "$1" nvidia >/dev/null 2>&1; }
for kernel in "$running" $newest; do
  if command -v dkms >/dev/null && [ -e "/lib/modules/$kernel/build/Makefile" ] && ! has_module "$kernel"; then
    dkms autoinstall -k "$kernel" >/dev/null
    echo "changed: built for $kernel"
  fi
done

# With nouveau on the GPUs nothing can be loaded before the next boot; the checks say so.
[ ! -d /sys/module/nouveau ] || exit 0
if [ ! -e /proc/driver/nvidia/version ] && [ ! -e /sys/module/nvidia/version ]; then
  if ! message=$(modprobe nvidia 2>&1); then
    echo "module nvidia was not loaded on $(hostname): $message" >&2
    has_module "$running" || echo "there is none for the kernel $running; its headers belong in /lib/modules/$running/build" >&2
    exit 1
  fi
  echo "changed: loaded nvidia"
fi
modprobe -q nvidia-uvm || :
for unit in nvidia-persistenced $FABRIC; do
  systemctl cat "$unit.service" >/dev/null 2>&1 && ! systemctl -q is-active "$unit.service" || continue
  systemctl -q enable "$unit.service" 2>/dev/null || :
  systemctl start "$unit.service"
  echo "changed: started $unit"
done
