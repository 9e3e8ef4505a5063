{{/* Labels of every object. */}}
{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/part-of: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* `metadata` of an object. Dict: root, name, component (optional), pool (optional), labels, annotations. */}}
{{- define "sluice.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "sluice.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .pool }}
  sluice/pool: {{ . }}
  {{- end }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with mustMergeOverwrite (dict) (deepCopy .root.Values.annotations) (deepCopy (.annotations | default dict)) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Labels that select the pods of a component. Dict: component, pool (optional). */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/component: {{ .component }}
{{- with .pool }}
sluice/pool: {{ . }}
{{- end }}
{{- end }}

{{/* Dict: root, image. */}}
{{- define "sluice.image" -}}
{{- $registry := .root.Values.image.registry -}}
{{- $tag := .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- if $registry }}{{ trimSuffix "/" $registry }}/{{ end }}{{ .image.repository }}:{{ $tag }}
{{- end }}

{{/* Name of the service account of a component. Dict: root, account, name. */}}
{{- define "sluice.account" -}}
{{- .account.name | default (ternary (printf "%s-%s" .root.Values.fullname .name) "default" .account.create) -}}
{{- end }}

{{- define "sluice.claim" -}}
{{- .Values.modelsVolume.existingClaim | default (printf "%s-models" .Values.fullname) -}}
{{- end }}

{{/* Names of the enabled pools, as a JSON list. Text first: its small models should answer soon after an installation. */}}
{{- define "sluice.poolNames" -}}
{{- $names := list -}}
{{- range $name := concat (list "text" "embedding" "image" "audio" "video") (keys .Values.pools | sortAlpha) | uniq -}}
{{- if (index $.Values.pools $name | default dict).enabled }}{{ $names = append $names $name }}{{ end -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{/* Models of all pools, as `sluice models pull` takes them. */}}
{{- define "sluice.models" -}}
{{- $models := list -}}
{{- range $name := include "sluice.poolNames" . | fromJsonArray -}}
{{- $models = concat $models (index $.Values.pools $name).models -}}
{{- end -}}
{{- $models | uniq | toJson -}}
{{- end }}

{{/* SLUICE_POOLS: the models of each pool. */}}
{{- define "sluice.pools" -}}
{{- $pools := list -}}
{{- range $name := include "sluice.poolNames" . | fromJsonArray -}}
{{- $pools = append $pools (printf "%s=%s" $name (join "," (index $.Values.pools $name).models)) -}}
{{- end -}}
{{- join ";" $pools -}}
{{- end }}

{{/* Sources of the projected volume of secrets. */}}
{{- define "sluice.databaseSecret" -}}
- secret:
    name: {{ .Values.stores.database.existingSecret }}
    items:
      - { key: {{ .Values.stores.database.urlKey | quote }}, path: database-url }
{{- end }}

{{/* Dict: root, name. */}}
{{- define "sluice.queueSecret" -}}
- secret:
    name: {{ .name }}
    items:
      - { key: {{ .root.Values.stores.queue.urlKey | quote }}, path: redis-url }
      - { key: {{ .root.Values.stores.queue.keyKey | quote }}, path: queue-key }
{{- end }}

{{- define "sluice.payloadsSecret" -}}
- secret:
    name: {{ .Values.stores.payloads.existingSecret }}
    items:
      - { key: {{ .Values.stores.payloads.keyKey | quote }}, path: secret-key }
{{- end }}

{{/* Dict: store, name. */}}
{{- define "sluice.artifactsSecret" -}}
- secret:
    name: {{ .name }}
    items:
      - { key: {{ .store.accessKeyIdKey | quote }}, path: s3-access-key-id }
      - { key: {{ .store.secretAccessKeyKey | quote }}, path: s3-secret-access-key }
{{- end }}

{{/* Variables that name the mounted secrets of api and ops. */}}
{{- define "sluice.trustedFiles" -}}
- { name: DATABASE_URL_FILE, value: /run/secrets/sluice/database-url }
- { name: REDIS_URL_FILE, value: /run/secrets/sluice/redis-url }
- { name: SLUICE_QUEUE_KEY_FILE, value: /run/secrets/sluice/queue-key }
- { name: SLUICE_SECRET_KEY_FILE, value: /run/secrets/sluice/secret-key }
- { name: SLUICE_S3_ACCESS_KEY_ID_FILE, value: /run/secrets/sluice/s3-access-key-id }
- { name: SLUICE_S3_SECRET_ACCESS_KEY_FILE, value: /run/secrets/sluice/s3-secret-access-key }
{{- end }}

{{- define "sluice.trustedVolumes" -}}
- name: secrets
  projected:
    {{- /* 0440; parsers of YAML disagree about octal numbers. */}}
    defaultMode: 288
    sources:
      {{- include "sluice.databaseSecret" . | nindent 6 }}
      {{- include "sluice.queueSecret" (dict "root" . "name" .Values.stores.queue.existingSecret) | nindent 6 }}
      {{- include "sluice.payloadsSecret" . | nindent 6 }}
      {{- $artifacts := .Values.stores.artifacts }}
      {{- include "sluice.artifactsSecret" (dict "store" $artifacts "name" $artifacts.existingSecret) | nindent 6 }}
{{- end }}

{{/* Fails the rendering when a pod is killed before its drain can be over. Dict: name, given, needed (in s). */}}
{{- define "sluice.requireGrace" -}}
{{- if lt (int .given) (int .needed) }}
{{- fail (printf "%s: terminationGracePeriodSeconds is %d, and needs at least %d" .name (int .given) (int .needed)) }}
{{- end }}
{{- end }}
