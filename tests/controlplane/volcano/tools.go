//go:build tools

// Package controlplane pins the peers that the benchmarks compare with.
package controlplane

import (
	_ "volcano.sh/volcano/cmd/controller-manager"
	_ "volcano.sh/volcano/cmd/scheduler"
)
