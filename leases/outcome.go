package leases

// Kind says how an execution ended.
type Kind uint8

const (
	// Success carries data: every parent slot has at least one sample.
	Success Kind = iota + 1
	// Retry asks for another attempt that is not the data's fault, for example when an engine aborted.
	Retry
	// Failure says that the user's function failed on this data; it uses up a data attempt.
	Failure
	// Discard says that the group is consumed without training, for example because all rewards are equal.
	Discard
)

func (k Kind) String() string {
	return [...]string{"none", "success", "retry", "failure", "discard"}[min(k, Discard)]
}

// Outcome is how one execution ended, as its worker's sidecar read it from the sealed data.
type Outcome struct {
	Kind Kind
	// Reason is a short word for Retry and Discard ("zero_std"), the error's text for Failure.
	Reason string
	// Slots has the parent slot of each sample (row), 0..group size-1, in row order. Success only.
	Slots []int32
	// Parents has the group identity of each sample as read from the data, in row order; nil means that the
	// sidecar filled the identities in by itself.
	Parents []int64
	// Aborted counts samples whose status is aborted; a success with any is treated as Retry.
	Aborted int
	// Failed has the parent slot of each sample whose status is failed; a success with any is treated as Failure.
	Failed []int32
	// Tokens counts prompt and response tokens over all samples.
	Tokens int64
	// HasVersions is false when no sample carried versions: the group is then charged the version that was
	// announced when it was dispatched.
	HasVersions bool
	// MinVersion and MaxVersion are the oldest and newest weight version that any token used.
	MinVersion, MaxVersion int64
	// SumVersions is the sum over samples of each sample's oldest version: the tie-break of eviction.
	SumVersions int64
	// Bytes is the size of the data on the worker's host.
	Bytes int64
	// Handle is where the data is; never 0 with Success.
	Handle Handle
	// Digest identifies the data's content. It makes a repeated report recognisable as the same one.
	Digest [32]byte
	// Columns are those of the data that are a user's own.
	Columns []Column
	// Row identifies the prompt that the worker made. Keyed sources only.
	Row RowPrint
}
