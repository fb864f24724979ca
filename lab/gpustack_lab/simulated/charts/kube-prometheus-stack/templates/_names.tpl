{{/* Name of the chart as it stands in labels `app: <name>-<part>`. */}}
{{- define "stack.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{/* Every object of the stack itself begins with this: at most 26 characters, so that no name built on it exceeds 63. */}}
{{- define "stack.fullname" -}}
{{- $own := include "stack.name" . -}}
{{- $joined := ternary .Release.Name (printf "%s-%s" .Release.Name $own) (contains $own .Release.Name) -}}
{{- .Values.fullnameOverride | default $joined | trunc 26 | trimSuffix "-" -}}
{{- end }}

{{/* Custom resource of a part: (list $ "prometheus"). */}}
{{- define "stack.resource" -}}
{{- $root := index . 0 -}}
{{- $full := include "stack.fullname" $root -}}
{{- ternary $full (printf "%s-%s" $full (index . 1)) $root.Values.cleanPrometheusOperatorObjectNames -}}
{{- end }}

{{/* Labels of what the stack's own templates make: (list $ "part"), the part may be empty. */}}
{{- define "stack.labels" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
app: {{ include "stack.name" $root }}{{ with $part }}-{{ . }}{{ end }}
{{ include "stack.owner" $root }}
{{- end }}

{{- define "stack.owner" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.Version | quote }}
app.kubernetes.io/part-of: {{ include "stack.name" . }}
chart: {{ .Chart.Name }}-{{ .Chart.Version }}
release: {{ .Release.Name | quote }}
heritage: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "stack.selector" -}}
app: {{ include "stack.name" (index . 0) }}-{{ index . 1 }}
release: {{ (index . 0).Release.Name | quote }}
{{- end }}

{{/* What the real chart takes from a subchart is named after release and subchart: (list $ "grafana"). */}}
{{- define "sub.name" -}}
{{- get (get (index . 0).Values (index . 1)) "nameOverride" | default (index . 1) | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "sub.fullname" -}}
{{- $release := (index . 0).Release.Name -}}
{{- $part := include "sub.name" . -}}
{{- $joined := ternary $release (printf "%s-%s" $release $part) (contains $part $release) -}}
{{- get (get (index . 0).Values (index . 1)) "fullnameOverride" | default $joined | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "sub.selector" -}}
app.kubernetes.io/name: {{ include "sub.name" . }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end }}

{{- define "sub.labels" -}}
{{ include "sub.selector" . }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}

{{/* Reference of an image: (list $ $image "default tag"). */}}
{{- define "stack.image" -}}
{{- $image := index . 1 -}}
{{- $registry := (index . 0).Values.global.imageRegistry | default $image.registry -}}
{{- $digest := ternary (printf "@sha256:%s" $image.sha) "" (not (empty $image.sha)) -}}
{{- printf "%s/%s:%s%s" $registry $image.repository ($image.tag | default (index . 2)) $digest -}}
{{- end }}

{{- define "stack.pullSecrets" -}}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ ternary .name . (kindIs "map" .) }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where pods may run, from a map with these keys. */}}
{{- define "stack.placement" -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $ $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
