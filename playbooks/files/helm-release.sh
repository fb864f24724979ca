# shellcheck shell=sh
# Brings one Helm release to its chart and values, which come on standard input. Follows limits.sh, fetch.sh, pinned.sh,
# namespace.sh and definitions.sh.
# Reads NAME, NAMESPACE, VERSION, URL, SHA256, DIGEST, VALUE_LABELS (words KEY=DIGEST) and PRIVILEGED (yes or no). Says
# `changed: …` for what it did.
set -eu
# By its whole path, so that a Helm of ours that still runs is found by it.
HELM=/usr/local/lib/gpustack/helm
CHART=/var/lib/gpustack-cluster/charts/${URL##*/}

# A Helm that was killed leaves its release pending, and every later one refuses. Ours is known by its labels, of which the
# revision is the only one that Helm does not give to somebody else's next one, and by its process; others are left alone.
ensure_not_pending() {
  last=$(kube -n "$NAMESPACE" get secrets -l "owner=helm,name=$NAME" --sort-by=.metadata.creationTimestamp \
    -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.status} {.metadata.labels.gpustack-digest} {.metadata.labels.gpustack-revision} {.metadata.labels.version}{"\n"}{end}' |
    tail -n 1)
  # shellcheck disable=SC2086 # words
  set -- $last
  case ${2-} in pending-*) ;; *) return 0 ;; esac
  if [ -z "${5-}" ] || [ "$4" != "$5" ]; then
    echo "release $NAMESPACE/$NAME is $2, by a Helm that is not ours: wait for it, or helm rollback $NAME -n $NAMESPACE (gpustack explain release-pending)" >&2
    return 1
  fi
  if pgrep -f "^$HELM upgrade .*$NAME" >/dev/null; then
    echo "release $NAMESPACE/$NAME is being changed right now, by an installation that goes on: wait for it (gpustack explain release-pending)" >&2
    return 1
  fi
  kube -n "$NAMESPACE" delete secret "$1" >/dev/null
  echo "changed: revision ${1##*.} of $NAME, which was interrupted, is deleted"
}

# Nothing to do where the release is this one and every object is as it made it. Asked in a name that owns nothing: in
# Helm's own, what Helm adds to its manifests would be dropped, and every object would differ.
holds() {
  labels=$(kube -n "$NAMESPACE" get secrets -l "owner=helm,name=$NAME,status=deployed" \
    -o 'jsonpath={range .items[*].metadata.labels}{.gpustack-digest} {.gpustack-revision} {.version}{end}')
  # shellcheck disable=SC2086 # words
  set -- $labels
  [ "${1-}" = "$DIGEST" ] && [ "${2-}" = "${3-}" ] || return 1
  "$HELM" get manifest "$NAME" --namespace "$NAMESPACE" |
    kube diff --server-side --force-conflicts --field-manager=gpustack-look -f - >/dev/null 2>&1
}

FRESH=$(mktemp -d)
trap 'rm -rf "$FRESH"' EXIT
# What Helm keeps for itself goes with the rest.
KUBECONFIG=/etc/kubernetes/admin.conf HELM_CACHE_HOME=$FRESH HELM_CONFIG_HOME=$FRESH HELM_DATA_HOME=$FRESH
export KUBECONFIG HELM_CACHE_HOME HELM_CONFIG_HOME HELM_DATA_HOME
cat >"$FRESH/values.yaml"
fetch_pinned "$URL" "$SHA256" "$CHART"
ensure_namespace "$NAMESPACE" "$PRIVILEGED"
# Helm installs CRDs once and never again.
"$HELM" show crds "$CHART" >"$FRESH/crds.yaml"
bring_definitions <"$FRESH/crds.yaml"
ensure_not_pending
! holds || exit 0
# Helm gives the labels of one revision to the next: by this one, the next is known as somebody else's.
last=$(kube -n "$NAMESPACE" get secrets -l "owner=helm,name=$NAME" \
  -o 'jsonpath={range .items[*]}{.metadata.labels.version}{"\n"}{end}' | sort -n | tail -n 1)
labels="gpustack-chart=$VERSION,gpustack-digest=$DIGEST,gpustack-revision=$((last + 1))"
for label in $VALUE_LABELS; do
  labels="$labels,$label.$((last + 1))"
done
"$HELM" upgrade "$NAME" "$CHART" --install --namespace "$NAMESPACE" --reset-values --values "$FRESH/values.yaml" \
  --labels "$labels" --description "gpustack $DIGEST" --history-max 5 \
  --force-conflicts --timeout $((10 * ${TIMEOUT_FACTOR:-1}))m >"$FRESH/said" 2>&1 || {
  grep -v '^WARNING' "$FRESH/said" >&2
  exit 1
}
echo "changed: release $NAME"
