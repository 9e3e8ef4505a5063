{{/*
Metadata and spec of a pod template. Dict: root, values (of the component, with the defaults), component, pool (optional),
account, annotations (optional), containers and volumes (text), initContainers (text, optional), isJob.
*/}}
{{- define "sluice.podTemplate" -}}
{{- $values := .values -}}
metadata:
  labels:
    {{- include "sluice.selector" . | nindent 4 }}
    app.kubernetes.io/part-of: sluice
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with mustMergeOverwrite (dict) (deepCopy (.annotations | default dict)) (deepCopy $values.podAnnotations) }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .isJob }}
  restartPolicy: OnFailure
  {{- end }}
  serviceAccountName: {{ .account }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $values.terminationGracePeriodSeconds }}
  terminationGracePeriodSeconds: {{ . }}
  {{- end }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- range $name := list "priorityClassName" "runtimeClassName" "schedulerName" }}
  {{- with index $values $name }}
  {{ $name }}: {{ . }}
  {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml $values.topologySpreadConstraints | nindent 4 }}
  {{- else if not .isJob }}
  topologySpreadConstraints:
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "sluice.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- $sidecars := list }}
  {{- if .isJob }}
  {{- range $values.extraContainers }}
  {{- $sidecars = append $sidecars (mustMergeOverwrite (deepCopy .) (dict "restartPolicy" "Always")) }}
  {{- end }}
  {{- end }}
  {{- if or $sidecars $values.extraInitContainers .initContainers }}
  initContainers:
    {{- with $sidecars }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $values.extraInitContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .initContainers }}
    {{- . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    {{- .containers | nindent 4 }}
    {{- if not .isJob }}
    {{- with $values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
  volumes:
    {{- .volumes | nindent 4 }}
    - name: temporary
      emptyDir:
        sizeLimit: {{ $values.temporarySizeLimit }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/*
One container of the chart. Dict: root, values, name, image, args (list), env (text, optional), ports (dict of numbers,
optional), settings (names of ConfigMaps), mounts (text, optional), hasSecrets, hasProbes.
*/}}
{{- define "sluice.container" -}}
{{- $values := .values -}}
- name: {{ .name }}
  image: {{ include "sluice.image" (dict "root" .root "image" .image) }}
  {{- with .root.Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args: {{ toJson .args }}
  {{- with .ports }}
  ports:
    {{- range $name, $port := . }}
    - name: {{ $name }}
      containerPort: {{ $port }}
    {{- end }}
  {{- end }}
  {{- if or .settings $values.extraEnvFrom }}
  envFrom:
    {{- range .settings }}
    - configMapRef:
        name: {{ . }}
    {{- end }}
    {{- with $values.extraEnvFrom }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- if or .env $values.extraEnv }}
  env:
    {{- with .env }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with $values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- if .hasProbes }}
  {{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" }}
  {{- with index $values $name }}
  {{ $name }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- with $values.lifecycle }}
  lifecycle:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml $values.resources | nindent 4 }}
  securityContext:
    {{- toYaml $values.securityContext | nindent 4 }}
  volumeMounts:
    {{- if .hasSecrets }}
    - { name: secrets, mountPath: /run/secrets/sluice, readOnly: true }
    {{- end }}
    {{- with .mounts }}
    {{- . | nindent 4 }}
    {{- end }}
    - { name: temporary, mountPath: /tmp }
    {{- with $values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Annotations of pods that are scraped and restart with their settings. Dict: root, port. */}}
{{- define "sluice.podAnnotations" -}}
prometheus.io/scrape: 'true'
prometheus.io/path: /metrics
prometheus.io/port: {{ .port | quote }}
checksum/settings: {{ toJson .root.Values.settings | sha256sum }}
{{- end }}
