//go:build tools

// Package controlplane pins an older control plane, for runs on the versions of Kubernetes that are supported.
package controlplane

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
