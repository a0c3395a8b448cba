package sidecar

import (
	"errors"

	"outrider/bridge"
)

// Exit codes of `outrider sidecar`.
const (
	ExitDrained      = 0 // the shim left in order, or the run ended
	ExitInternal     = 1
	ExitUsage        = 2
	ExitParentLost   = 3
	ExitIncompatible = 4 // no common protocol
	ExitState        = 5 // state bytes refused
)

var (
	errParentLost   = errors.New("outrider: the parent process has gone")
	errIncompatible = errors.New("outrider: shim and sidecar have no protocol in common")
)

// exitCode says how a process that ended with err exits.
func exitCode(err error) int {
	var named *bridge.Error
	switch {
	case err == nil:
		return ExitDrained
	case errors.Is(err, errParentLost):
		return ExitParentLost
	case errors.Is(err, errIncompatible):
		return ExitIncompatible
	case errors.As(err, &named) && named.Kind == bridge.State:
		return ExitState
	default:
		return ExitInternal
	}
}
