#!/bin/sh
# Lets the toolkit describe the GPUs for CDI where its file does not name as many as GPUS, which are those of the host
# for Kubernetes. Units of the package do so at boot. Says `changed: …` for what it did.
set -eu
FILE=/var/run/cdi/nvidia.yaml
count_gpus() { sed -n 's/^ *-\{0,1\} *name: "\{0,1\}\(GPU-[^"]*\)"\{0,1\}$/\1/p' "$FILE" 2>/dev/null | sort -u | grep -c . || :; }
# What is in /etc/cdi counts as well, and is an administrator's.
[ ! -e /etc/cdi/nvidia.yaml ] || exit 0
[ "$(count_gpus)" != "$GPUS" ] || exit 0
systemctl -q restart nvidia-cdi-refresh.service 2>/dev/null || :
if [ "$(count_gpus)" != "$GPUS" ]; then
  mkdir -p /var/run/cdi
  message=$(nvidia-ctk --quiet cdi generate --output="$FILE" 2>&1) || {
    echo "the container toolkit cannot describe the GPUs on $(hostname): $message" >&2
    exit 1
  }
fi
echo "changed: $FILE"
