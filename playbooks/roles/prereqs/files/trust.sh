#!/bin/sh
# Lets the host trust the CAs of the spec, which egress.sh has written, and no longer those that it removed. A file gets
# the time since which it is trusted: a containerd that started before does not know the CA. On a host without
# ca-certificates nothing is done: the package does the same when it is installed.
# Says `changed: …` for what it did.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
certificates=/etc/ssl/certs/ca-certificates.crt
is_trusted() {
  awk '/^-----BEGIN CERT/ { body = ""; next }
    /^-----END CERT/ { if (FILENAME == ARGV[1]) trusted[body]; else if (!(body in trusted)) exit 1 }
    { body = body $0 }' "$certificates" "$1" 2>/dev/null
}
command -v update-ca-certificates >/dev/null || exit 0
fresh='' missing_names=''
for name in gpustack-proxy gpustack-mirror; do
  file=/usr/local/share/ca-certificates/$name.crt
  if [ -e "$file" ]; then
    is_trusted "$file" || fresh="$fresh $file"
  elif [ -L "/etc/ssl/certs/$name.pem" ]; then
    missing_names="$missing_names $name"
  fi
done
[ -n "$fresh$missing_names" ] || exit 0
# Without --fresh the link of a file that is gone stays.
update-ca-certificates ${missing_names:+--fresh} >/dev/null
for file in $fresh; do
  is_trusted "$file" || {
    echo "$file is not in $certificates after update-ca-certificates on $(hostname): update-ca-certificates --verbose says why" >&2
    exit 1
  }
  touch "$file"
  echo "changed: trusted: $file"
done
if [ -n "$missing_names" ]; then
  echo "changed: no longer trusted:$missing_names"
  # Where the proxy left the spec as well, its variables are gone, and containerd does not start while its unit names
  # their file. Step containerd removes that from the unit, and restarts it.
  [ -e /etc/systemd/system/containerd.service.d/gpustack-proxy.conf ] && [ ! -e /etc/gpustack-cluster/proxy.env ] ||
    systemctl try-restart containerd
fi
