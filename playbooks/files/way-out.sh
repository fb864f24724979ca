# shellcheck shell=sh disable=SC2034
# Asks for one file through the proxy of the spec before anything of the spec is on the host: a proxy that refuses is told
# while nothing has changed. Reads URL, and on standard input the lines of egress.sh, which may hold logins: these are in
# variables of this shell, and for apt in a file that only root reads and that goes at the end. Asks nothing where the host
# has all of those files. Follows fetch.sh.
set -eu
umask 077
certificates=/etc/ssl/certs/ca-certificates.crt
proxy_settings='' mirror_login='' authorities='' apt_settings='' apt_login='' different=''
while read -r path mode text; do
  [ -n "$path" ] && [ "$mode" != - ] || continue
  text=$(printf '%s' "$text" | base64 -d)
  [ "$(cat "$path" 2>/dev/null)" = "$text" ] || different=yes
  case $path in
    */proxy.env) proxy_settings=$text ;;
    */gpustack-mirror.conf) mirror_login=$text ;;
    */99gpustack-proxy) apt_settings=$text ;;
    */gpustack-proxy.conf) apt_login=$text ;;
    */ca-certificates/*) authorities=$authorities$text'
' ;;
  esac
done
[ -n "$different" ] || exit 0

# As fetch does, by apt alone, on a host without curl or without CAs: packages of this step bring both. Nothing of the file
# is used, so its server may have any certificate, and gets no login.
fetch_by_apt() { # URL FILE
  mkdir "$FRESH/login"
  printf '%s\n' "$apt_login" >"$FRESH/login/proxy.conf"
  printf '%s\n' "$apt_settings" >"$FRESH/settings"
  limit=$((30 * ${TIMEOUT_FACTOR:-1})) host=${1#*://} host=${host%%/*} rc=22 status=''
  if output=$(LC_ALL=C /usr/lib/apt/apt-helper -c "$FRESH/settings" -o "Dir::Etc::netrcparts=$FRESH/login" \
    -o Acquire::Retries=0 -o "Acquire::http::Timeout=$limit" -o "Acquire::https::Timeout=$limit" \
    -o Acquire::https::Verify-Peer=false download-file "$1" "$2" 2>&1); then
    return 0
  fi
  reason=$(printf '%s\n' "$output" | sed -n 's/^E: Failed to fetch [^ ]*  *//p')
  case $reason in
    401\ *) exit 0 ;;
    'Invalid response from proxy: HTTP/'*) reason=${reason#*HTTP/* } status="${reason%% *} 000" ;;
    [45][0-9][0-9]\ *) status="000 ${reason%% *}" ;;
    'Could not resolve '*) rc=5 ;;
    'Could not connect '* | 'Unable to connect '*) rc=7 ;;
    'Could not handshake'*) rc=35 ;;
    'Connection timed out'*) rc=28 ;;
    *) refuse "$1" "apt said: ${reason:-$output}; look at proxy of the spec"; return ;;
  esac
  refuse "$1" "$(advice "$rc" "${host%:*}" "$status" "$2" "$1")"
}

FRESH=$(mktemp -d)
trap 'rm -rf "$FRESH"' EXIT
if [ -n "$authorities" ]; then
  { cat "$certificates" 2>/dev/null || :; printf '%s' "$authorities"; } >"$FRESH/authorities"
  authorities=$FRESH/authorities
fi
ask() {
  if command -v curl >/dev/null && case $URL in https:*) [ -s "$certificates" ] ;; esac; then
    fetch "$URL" "$FRESH/file"
  else
    fetch_by_apt "$URL" "$FRESH/file"
  fi
}
if ask; then
  case $URL in
    */SHA256SUMS) expected='^(# simulated: |[0-9a-f]{64}  )' ;;
    *) expected='^-----BEGIN PGP PUBLIC KEY BLOCK-----' ;;
  esac
  ! head -n 1 "$FRESH/file" | grep -qaE -e "$expected" || exit 0
  content='another file'
  ! head -c 4096 "$FRESH/file" | grep -qaiE '<(!doctype|html|head|body|script)' || content='a page of HTML'
  refuse "$URL" "$content came in its place, as from a proxy or portal that wants a login or lets nobody through; ask who runs it, or look at proxy and source of the spec" || :
fi
echo "Nothing was changed on $(hostname)." >&2
exit 1
