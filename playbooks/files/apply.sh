# shellcheck shell=sh
# apply: brings objects of ours, which come as a stream of JSON documents on standard input, into the cluster,
# server-side, under our own name. What others put into fields that we do not set stays. Says `changed: …` when something
# differed.
kube() { timeout 60 kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

apply() {
  folder=$(mktemp -d) || return
  objects=$folder/objects
  cat >"$objects"
  set -- --server-side --force-conflicts --field-manager=gpustack -f "$objects"
  if ! kube diff "$@" >/dev/null 2>&1; then
    kube apply "$@" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; rm -rf --one-file-system "$folder"; return 1; }
    sed 's/^/changed: /' "$folder/output"
  fi
  rm -rf --one-file-system "$folder"
}
