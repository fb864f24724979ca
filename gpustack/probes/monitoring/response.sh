#!/bin/sh
[ -r /etc/kubernetes/admin.conf ] || exit 0
reply=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" -n "$MONITORING" get \
  "service/$RELEASE-grafana" "secret/$RELEASE-grafana" --ignore-not-found \
  -o 'jsonpath={..spec.clusterIP}:{..spec.ports[0].port}/{..data.admin-user} {..data.admin-password}') || exit
case $reply in ?*:?*/?*' '?*) ;; *) exit 0 ;; esac
address=${reply%%/*} login=${reply#*/}
user=$(printf %s "${login% *}" | base64 -d) password=$(printf %s "${login#* }" | base64 -d)
credentials=$(printf '%s:%s' "$user" "$password" | sed 's/["\\]/\\&/g')
ask() { printf 'user = "%s"
' "$credentials" | curl -s --noproxy '*' -m "${TIMEOUT_FACTOR:-1}" -K - "$@"; }
status() { ask -o /dev/null -w '%{http_code}' "http://$address$1" || :; }
query='/api/datasources/proxy/uid/prometheus/api/v1/query?query=count(DCGM_FI_DEV_GPU_TEMP%20or%20DCGM_FI_DEV_FB_USED)'
is=$(status /api/org)
[ "$is" = 200 ] || { echo "$is 0 no"; exit 0; }
health=$(ask -w ' %{http_code}' "http://$address/api/datasources/uid/prometheus/health" || :)
plugin=
case $health in *'"plugin.notRegistered"'*) plugin=' unregistered' ;; esac
case $(ask "http://$address$query") in *'"value":'*) samples=yes ;; *) samples=no ;; esac
echo "$is ${health##* } $samples$plugin"
