#!/bin/sh
# What more the scripts of injectors may call: for drivers on hosts, and for kubectl on the control plane.
# A host without a driver, and with it again.
undriven() {
  mkdir -p /run/driver
  modprobe -r nvidia
  for link in /usr/lib/*-linux-gnu/libnvidia-ml.so.1; do
    echo "${link%/*}" >/run/driver/folder
    mv "$link" /run/driver
  done
  mv /usr/bin/nvidia-smi /run/driver
  python3 -c 'import re, sys
ours = re.compile("Package: ((lib)?nvidia-|libcuda1|cuda-drivers)")
sys.stdout.write("".join(one for one in re.split("(?<=\n\n)", sys.stdin.read()) if not ours.match(one)))
' </var/lib/dpkg/status >/run/driver/status
  mount --bind /run/driver/status /var/lib/dpkg/status
}
driven() {
  [ -e /run/driver/folder ] || return 0
  ! mountpoint -q /var/lib/dpkg/status || umount /var/lib/dpkg/status
  [ ! -e /run/driver/libnvidia-ml.so.1 ] && [ ! -L /run/driver/libnvidia-ml.so.1 ] ||
    mv /run/driver/libnvidia-ml.so.1 "$(cat /run/driver/folder)"
  [ ! -e /run/driver/nvidia-smi ] || mv /run/driver/nvidia-smi /usr/bin
  modprobe nvidia
  rm -r /run/driver
}

# `keep` writes an object down as it is, `back` makes it so again; `exporter` has the GPU exporter of the node run a
# script in its own place.
not() { ! "$@"; }
gpus() { kubectl -n gpu-operator "$@"; }
monitoring() { kubectl -n monitoring "$@"; }
prometheus() {
  kubectl get --raw "/api/v1/namespaces/monitoring/services/http:monitoring-prometheus:http-web/proxy/api/v1/$1"
}
found() { prometheus "query?query=$1" | grep -q '"value"'; }
volume() {
  monitoring patch prometheus monitoring-prometheus --type=merge --patch '{"spec": {"storage": {
    "volumeClaimTemplate": {"spec": {'"$1"'"resources": {"requests": {"storage": "20Gi"}}}}}}}' >/dev/null
}
scraped() { prometheus "targets?state=active&scrapePool=serviceMonitor/$1/0" | grep -q scrapeUrl; }
offers() { [ "$(kubectl get node "$NODE" -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = "$1" ]; }
# One that is on the nodes, with a shell in it.
image() { gpus get deployment gpu-operator -o 'jsonpath={.spec.template.spec.containers[0].image}'; }
policy() { [ "$(kubectl get clusterpolicy cluster-policy -o 'jsonpath={.status.state}')" = "$1" ]; }
adjust() { kubectl patch clusterpolicy cluster-policy --type=json --patch "$1" >/dev/null; }
anew() { gpus delete pod -l "app=$1" --field-selector "spec.nodeName=$NODE" >/dev/null; }
of_node() {
  app=$1
  shift
  gpus get pods -l "app=$app" --field-selector "spec.nodeName=$NODE" "$@"
}
pod_ready() {
  gpus get pods -l "app=$1" --field-selector "spec.nodeName=$NODE" -o \
    'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}' | grep -qx True
}
kept() { echo "/run/kept-$(echo "$*" | tr -cs 'a-z0-9\n' -).json"; }
keep() {
  file=$(kept "$@")
  [ ! -e "$file" ] || return 0
  (umask 077; kubectl get "$@" -o json >"$file.new")
  mv "$file.new" "$file"
}
back() {
  file=$(kept "$@")
  [ -e "$file" ] || return 0
  (umask 077; python3 -c 'import json, sys
one = json.load(sys.stdin)
for each in one.get("items", [one]):
    each.pop("status", None)
    for key in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
        each["metadata"].pop(key, None)
    print(json.dumps(each))' <"$file" >"$file.new")
  while read -r each; do
    printf '%s\n' "$each" | kubectl replace -f - >/dev/null 2>&1 ||
      printf '%s\n' "$each" | kubectl create -f - >/dev/null
  done <"$file.new"
  rm "$file" "$file.new"
}
exporter() {
  keep -n gpu-operator daemonset nvidia-dcgm-exporter
  patch=$(python3 -c 'import json, sys
command = ["sh", "-c", sys.argv[1]]
print(json.dumps([{"op": "add", "path": "/spec/updateStrategy", "value": {"type": "OnDelete"}},
                  {"op": "add", "path": "/spec/template/spec/containers/0/command", "value": command}]))' "$1")
  gpus patch daemonset nvidia-dcgm-exporter --type=json --patch "$patch" >/dev/null
  anew nvidia-dcgm-exporter
}
says() { gpus logs -l "app=$1" --all-containers --prefix --tail=200 | grep -q "$2"; }
unsandboxed() {
  pod=$(monitoring get pods -l app.kubernetes.io/name=kube-state-metrics --field-selector=status.phase=Pending -o name)
  [ -n "$pod" ] && monitoring get events -o name \
    --field-selector "reason=FailedCreatePodSandBox,involvedObject.name=${pod#pod/}" | grep -q .
}
network() {
  keep -n kube-flannel configmap kube-flannel-cfg
  kubectl -n kube-flannel get configmap kube-flannel-cfg -o json | python3 -c 'import json, sys
one = json.load(sys.stdin)
conf = json.loads(one["data"]["net-conf.json"])
one["data"]["net-conf.json"] = json.dumps({**conf, "Network": sys.argv[1]}, indent=2)
print(json.dumps(one))' "$1" | kubectl replace -f - >/dev/null
}
remade() {
  python3 -c 'import json, sys
one = json.load(sys.stdin)
at = one["metadata"]
one["metadata"] = {key: at[key] for key in ("name", "labels", "annotations") if key in at}
if sys.argv[1] == "bare":
    notes = one["metadata"].get("annotations", {})
    one["metadata"]["annotations"] = {key: notes[key] for key in notes if not key.startswith("flannel.")}
    one["spec"] = {key: one["spec"][key] for key in one["spec"] if not key.startswith("podCIDR")}
print(json.dumps(one))' "$1" <"$(kept node "$NODE")" >/run/node.json
  kubectl delete node "$NODE" >/dev/null
  kubectl create -f /run/node.json >/dev/null
}
manager=/etc/kubernetes/manifests/kube-controller-manager.yaml
rangeless() {
  keep node "$NODE"
  [ -e /run/controller-manager.yaml ] || cp -p "$manager" /run/controller-manager.yaml
  rm "$manager"
  await not pidof kube-controller-manager
  remade bare
  sed "$1" /run/controller-manager.yaml >/run/controller-manager.new
  install -m 600 /run/controller-manager.new "$manager"
  await pidof kube-controller-manager
  kubectl -n kube-flannel delete pod -l app=flannel --field-selector "spec.nodeName=$NODE" >/dev/null
}
ranged() {
  [ -e /run/controller-manager.yaml ] || return 0
  [ ! -e "$(kept node "$NODE")" ] || remade whole
  cp -p /run/controller-manager.yaml "$manager"
  rm -f /run/controller-manager.* /run/node.json "$(kept node "$NODE")"
  await pidof kube-controller-manager
}
undiscovered() {
  gpus delete nodefeature "$NODE" >/dev/null 2>&1 || :
  ! labelled
}
labelled() { kubectl get node "$NODE" -o yaml | grep -qE '10de\.present: "true"'; }
relabelled() {
  for label in "$@"; do
    value=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["metadata"]["labels"].get(sys.argv[1], ""))' \
      "$label" <"$(kept node "$NODE")")
    kubectl label --overwrite node "$NODE" "$label$([ -n "$value" ] && echo "=$value" || echo -)" >/dev/null
  done
  rm "$(kept node "$NODE")"
}
unpulled() { of_node nvidia-driver-daemonset -o json | grep -q ': not found'; }
driver_pods() {
  kubectl create -f - >/dev/null <<END
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-gpu-driver-site, namespace: gpu-operator}
spec:
  selector: {matchLabels: {app: nvidia-driver-daemonset}}
  template:
    metadata: {labels: {app: nvidia-driver-daemonset}}
    spec:
      nodeSelector: {kubernetes.io/hostname: $NODE}
      tolerations: [{operator: Exists}]
      containers:
        - {name: nvidia-driver-ctr, image: "$1", command: [sh, -c, '$2']}
END
}
drivers_on() {
  image=$(image)
  name=${image##*/}
  printf '[{"op": "replace", "path": "/spec/driver/enabled", "value": true},
    {"op": "add", "path": "/spec/driver/manager", "value": {"repository": "%s", "image": "%s", "version": "%s"}}]' \
    "${image%/*}" "${name%:*}" "${name#*:}"
}
revisions() { kubectl -n "$1" get secret -l "owner=helm,name=$2" -o name; }
only_revisions() {
  [ -e "/run/revisions-$2" ] || return 0
  for one in $(revisions "$1" "$2"); do
    grep -qxF "$one" "/run/revisions-$2" || kubectl -n "$1" delete "$one" >/dev/null
  done
  rm "/run/revisions-$2"
}
webhook() {
  kubectl create -f - >/dev/null <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kube-prom-stack-admission}
