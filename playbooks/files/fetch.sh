#!/bin/sh
# fetch URL FILE: as apt does, through the proxy and with the login that our files name, within LIMIT seconds (30) times
# TIMEOUT_FACTOR. What is secret goes to curl on its standard input: no argument and no environment has it. When it
# fails, it says where, why, and what to do. Where proxy_settings, mirror_login and authorities are set, they count in
# place of the files: the text of the first two, and a file with the CAs to trust.
fetch() {
  rc=0 limit=$((${LIMIT:-30} * ${TIMEOUT_FACTOR:-1}))
  status=$({ proxy_setting "$1" && login "$1"; } |
    curl -fsSL --connect-timeout 10 --max-time "$limit" --retry 2 --retry-max-time 40 --config - \
      -w '%{http_connect} %{http_code}' -o "$2" "$1") || rc=$?
  [ "$rc" != 0 ] || return 0
  host=${1#*://} host=${host%%/*}
  refuse "$1" "$(advice "$rc" "${host%:*}" "$status" "$2" "$1")"
}

refuse() { # URL REASON
  echo "$1 was not fetched by $(hostname): $2 (gpustack explain download-failed)" >&2
  return 1
}

# Lines of curl's configuration: the proxy for a URL. Without one in the spec there is none: a play's environment is empty.
proxy_setting() (
  [ -z "${authorities-}" ] || printf 'cacert = "%s"\n' "$authorities"
  if [ -n "${proxy_settings+set}" ]; then
    eval "$proxy_settings"
  elif [ -e /etc/gpustack-cluster/proxy.env ]; then
    # shellcheck source=/dev/null
    . /etc/gpustack-cluster/proxy.env
  fi
  case $1 in https:*) proxy=${HTTPS_PROXY-} ;; *) proxy=${HTTP_PROXY-} ;; esac
  [ -z "$proxy" ] || printf 'proxy = "%s"\nnoproxy = "%s"\n' "$proxy" "${NO_PROXY-}"
)

# A line of curl's configuration, with the login that apt has for the mirror.
login() {
  if [ -n "${mirror_login+set}" ]; then
    printf '%s\n' "$mirror_login"
  elif [ -e /etc/apt/auth.conf.d/gpustack-mirror.conf ]; then
    cat /etc/apt/auth.conf.d/gpustack-mirror.conf
  fi | awk -v url="$1" '$1 == "machine" && index(url, $2 "/") == 1 {
      gsub(/[\\"]/, "\\\\&", $6)
      print "user = \"" $4 ":" $6 "\""
    }'
}

# By the status of HTTP, of the proxy and of the server, and curl's exit status (curl(1), EXIT CODES).
advice() {
  case $3 in
    *407*) echo "the proxy wants another login (407); look at proxy.user and proxy.password_file of the spec" ; return ;;
    # Of a tunnel: what follows is of the server.
    [45]??\ *) echo "the proxy opens no way to $2 (${3%% *}); ask who runs it, or look at proxy of the spec" ; return ;;
    *401 | *403) echo "$2 wants another login (${3#* }); look at source.user and source.password_file of the spec" ; return ;;
    *404) echo "$2 has no such file (404); look at source of the spec, and whether a mirror is complete" ; return ;;
  esac
  peer=$2
  case $(proxy_setting "$5") in *'proxy = "'*) peer="the proxy, or $2 itself where no_proxy has it," ;; esac
  case $1 in
    5) echo "the proxy's name is not known; correct proxy.http and proxy.https of the spec" ;;
    6) echo "the name $2 is not known; getent hosts $2 shows it, and a host without DNS needs proxy or source.mirror in the spec" ;;
    7) echo "$peer takes no connection; open the way to it, or set proxy or source.mirror in the spec" ;;
    22) echo "$2 answers, and refuses this (${3#* }); look at proxy and source of the spec" ;;
    23) echo "$4 could not be written; df -h ${4%/*} on that host shows what is left" ;;
    28) echo "$peer is too slow: $limit s were not enough; try again, or set source.mirror in the spec" ;;
    35) echo "something in between answers in place of $2, and not with TLS; ask who runs it, or look at proxy of the spec" ;;
    60) echo "the certificate of $2 is not trusted; name its CA in proxy.ca_file or source.ca_file of the spec" ;;
    52 | 56) echo "$peer ended the connection without an answer; curl -v $2 shows more, or look at proxy of the spec" ;;
    *) echo "curl ended with $1; curl -v $2 shows more" ;;
  esac
}
