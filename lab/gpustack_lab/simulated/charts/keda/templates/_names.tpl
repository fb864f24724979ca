{{- /* Argument: dict "root" $ "name" <of the part> */ -}}
{{- define "keda.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/component: operator
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: {{ .root.Values.operator.name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* Argument: dict "root" $ "image" <of .Values.image> */ -}}
{{- define "keda.image" -}}
{{ .image.registry }}/{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- /* What the pods of all three parts have. Argument: dict "root" $ "account" <ServiceAccount> "optional" <bool> */ -}}
{{- define "keda.pod" -}}
serviceAccountName: {{ .account }}
securityContext:
  runAsNonRoot: true
nodeSelector:
  kubernetes.io/os: linux
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: certificates
    secret:
      secretName: {{ .root.Values.certificates.secretName }}
      optional: {{ .optional }}
{{- end }}

{{- define "keda.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: certificates, mountPath: {{ .Values.certificates.mountPath }}, readOnly: true}
{{- end }}

{{- define "keda.environment" -}}
- {name: WATCH_NAMESPACE, value: ""}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: KEDA_HTTP_DEFAULT_TIMEOUT, value: "3000"}
{{- end }}
