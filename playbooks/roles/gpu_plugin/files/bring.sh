# shellcheck shell=sh
# Applies the objects, and removes DaemonSets of ours that are not among them, and the Service of the host engine.
# Follows namespace.sh and apply.sh. Reads NAMESPACE and DAEMON_SETS, the names of those that stay; where there are none, nothing is to be
# brought, and nothing goes.
set -eu
[ -n "$DAEMON_SETS" ] || exit 0
ensure_namespace "$NAMESPACE" yes
apply
daemonsets=$(kube -n "$NAMESPACE" get daemonsets -l app.kubernetes.io/managed-by=gpustack \
  -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
for name in $daemonsets; do
  case " $DAEMON_SETS " in *" $name "*) continue ;; esac
  case $name in gpustack-*) ;; *) continue ;; esac
  echo "DaemonSet $NAMESPACE $name" | remove
done
# Of an earlier release: the host engine listened there for every pod.
echo "Service $NAMESPACE nvidia-dcgm" | remove
