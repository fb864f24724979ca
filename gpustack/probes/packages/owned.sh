#!/bin/sh
history() {
  find /var/log/apt -maxdepth 1 -name 'history.log*' | sort -rV | while read -r file; do zcat -f "$file"; done
}
packages=$(history | awk '
  /^Start-Date: / { mine = 0 }
  /^Commandline: / { mine = / gpustack::installs=yes / }
  /^(Install|Remove|Purge): / {
    kind = $1
    sub(/^[A-Za-z]+: /, "")
    n = split($0, entry, /\), /)
    for (i = 1; i <= n; i++) {
      sub(/[: ].*/, "", entry[i])
      if (kind == "Install:") who[entry[i]] = mine; else delete who[entry[i]]
    }
  }
  END { for (name in who) if (who[name]) print name }' | sort)
echo '== history'; printf '%s\n' "$packages"
echo '== states'
# shellcheck disable=SC2086 # words
dpkg-query -Wf '${Package} ${db:Status-Want} ${db:Status-Status}\n' MAIN $packages 2>/dev/null | sort -u
echo '== needs'
dependencies=$(dpkg-query -Wf '${Package} ${db:Status-Status} ${Pre-Depends}, ${Depends}\n') || exit
printf '%s\n' "$dependencies" | awk -v packages="$(echo "$packages" | tr '\n' ' ')" '
  BEGIN { n = split(packages, name, " "); for (i = 1; i <= n; i++) is[name[i]] }
  $2 == "installed" {
    who = $1
    $1 = $2 = ""
    n = split($0, word, /[,|]/)
    for (i = 1; i <= n; i++) {
      sub(/^ */, "", word[i])
      sub(/[ (:].*/, "", word[i])
      if (word[i] in is) print who, word[i]
    }
  }' | sort -u
! systemctl -q is-enabled nftables.service 2>/dev/null || echo 'nftables.service nftables'
if command -v ctr >/dev/null; then
  if systemctl -q is-active containerd; then
    spaces=$(timeout "$((3 * ${TIMEOUT_FACTOR:-1}))" ctr namespaces ls -q) || exit
    for space in $spaces; do
      [ "$space" = k8s.io ] || [ -z "$(ctr -n "$space" containers ls -q; ctr -n "$space" images ls -q)" ] ||
        echo "containerd's-namespace-$space containerd.io"
    done
  elif [ -e /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db ]; then
    echo 'whoever-has-containers-in-the-stopped-containerd containerd.io'
  fi
fi
exit 0
