{{/* The map `grafana.ini` as such a file. */}}
{{- define "grafana.ini" -}}
{{- range $section, $keys := index .Values.grafana "grafana.ini" }}
{{- if kindIs "map" $keys }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{ $key }} = {{ $value }}
{{- end }}
{{- else }}
{{ $section }} = {{ $keys }}
{{- end }}
{{- end }}
{{- end }}

{{/* A ConfigMap is no place for passwords: unless told otherwise, such a key in grafana.ini stops the installation. */}}
{{- define "grafana.refuseLeaks" -}}
{{- if .Values.grafana.assertNoLeakedSecrets }}
{{- range $section, $keys := index .Values.grafana "grafana.ini" }}
{{- if kindIs "map" $keys }}
{{- range $key, $value := $keys }}
{{- $secret := or (has (printf "%s.%s" $section $key) (list "database.password" "smtp.password" "security.secret_key" "security.admin_password")) (and (hasPrefix "auth." $section) (has $key (list "client_secret" "password" "bind_password"))) }}
{{- if and $secret (not (regexMatch "\\$(__(env|file|vault))?\\{[^}]+\\}" (toString $value))) }}
{{- fail (printf "Sensitive key '%s.%s' should not be defined explicitly in values. Use variable expansion instead." $section $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The admin password, base64: asked for, else what the Secret already holds, else a new random one. */}}
{{- define "grafana.password" -}}
{{- $name := include "sub.fullname" (list . "grafana") }}
{{- $kept := dig "data" "admin-password" "" (lookup "v1" "Secret" .Release.Namespace $name | default dict) }}
{{- if .Values.grafana.adminPassword -}}
{{ .Values.grafana.adminPassword | b64enc }}
{{- else -}}
{{ $kept | default (randAlphaNum 40 | b64enc) }}
{{- end -}}
{{- end }}
