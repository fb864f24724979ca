{{/* The ports of a Service with one port: (list $service "port name"). */}}
{{- define "stack.servicePorts" -}}
{{- $service := index . 0 -}}
- name: {{ index . 1 }}
  port: {{ $service.port }}
  targetPort: {{ $service.targetPort }}
  {{- if and (eq $service.type "NodePort") $service.nodePort }}
  nodePort: {{ $service.nodePort }}
  {{- end }}
{{- end }}

{{/* An Ingress, when it is enabled: dict root, name, labels, ingress, port (of the Service of the same name). */}}
{{- define "stack.ingress" -}}
{{- if .ingress.enabled }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- .labels | nindent 4 }}
    {{- with .ingress.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.ingressClassName }}
  ingressClassName: {{ . }}
  {{- end }}
  rules:
    {{- range .ingress.hosts | default (list "") }}
    - {{ with . }}host: {{ tpl . $.root | quote }}
      {{ end }}http:
        paths:
          {{- range $.ingress.paths | default (list ($.ingress.path | default "/")) }}
          - path: {{ . }}
            pathType: {{ $.ingress.pathType | default "ImplementationSpecific" }}
            backend:
              service:
                name: {{ $.name }}
                port:
                  number: {{ $.port }}
          {{- end }}
    {{- end }}
  {{- with .ingress.tls }}
  tls:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The address under which a part is told about: dict root, spec, ingress, name, service. */}}
{{- define "stack.externalUrl" -}}
{{- if .spec.externalUrl -}}
{{ tpl .spec.externalUrl .root }}
{{- else if and .ingress.enabled .ingress.hosts -}}
http://{{ tpl (first .ingress.hosts) .root }}{{ .spec.routePrefix }}
{{- else -}}
http://{{ .name }}.{{ .root.Release.Namespace }}:{{ .service.port }}
{{- end -}}
{{- end }}

{{/* Replicas of one thing on different hosts, if they can: (list "soft" "app.kubernetes.io/name" "resource"). */}}
{{- define "stack.apart" -}}
{{- $selector := dict "matchLabels" (dict "app.kubernetes.io/name" (index . 1) (index . 1) (index . 2)) -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" $selector -}}
{{- if eq (index . 0) "hard" -}}
podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{{ $term | toJson }}]}
{{- else if eq (index . 0) "soft" -}}
podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{{ dict "weight" 100 "podAffinityTerm" $term | toJson }}]}
{{- end -}}
{{- end }}
