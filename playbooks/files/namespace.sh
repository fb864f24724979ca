# shellcheck shell=sh
# ensure_namespace NAMESPACE PRIVILEGED: there is such a namespace; with `yes` its pods may be privileged. A level of Pod
# Security that is set there already is never replaced: it is a decision about everybody's pods in it.
# Says `changed: …` for what it did. Follows limits.sh.
ENFORCE=pod-security.kubernetes.io/enforce

ensure_namespace() (
  state=$(kube get namespace "$1" --ignore-not-found -o "go-template={{.status.phase}} {{with .metadata.labels}}{{with index . \"$ENFORCE\"}}{{.}}{{end}}{{end}}") || exit 1
  case $state in
    Terminating*)
      echo "namespace $1 is being deleted, and something in it does not go: kubectl get namespace $1 -o yaml says what; install again when it is gone (gpustack explain namespace-terminating)" >&2
      exit 1
      ;;
    '')
      labels="app.kubernetes.io/managed-by: gpustack"
      [ "$2" != yes ] || labels="$labels, $ENFORCE: privileged"
      echo "{apiVersion: v1, kind: Namespace, metadata: {name: $1, labels: {$labels}}}" | kube create -f - >/dev/null || exit 1
      echo "changed: namespace $1"
      exit 0
      ;;
  esac
  [ "$2" = yes ] || exit 0
  case ${state#* } in
    privileged) ;;
    # Without --overwrite: who sets another level meanwhile is not overruled.
    '')
      kube label namespace "$1" "$ENFORCE=privileged" >/dev/null || exit 1
      echo "changed: pods of namespace $1 may be privileged"
      ;;
    *)
      echo "namespace $1 enforces the Pod Security level ${state#* }, and pods that gpustack brings there need privileged (gpustack explain namespace-restricted)" >&2
      exit 1
      ;;
  esac
)
