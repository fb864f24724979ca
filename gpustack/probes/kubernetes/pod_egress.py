"""The Secrets and ConfigMaps by which pods leave the cluster, compared with what the spec asks for.

No answer holds a secret: the content is compared on the control plane, by a hash with a random salt.
"""

from gpustack.ask.probe import Lines, Probe
from gpustack.probes.host.egress import parse_comparisons

# A value as pod-egress.sh reads and writes it: that of a Secret in base64, that of a ConfigMap in quotes.
POD_EGRESS = Probe(
    "egress.pods",
    Lines(r"""[ -n "${POD_EGRESS-}" ] && [ -r /etc/kubernetes/admin.conf ] || exit 0
# shellcheck disable=SC2016 # of the template
printf '%s' "$POD_EGRESS" | while read -r kind space name expected_sum; do
  case $kind in Secret) value='{{$value}}' ;; *) value='{{printf "%q" $value}}' ;; esac
  values=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" \
    -n "$space" get "$kind" "$name" --ignore-not-found \
    -o "go-template={{range \$key, \$value := .data}}{{\$key}} $value{{\"\\n\"}}{{end}}") || exit
  is=none
  if [ -n "$values" ]; then
    output=$({ printf '%s' "$SALT"; printf '%s\n' "$values" | sort | head -c -1; } | sha256sum)
    [ "${output%% *}" = "$expected_sum" ] && is=same || is=other
  fi
  echo "$name $is"
done
"""),
    parse_comparisons,
    manual_command="kubectl get secrets,configmaps -A -l app.kubernetes.io/managed-by=gpustack",
)
