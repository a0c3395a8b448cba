package leases

import "errors"

// The kinds of refusal. A refusal changes no state, except ErrData. Every returned error wraps exactly one of these.
var (
	// ErrConfig: numbers or a source that cannot work; the message lists all problems.
	ErrConfig = errors.New("leases: configuration cannot work")
	// ErrState: state bytes, a base or a log that are damaged, foreign, newer, or do not prove what is claimed.
	ErrState = errors.New("leases: state refused")
	// ErrStale: a receipt, admission or version of something that has gone on without it.
	ErrStale = errors.New("leases: stale")
	// ErrUnknown: an id that is older than the retained history, or was never given.
	ErrUnknown = errors.New("leases: unknown")
	// ErrConflict: another party owns it, or the order of calls forbids it.
	ErrConflict = errors.New("leases: conflict")
	// ErrNotAdmitted: a commit that lacks admissions; names the missing role and rank.
	ErrNotAdmitted = errors.New("leases: not admitted")
	// ErrCohortChanged: the trainer ranks are no longer those that admitted.
	ErrCohortChanged = errors.New("leases: cohort changed")
	// ErrRefused: asked for something that the rules forbid whatever the timing.
	ErrRefused = errors.New("leases: refused")
	// ErrData: an outcome whose data is not what its execution was to make; counted as a failure of that execution.
	ErrData = errors.New("leases: bad data")
	// ErrClosed: the run is closed or closing.
	ErrClosed = errors.New("leases: closed")
	// ErrEndOfRun: a finite source has settled; there is nothing left to take.
	ErrEndOfRun = errors.New("leases: end of run")
	// ErrFailed: the run ended because too many groups failed; wraps the first failure's text.
	ErrFailed = errors.New("leases: too many failed groups")
	// ErrSource: a framework's own data source gave what cannot be taken, or failed.
	ErrSource = errors.New("leases: source")
	// ErrReplaced: a later life of the owner exists; this one must end.
	ErrReplaced = errors.New("leases: owner replaced")
	// ErrNotReady: a later life of the owner has not learned its base; ask again when trainers have attached.
	ErrNotReady = errors.New("leases: not ready")
	// ErrNoWorkers: nobody has been there for too long to run what is waited for.
	ErrNoWorkers = errors.New("leases: no workers")
	// ErrUpdateFailed: no engine holds the version that was sent; the run stays held.
	ErrUpdateFailed = errors.New("leases: update failed")
	// ErrLost: data or a party was lost before the operation could finish.
	ErrLost = errors.New("leases: lost")
)
