{{/*
A pod of one role. Takes root, component, command, and what differs: keys (of the secret), env, tmpSize, resources,
grace, probes (text), ports, restart, volumes and mounts (lists). An emptyDir outlives a container: what the last one
left in it would pass for this one's.
*/}}
{{- define "evalsvc.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels: {{- include "evalsvc.labels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  # A service called evalsvc would otherwise set EVALSVC_PORT to its address.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .grace }}
  {{- with .restart }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- with $values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if and $values.spread.enabled (not .restart) }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "evalsvc.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: {{ .component }}
      image: {{ include "evalsvc.image" .root }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      command:
        - sh
        - -c
        - rm -rf "$EVALSVC_ALIVE_FILE" "$PROMETHEUS_MULTIPROC_DIR" && mkdir -p "$PROMETHEUS_MULTIPROC_DIR" && exec "$@"
        - start
      args: {{- toYaml .command | nindent 8 }}
      env: {{- include "evalsvc.env" . | nindent 8 }}
      {{- with .ports }}
      ports: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .probes }}
      {{- . | nindent 6 }}
      {{- end }}
      resources: {{- toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: home, mountPath: /var/lib/evalsvc}
        {{- if .keys }}
        - {name: secrets, mountPath: /run/secrets/evalsvc, readOnly: true}
        {{- end }}
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: {{ .tmpSize | default "64Mi" }}}
    - name: home
      emptyDir: {sizeLimit: 64Mi}
    {{- if .keys }}
    - name: secrets
      {{- if $values.secrets.volume }}
      {{- toYaml $values.secrets.volume | nindent 6 }}
      {{- else }}
      secret:
        secretName: {{ $values.secrets.existingSecret }}
        optional: false
        defaultMode: 0440
        items:
          {{- range include "evalsvc.keys" . | splitList "," }}
          - {key: {{ . }}, path: {{ . }}}
          {{- end }}
      {{- end }}
    {{- end }}
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The keys that a role asks for and the secret has. */}}
{{- define "evalsvc.keys" -}}
{{- $there := list -}}
{{- $optional := list "CELERY_BROKER_URL" "DATABASE_ADMIN_URL" "DATABASE_SIGNIN_URL" "EVALSVC_METRICS_KEY" "EVALSVC_OIDC_CLIENT_SECRET" "EVALSVC_SMTP_PASSWORD" -}}
{{- range .keys -}}
{{- if or (not (has . $optional)) (has . $.root.Values.secrets.optional) -}}
{{- $there = append $there . -}}
{{- end -}}
{{- end -}}
{{- join "," $there -}}
{{- end -}}

{{- define "evalsvc.env" -}}
{{- $env := dict "EVALSVC_HOST" "0.0.0.0" "EVALSVC_BEHIND_PROXY" "1" "EVALSVC_ALIVE_FILE" "/tmp/alive" "PROMETHEUS_MULTIPROC_DIR" "/var/lib/evalsvc/metrics" -}}
{{- $_ := set $env "EVALSVC_ALLOWED_HOSTS" (include "evalsvc.allowedHosts" .root) -}}
{{- with .root.Values.outbound.allow }}{{ $_ := set $env "EVALSVC_OUTBOUND_ALLOW" (join "," .) }}{{ end -}}
{{- $_ := set $env "EVALSVC_OUTBOUND_PORTS" "443" -}}
{{- if .keys -}}
{{- range include "evalsvc.keys" . | splitList "," -}}
{{- $_ := set $env (printf "%s_FILE" .) (printf "/run/secrets/evalsvc/%s" .) -}}
{{- end -}}
{{- end -}}
{{- $env = mergeOverwrite $env .root.Values.settings (.env | default dict) -}}
{{- range $name, $value := $env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end -}}
{{- end -}}
