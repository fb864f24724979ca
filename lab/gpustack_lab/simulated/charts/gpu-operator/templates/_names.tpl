{{- define "gpu-operator.labels" -}}
app.kubernetes.io/name: gpu-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gpu-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gpu-operator.image" -}}
{{ .Values.operator.repository }}/{{ .Values.operator.image }}:{{ .Values.operator.version | default .Chart.AppVersion }}
{{- end }}

{{- /* What every operand has in the ClusterPolicy. Argument: dict "of" <values of the operand> "version" <if it has none> */ -}}
{{- define "gpu-operator.component" -}}
{{- $of := .of }}
repository: {{ $of.repository }}
image: {{ $of.image }}
version: {{ $of.version | default .version | quote }}
imagePullPolicy: {{ $of.imagePullPolicy }}
{{- range $key := list "imagePullSecrets" "args" "env" "resources" }}
{{- with index $of $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- if $of.hostNetwork }}
hostNetwork: true
{{- end }}
{{- end }}

{{- define "gpu-operator.pod" -}}
{{- with .Values.operator.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.operator.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.operator.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.operator.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
