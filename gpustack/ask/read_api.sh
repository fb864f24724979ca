#!/bin/sh

read_api() (
  set -f
  f=/etc/kubernetes/admin.conf
  [ -r "$f" ] || { echo "open $f: no such file" >&2; exit 1; }
  server=''; ca=''; cert=''; key=''
  while read -r name value; do
    case $name in
      server:) server=$value ;;
      certificate-authority-data:) ca=$value ;;
      client-certificate-data:) cert=$value ;;
      client-key-data:) key=$value ;;
    esac
  done <"$f"
  curl --silent --show-error --fail-early --noproxy '*' --connect-timeout CONNECT_LIMIT --max-time "$((READ_LIMIT * ${TIMEOUT_FACTOR:-1}))" \
    --cacert /dev/fd/6 --cert /dev/fd/7 --key /dev/fd/8 --config - <<U 6<<A 7<<C 8<<K
write-out = "WRITE_OUT"
$2
$(for path in $1; do printf 'url = "%s%s"\n' "$server" "$path"; done)
U
$(printf %s "$ca" | base64 -d)
A
$(printf %s "$cert" | base64 -d)
C
$(printf %s "$key" | base64 -d)
K
)
api() {
  read -r uptime _ </proc/uptime
  printf '\n%s @api %s %s\n' "$M" "$uptime" "$1"
  printf '\n%s !@api\n' "$M" >&2
  read_api "$2" "$3"
  r=$?
  read -r uptime _ </proc/uptime
  printf '\n%s . %d %s\n' "$M" "$r" "$uptime"
}
