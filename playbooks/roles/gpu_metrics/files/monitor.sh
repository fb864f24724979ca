# shellcheck shell=sh
# Applies the counters and, where it is ours, the ServiceMonitor; else ours goes, and NVIDIA's operator makes its own.
# Follows apply.sh. Reads NAMESPACE, RELEASE (that of the operator) and MONITOR, the name of the one that is to be there.
set -eu
OPERATORS=nvidia-dcgm-exporter OWN_MONITOR=gpustack-dcgm
apply
[ "$MONITOR" != "$OWN_MONITOR" ] || exit 0
# Ends here where that is unknown: the operator is not restarted for an API that does not answer.
monitors=$(kube -n "$NAMESPACE" get servicemonitors.monitoring.coreos.com -o 'jsonpath={.items[*].metadata.name}')
has_monitor() { case " $monitors " in *" $1 "*) ;; *) return 1 ;; esac; }
if has_monitor "$OWN_MONITOR"; then
  removal=$(echo "servicemonitors.monitoring.coreos.com $NAMESPACE $OWN_MONITOR" | remove)
  if [ -z "$removal" ]; then
    echo "ServiceMonitor $NAMESPACE/$OWN_MONITOR is not from gpustack, and is left as it is (gpustack explain foreign-object)" >&2
    exit 1
  fi
  echo "$removal"
fi
# The operator does not hear when the definition of a ServiceMonitor comes after it: it looks when it starts.
if ! has_monitor "$OPERATORS"; then
  kube -n "$NAMESPACE" rollout restart deployment gpu-operator >/dev/null
  echo "changed: the operator was made to look again"
fi
