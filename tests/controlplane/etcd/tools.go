//go:build tools

// Package controlplane pins the store of the control plane that the tests run against.
package controlplane

import _ "go.etcd.io/etcd/server/v3"
