#!/bin/sh
# Print the socket of the runtime that the kubelet uses, and the name servers and the domain that it gives pods; nothing
# where it sets none. Of a kubelet that runs, print the name under which it looks for its node, and that of the node of its
# certificate.
# A flag of the running kubelet comes before its file.
file=/var/lib/kubelet/config.yaml
[ -e "$file" ] || exit 0
pid=$(systemctl show -p MainPID --value kubelet) || exit
flags=$([ "${pid:-0}" -eq 0 ] || tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null)
awk -v flags="$flags" '
  function clean(text) { sub(/[ \t]#.*/, "", text); gsub(/["'\''\[\], \t]+/, " ", text); gsub(/^ +| +$/, "", text); return text }
  /^[^ #-]/ { key = $1 }
  key == "containerRuntimeEndpoint:" && /^c/ { $1 = ""; socket = clean($0) }
  key == "clusterDomain:" && /^c/ { $1 = ""; domain = clean($0) }
  key == "clusterDNS:" { if (/^c/) $1 = ""; else sub(/^ *- */, ""); servers = servers " " clean($0) }
  END {
    n = split(flags, flag, "\n")
    for (i = 1; i <= n; i++) {
      if (sub(/^--container-runtime-endpoint=/, "", flag[i])) socket = flag[i]
      if (sub(/^--cluster-domain=/, "", flag[i])) domain = flag[i]
      if (sub(/^--cluster-dns=/, "", flag[i])) { gsub(/,/, " ", flag[i]); servers = flag[i] }
    }
    if (socket != "") print "socket", socket
    n = split(servers, server, " ")
    for (i = 1; i <= n; i++) print "server", server[i]
    if (domain != "") print "domain", domain
  }' "$file"
[ -n "$flags" ] || exit 0
name=$(echo "$flags" | sed -n 's/^--hostname-override=//p')
[ -n "$name" ] || name=$(tr '[:upper:]' '[:lower:]' </proc/sys/kernel/hostname)
echo "name $name"
openssl x509 -noout -subject -nameopt multiline -in /var/lib/kubelet/pki/kubelet-client-current.pem 2>/dev/null |
  sed -nE 's/^ *commonName *= *system:node:([^ ]+)$/node \1/p'
exit 0
