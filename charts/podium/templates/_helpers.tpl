{{- define "podium.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "podium.account" -}}
{{- .Values.serviceAccount.name | default (include "podium.name" .) -}}
{{- end -}}

{{- define "podium.selector" -}}
app.kubernetes.io/name: podium
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "podium.labels" -}}
{{ include "podium.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "podium.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The dialects that are spoken, as JSON: those of the values, or every one that has files. */}}
{{- define "podium.dialects" -}}
{{- $known := list -}}
{{- range $path, $_ := .Files.Glob "files/dialects/*/rights.yaml" -}}
{{- $known = append $known (base (dir $path)) -}}
{{- end -}}
{{- range .Values.dialects -}}
{{- if not (has . $known) -}}
{{- fail (printf "dialects: there is no %s; there are %s" . (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- .Values.dialects | default $known | toJson -}}
{{- end -}}

{{- define "podium.container" -}}
image: {{ include "podium.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "podium.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