webhooks:
  - name: prometheusrulevalidate.monitoring.coreos.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig:
      caBundle: $(base64 -w 0 /etc/kubernetes/pki/ca.crt)
      service: {namespace: monitoring, name: $1, path: /admission-prometheusrules/validate}
    rules:
      - apiGroups: [monitoring.coreos.com]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE]
        resources: [prometheusrules]
END
}
second_exporter() {
  image=$(monitoring get daemonset monitoring-prometheus-node-exporter \
    -o 'jsonpath={.spec.template.spec.containers[0].image}')
  kubectl create -f - >/dev/null <<END
apiVersion: apps/v1
kind: $1
metadata: {name: $2, namespace: $4}
spec:
  selector: {matchLabels: {app: $2}}
  template:
    metadata: {labels: {app: $2}}
    spec:
      hostNetwork: true
      priorityClassName: "$3"
      nodeSelector: {kubernetes.io/hostname: $NODE}
      tolerations: [{operator: Exists}]
      containers: [{name: agent, image: "$image", ports: [{containerPort: 9100, hostPort: 9100}]}]
END
}
refused() {
  prometheus 'targets?state=active&scrapePool=serviceMonitor/monitoring/monitoring-kubelet/0' | grep -q 'status 401'
}
dashboard() {
  kubectl create -f - >/dev/null <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: $1, namespace: monitoring, labels: {grafana_dashboard: "1", team: site}}
data:
  $1.json: |
    {"uid": "$1", "title": "$1", "panels": [{"type": "timeseries", "title": "$1", "targets": [{"expr": "$2"}],
     "datasource": {"type": "prometheus", "uid": "prometheus"}, "gridPos": {"x": 0, "y": 0, "w": 24, "h": 8}}]}
END
}
pods_of() {
  image=$(image)
  kubectl create namespace shop >/dev/null
  kubectl create -f - >/dev/null <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: shop}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "$image", command: [sh, -c, '$2']}]
END
}
healthy_exporter() {
  back -n gpu-operator daemonset nvidia-dcgm-exporter
  anew nvidia-dcgm-exporter
  await pod_ready nvidia-dcgm-exporter
}
