{{- define "gateway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Short enough that "-apply" and the number of a pod still fit into 63 characters. */}}
{{- define "gateway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "gateway.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "gateway.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Every pod of the release, the one of the Job included. */}}
{{- define "gateway.instanceLabels" -}}
app.kubernetes.io/name: {{ include "gateway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The pods that serve. */}}
{{- define "gateway.nodeLabels" -}}
{{ include "gateway.instanceLabels" . }}
app.kubernetes.io/component: node
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.instanceLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gateway.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "gateway.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "gateway.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "yes" or nothing. */}}
{{- define "gateway.onPostgres" -}}
{{- if .Values.database.existingSecret }}yes{{ end }}
{{- end }}

{{/* Whether there is more than one node at times. */}}
{{- define "gateway.many" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) }}yes{{ end }}
{{- end }}

{{- define "gateway.applyConfigMap" -}}
{{- default (printf "%s-apply" (include "gateway.fullname" .)) .Values.apply.existingConfigMap }}
{{- end }}
