#!/bin/sh
# Lets containerd start at boot. Says `restart: …` when it must be started, or started anew, because it does not run,
# runs with settings that are older than its files, or with others than ours. Says `changed: …` for what it did.
# Reads RESTRICT (`true` or `false`: restrict_oom_score_adj).
set -eu
systemctl --quiet is-enabled containerd || {
  systemctl --quiet enable containerd
  echo "changed: enabled"
}
systemctl --quiet is-active containerd || {
  echo "restart: containerd does not run"
  exit 0
}
# For the zone of TZ; only UTC's name means the same to every date(1). `--timestamp=unix` needs systemd 251.
start_time=$(TZ=UTC systemctl show -p ActiveEnterTimestamp --value containerd)
start_time=$(date -d "$start_time" +%s)
for file in /etc/containerd/config.toml /etc/containerd/conf.d/*.toml /etc/gpustack-cluster/proxy.env \
  /usr/local/share/ca-certificates/gpustack-*.crt; do
  [ -e "$file" ] || continue
  [ "$(stat -c %Y "$file")" -le "$start_time" ] || echo "restart: $file is newer than the running containerd"
done
# Of its runtimes that one which pods get that ask for none: others, as those of NVIDIA, have settings of their own.
settings=$(crictl --runtime-endpoint unix:///run/containerd/containerd.sock info | python3 -I -c '
import json, sys
config = json.load(sys.stdin)["config"]
print("SystemdCgroup", config["containerd"]["runtimes"]["runc"]["options"].get("SystemdCgroup"))
cni = config["cni"]
print("binDirs", *(cni.get("binDirs") or [cni["binDir"]]))
print("restrictOOMScoreAdj", str(config["restrictOOMScoreAdj"]).lower())') || settings=
for setting in "SystemdCgroup True" "binDirs /opt/cni/bin" "restrictOOMScoreAdj $RESTRICT"; do
  printf '%s\n' "$settings" | grep -qxF "$setting" || echo "restart: the running containerd does not say $setting"
done
