//go:build tools

// Package controlplane pins the Helm 4 that the chart is tested with.
package controlplane

import _ "helm.sh/helm/v4/cmd/helm"
