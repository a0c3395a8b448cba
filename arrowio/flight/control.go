package flight

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The headers of a call: the run's token; the way of transfer that a Client asks for and a Server of this package grants.
const (
	tokenHeader    = "outrider-token"
	transferHeader = "outrider-transfer"
	transferBytes  = "bytes"
)

// control goes as app_metadata: first what will come, last the checksum of what came.
type control struct {
	size        int64    // 1: bytes of the segment
	rows        int64    // 2
	fingerprint [32]byte // 3: of the schema
	end         bool     // 4
	checksum    uint32   // 5: CRC-32C of all bytes, with end
}

func (c control) marshal() []byte {
	varint := func(b []byte, number protowire.Number, x uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), x)
	}
	if c.end {
		return varint(varint(nil, 4, 1), 5, uint64(c.checksum))
	}
	b := varint(varint(nil, 1, uint64(c.size)), 2, uint64(c.rows))
	return protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), c.fingerprint[:])
}

func readControl(b []byte) (control, error) {
	var c control
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return c, fmt.Errorf("%w: control message", errWire)
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			x, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return c, fmt.Errorf("%w: control message", errWire)
			}
			switch number {
			case 1:
				c.size = int64(x)
			case 2:
				c.rows = int64(x)
			case 4:
				c.end = x != 0
			case 5:
				c.checksum = uint32(x)
			}
			b = b[n:]
		case protowire.BytesType:
			x, n := protowire.ConsumeBytes(b)
			if n < 0 || number == 3 && len(x) != len(c.fingerprint) {
				return c, fmt.Errorf("%w: control message", errWire)
			}
			if number == 3 {
				copy(c.fingerprint[:], x)
			}
			b = b[n:]
		default:
			return c, fmt.Errorf("%w: control message", errWire)
		}
	}
	return c, nil
}
