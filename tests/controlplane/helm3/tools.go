//go:build tools

// Package controlplane pins the Helm 3 that the chart is tested with.
package controlplane

import _ "helm.sh/helm/v3/cmd/helm"
