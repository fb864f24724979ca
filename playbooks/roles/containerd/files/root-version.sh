#!/bin/sh
# Refuses a main configuration of an older version than ours that says something in words of its version, before anything
# is changed: containerd 2.2 would ignore it beside our file, and 2.3.0 to 2.3.4 would exit. What it looks for is what
# containerd_main_configuration looks for (vars/main.yml).
set -eu
file=${FILE:-/etc/containerd/config.toml}
[ -e "$file" ] || exit 0
words=$(awk -v quotes="[\"\047]" '
  { sub(/\r$/, "") }
  !table && /^[ \t]*version[ \t]*=/ { version = $0; sub(/.*=[ \t]*/, "", version); version += 0 }
  $0 ~ "^[ \t]*[[]?[[]?[ \t]*" quotes "?plugins" quotes "?[ \t]*[].=]" { plugins = plugins ? plugins : $0 }
  /^[ \t]*\[/ { table = 1 }
  /^[ \t]*(disabled|required)_plugins[ \t]*=/ { list = 1; key = $1; sub(/_plugins.*/, "", key) }
  list {
    rest = $0
    while (match(rest, quotes "[^\"\047]*" quotes)) {
      word = substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      if (word !~ /[.]/ && (key != "disabled" || word != "cri")) short = short " " word
    }
    if (/\]/) list = 0
  }
  END {
    if (version < 3 && plugins short != "") printf "version %s with %s\n", version ? version : "1 (it declares none)", plugins ? plugins : "the short names" short
  }' "$file")
[ -z "$words" ] || {
  echo "$file on $(hostname) is of $words: expected version 3 or newer (gpustack explain containerd-root-version)" >&2
  exit 1
}
