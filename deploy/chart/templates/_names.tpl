{{- define "evalsvc.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "evalsvc.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "evalsvc.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "evalsvc.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of this installation; with a component, those of one kind. */}}
{{- define "evalsvc.selector" -}}
app.kubernetes.io/name: {{ include "evalsvc.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "evalsvc.labels" -}}
{{ include "evalsvc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "evalsvc.metadata" -}}
name: {{ include "evalsvc.fullname" .root }}-{{ .component }}
labels: {{- include "evalsvc.labels" . | nindent 2 }}
{{- end -}}

{{- define "evalsvc.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* Names by which web answers: those of the outside, and its Service's inside the cluster. */}}
{{- define "evalsvc.allowedHosts" -}}
{{- $web := printf "%s-web" (include "evalsvc.fullname" .) -}}
{{- $inside := list $web (printf "%s.%s" $web .Release.Namespace) (printf "%s.%s.svc" $web .Release.Namespace) -}}
{{- concat .Values.hosts $inside | join "," -}}
{{- end -}}

{{/* Whether a key is among those that the secret has beside the required ones. */}}
{{- define "evalsvc.hasKey" -}}
{{- if has .key .root.Values.secrets.optional }}yes{{ end -}}
{{- end -}}
