package sidecar

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
)

// The kinds of sources on the wire.
const (
	sourceTable  = ""
	sourceKeyed  = "keyed"
	sourceStream = "stream"
	sourcePulled = "pulled"
)

// sourceOf describes a source to the core by what a run would consume of it.
func sourceOf(said *wire.Source, table *arrowio.Segment) (leases.Source, error) {
	source := leases.Source{Len: table.Rows(), Epochs: said.GetEpochs(), Shuffle: said.GetShuffle(), Seed: said.GetSeed()}
	var err error
	switch kind := said.GetKind(); kind {
	case sourceTable:
		source.Identity, err = tableIdentity(table)
	case sourceKeyed:
		if len(said.GetIdentity()) != sha256.Size {
			return source, bridge.NewError(bridge.Config, fmt.Sprintf("outrider: a keyed source has an identity of %d bytes; give one of %d", len(said.GetIdentity()), sha256.Size))
		}
		source.Keyed, source.Len = true, said.GetRows()
		source.Identity = sha256.Sum256(append([]byte(sourceKeyed+"\x00"), said.GetIdentity()...))
	case sourceStream, sourcePulled:
		if len(said.GetIdentity()) != sha256.Size {
			return source, bridge.NewError(bridge.Config, fmt.Sprintf("outrider: a source of kind %q has an identity of %d bytes; give one of %d", kind, len(said.GetIdentity()), sha256.Size))
		}
		source = leases.StreamSource(sha256.Sum256(append([]byte(kind+"\x00"), said.GetIdentity()...)))
		source.Pulled = kind == sourcePulled
	default:
		err = bridge.NewError(bridge.Config, fmt.Sprintf("outrider: source kind %q is not known; use a table, %q, %q or %q", kind, sourceKeyed, sourceStream, sourcePulled))
	}
	return source, err
}

// tableIdentity digests what a run would consume of a table: its columns and their values, wherever the file was and however its
// writer laid it out. Types that have no canonical text, and more of it than is sensible, go by the bytes of the stream.
func tableIdentity(table *arrowio.Segment) ([sha256.Size]byte, error) {
	if table.Rows() == 0 {
		return [sha256.Size]byte{}, bridge.NewError(bridge.Config, "outrider: the source has 0 rows; give a table with at least one prompt")
	}
	columns, err := arrowio.ColumnDigests(table.Schema(), table.Records(), table.Size())
	var unsupported *arrowio.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return table.ContentDigest()
	case err != nil:
		return [sha256.Size]byte{}, err
	}
	h := sha256.New()
	for i, field := range table.Schema().Fields() {
		fmt.Fprintf(h, "%q %s\n", field.Name, columns[i])
	}
	_, _ = io.WriteString(h, "table")
	return [sha256.Size]byte(h.Sum(nil)), nil
}
