#!/bin/sh
case $CONTAINERD in *.*.*) exit 0 ;; esac
case $(dpkg-query -Wf '${db:Status-Status}' containerd.io 2>/dev/null) in installed) exit 0 ;; esac
# shellcheck source=/dev/null
. /etc/os-release || exit
root=$(printf '%s\n' "$CONTAINERD_ROOT" | sed "s/{os}/$ID/")
index=$(proxy_setting "$root" | curl -fsSL --config - --connect-timeout 3 -m "$((6 * ${TIMEOUT_FACTOR:-1}))" \
  "$root/dists/$VERSION_CODENAME/stable/binary-$(dpkg --print-architecture)/Packages.gz" | gunzip) || exit
printf '%s\n' "$index" | awk -v line="$CONTAINERD." 'BEGIN { RS = ""; FS = "\n" } {
  name = version = file = ""
  for (i = 1; i <= NF; i++) {
    value = $i; sub(/^[^:]*: */, "", value)
    if ($i ~ /^Package:/) name = value
    if ($i ~ /^Version:/) version = value
    if ($i ~ /^Filename:/) file = value
  }
  if (name == "containerd.io" && index(version, line) == 1 && version !~ /~(alpha|beta|rc)/) print version, file
}' | sort -rV | head -n 3 | while read -r version file; do
  code=$(proxy_setting "$root" | curl -sIL --config - -m "$((3 * ${TIMEOUT_FACTOR:-1}))" -o /dev/null -w '%{http_code}' "$root/$file") || :
  echo "$version $code"
  [ "$code" = 404 ] || break
done
exit 0
