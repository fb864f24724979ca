# shellcheck shell=sh
# Applies the objects, and removes DaemonSets of ours that are not among them, and the host engine's Service with it.
# Follows apply.sh. Reads NAMESPACE and DAEMON_SETS, the names of those that stay; where there are none, nothing is to be
# brought, and nothing goes.
set -eu
phase=$(kube get namespace "$NAMESPACE" --ignore-not-found -o 'jsonpath={.status.phase}')
if [ "$phase" = Terminating ]; then
  echo "namespace $NAMESPACE is being deleted, and something in it does not go: kubectl get namespace $NAMESPACE -o yaml says what; install again when it is gone (gpustack explain namespace-terminating)" >&2
  exit 1
fi
[ -n "$DAEMON_SETS" ] || exit 0
apply
found=$(kube -n "$NAMESPACE" get daemonsets -l app.kubernetes.io/managed-by=gpustack \
  -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
for name in $found; do
  case " $DAEMON_SETS " in *" $name "*) continue ;; esac
  case $name in gpustack-*) ;; *) continue ;; esac
  kube -n "$NAMESPACE" delete daemonset "$name" >/dev/null
  echo "changed: removed DaemonSet $name"
done
case " $DAEMON_SETS " in *" gpustack-dcgm-engine "*) exit 0 ;; esac
gone=$(kube -n "$NAMESPACE" delete services -l app.kubernetes.io/managed-by=gpustack,app=nvidia-dcgm \
  --ignore-not-found -o name)
[ -z "$gone" ] || echo "changed: removed Service nvidia-dcgm"
