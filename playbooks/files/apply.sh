# shellcheck shell=sh
# apply: brings objects of ours, which come as a stream of JSON documents on standard input, into the cluster,
# server-side, under our own name. What others put into fields that we do not set stays. Says `changed: …` when something
# differed. Follows limits.sh.

apply() (
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  cat >"$fresh/objects"
  set -- --server-side --force-conflicts --field-manager=gpustack -f "$fresh/objects"
  kube diff "$@" >/dev/null 2>&1 && exit
  kube apply "$@" >"$fresh/answer" 2>&1 || { cat "$fresh/answer" >&2; exit 1; }
  sed 's/^/changed: /' "$fresh/answer"
)
