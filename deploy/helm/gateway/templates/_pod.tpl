{{/* A number as it was written: large ones would come out as 1e+09. */}}
{{- define "gateway.text" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Settings that are secret, each with its Secret and key. */}}
{{- define "gateway.secrets" -}}
{{- $secrets := deepCopy .Values.secrets }}
{{- $named := dict "DATABASE_URL" .Values.database "REDIS_URL" .Values.redis "GATEWAY_ENCRYPTION_KEY" .Values.encryptionKey "GATEWAY_ADMIN_KEY" .Values.adminKey }}
{{- range $name, $from := $named }}
{{- if $from.existingSecret }}
{{- $_ := set $secrets $name $from }}
{{- end }}
{{- end }}
{{- toYaml $secrets }}
{{- end }}

{{/* Secrets come as files: they are then in no environment that a crash or a child process shows. */}}
{{- define "gateway.env" -}}
- name: PORT
  value: "8787"
- name: GATEWAY_DATA_DIR
  value: /data
{{- if .Values.tls.existingSecret }}
- name: GATEWAY_TLS_CERT_FILE
  value: /etc/gateway/tls/tls.crt
- name: GATEWAY_TLS_KEY_FILE
  value: /etc/gateway/tls/tls.key
{{- end }}
{{- range $name, $_ := fromYaml (include "gateway.secrets" .) }}
- name: {{ $name }}_FILE
  value: /etc/gateway/secrets/{{ $name }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ include "gateway.text" $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gateway.envFrom" -}}
{{- with .Values.providers.existingSecret }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gateway.volumeMounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if fromYaml (include "gateway.secrets" .) }}
- name: secrets
  mountPath: /etc/gateway/secrets
  readOnly: true
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tls
  mountPath: /etc/gateway/tls
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* All but data, which differs. */}}
{{- define "gateway.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmpSize }}
{{- with fromYaml (include "gateway.secrets" .) }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $from := . }}
      - secret:
          name: {{ $from.existingSecret }}
          items:
            - key: {{ $from.key | quote }}
              path: {{ $name }}
      {{- end }}
{{- end }}
{{- with .Values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gateway.applyVolume" -}}
- name: apply
  configMap:
    name: {{ include "gateway.applyConfigMap" . }}
    items:
      - key: {{ .Values.apply.key | quote }}
        path: gateway.yaml
{{- end }}

{{- define "gateway.spool" -}}
- name: data
  emptyDir:
    sizeLimit: {{ .Values.persistence.spoolSize }}
{{- end }}

{{/* `gateway apply`, as the container of a Job or before the gateway in its pod. */}}
{{- define "gateway.applyContainer" -}}
name: apply
image: {{ include "gateway.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - apply
  - /etc/gateway/apply/gateway.yaml
  - "--yes"
  {{- if .Values.apply.prune }}
  - "--prune"
  {{- end }}
env:
  {{- include "gateway.env" . | nindent 2 }}
{{- $envFrom := concat (fromYamlArray (include "gateway.envFrom" .)) .Values.apply.envFrom }}
{{- with $envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  {{- include "gateway.volumeMounts" . | nindent 2 }}
  - name: apply
    mountPath: /etc/gateway/apply
    readOnly: true
{{- end }}

{{/* What pods of nodes and of the Job have in common. */}}
{{- define "gateway.placement" -}}
serviceAccountName: {{ include "gateway.serviceAccount" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automountToken }}
# A Service named gateway would put its address and port into variables that look like misspelt settings.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "gateway.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (not (empty .root.Values.tls.existingSecret)) }}
{{ toYaml .probe }}
{{- end }}

{{/* The pod of a node, without the volume of its data. */}}
{{- define "gateway.pod" -}}
metadata:
  labels:
    {{- include "gateway.labels" . | nindent 4 }}
    app.kubernetes.io/component: node
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $embeddedApply := and .Values.apply.enabled (not (include "gateway.onPostgres" .)) }}
  {{- if or .Values.podAnnotations $embeddedApply }}
  annotations:
    {{- if $embeddedApply }}
    # Another file is another pod, in which it is applied.
    checksum/apply: {{ toYaml .Values.apply | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  {{- include "gateway.placement" . | nindent 2 }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    - {{- toYaml . | nindent 6 }}
      {{- if not .labelSelector }}
      labelSelector:
        matchLabels:
          {{- include "gateway.nodeLabels" $ | nindent 10 }}
      {{- end }}
    {{- end }}
  {{- end }}
  # Time to be noticed, time for open requests, and some for the log.
  terminationGracePeriodSeconds: {{ add .Values.preStopSeconds (get .Values.settings "GATEWAY_SHUTDOWN_SECONDS" | default 30) 10 }}
  {{- if $embeddedApply }}
  initContainers:
    - {{- include "gateway.applyContainer" . | nindent 6 }}
  {{- end }}
  containers:
    - name: gateway
      image: {{ include "gateway.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        {{- include "gateway.env" . | nindent 8 }}
      {{- with fromYamlArray (include "gateway.envFrom" .) }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8787
      startupProbe:
        {{- include "gateway.probe" (dict "root" . "path" "/health" "probe" .Values.probes.startup) | nindent 8 }}
      livenessProbe:
        {{- include "gateway.probe" (dict "root" . "path" "/health" "probe" .Values.probes.liveness) | nindent 8 }}
      readinessProbe:
        {{- include "gateway.probe" (dict "root" . "path" "/ready" "probe" .Values.probes.readiness) | nindent 8 }}
      {{- if .Values.preStopSeconds }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ .Values.preStopSeconds }}
      {{- end }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        {{- include "gateway.volumeMounts" . | nindent 8 }}
  volumes:
    {{- include "gateway.volumes" . | nindent 4 }}
    {{- if $embeddedApply }}
    {{- include "gateway.applyVolume" . | nindent 4 }}
    {{- end }}
{{- end }}
