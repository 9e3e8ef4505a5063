{{/* Dict: root, name, component, pool (optional), budget. */}}
{{- define "sluice.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "sluice.metadata" . | nindent 2 }}
spec:
  {{- toYaml .budget | nindent 2 }}
  selector:
    matchLabels:
      {{- include "sluice.selector" . | nindent 6 }}
{{- end }}
