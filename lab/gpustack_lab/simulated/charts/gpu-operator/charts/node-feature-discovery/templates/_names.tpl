{{- define "nfd.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "nfd.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "nfd.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nfd.labels" -}}
{{ include "nfd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* dict "root" $ "role" master|worker|gc */ -}}
{{- define "nfd.account" -}}
{{- $of := index .root.Values .role }}
{{- $own := include "nfd.fullname" .root }}
{{- if ne .role "master" }}{{ $own = printf "%s-%s" $own .role }}{{ end }}
{{- if $of.serviceAccount.name }}{{ $of.serviceAccount.name }}{{ else if $of.serviceAccount.create }}{{ $own }}{{ else }}default{{ end }}
{{- end }}

{{- /* Everything of a pod beside its containers and volumes. */ -}}
{{- define "nfd.pod" -}}
{{- $of := index .root.Values .role -}}
serviceAccountName: {{ include "nfd.account" . }}
hostNetwork: {{ $of.hostNetwork }}
dnsPolicy: ClusterFirstWithHostNet
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" }}
{{- with index $of $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "nfd.container" -}}
{{- $of := index .root.Values .role -}}
name: {{ .role }}
image: {{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [nfd-{{ .role }}]
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
  runAsNonRoot: true
{{- with $of.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  - name: NODE_NAME
    valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_UID
    valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- end }}

{{- define "nfd.probes" -}}
livenessProbe:
  grpc: {port: 8082}
  initialDelaySeconds: 10
readinessProbe:
  grpc: {port: 8082}
  initialDelaySeconds: 5
  failureThreshold: 10
ports:
  - {name: metrics, containerPort: 8081}
  - {name: health, containerPort: 8082}
{{- end }}
