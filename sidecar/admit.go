package sidecar

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// partSegments is how many segments one frame hands to the shim, below the kernel's 253 descriptors a message.
const partSegments = 200

// holdersAtOnce is from how many holders a shard is fetched at a time: one of them may be slow, and all share this host's network.
const holdersAtOnce = 4

// publicationDigest is the SHA-256 of a publication without its digest, in protobuf's deterministic encoding. Only this build's
// sidecars compute it, always over the same message type.
func publicationDigest(publication *wire.Publication) ([]byte, error) {
	bare := &wire.Publication{}
	proto.Merge(bare, publication)
	bare.Digest = nil
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return sum[:], nil
}

// reads joins the shards of a publication that a rank reads to one; none named are all.
func reads(publication *wire.Publication, shards []uint32) (*wire.Shard, error) {
	have := publication.GetShards()
	read := have
	if len(shards) > 0 {
		read = nil
	}
	for _, index := range shards {
		if int(index) >= len(have) {
			return nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: shard %d of admission %d, which has %d; name one from 0 to %d", index, publication.GetAdmission(), len(have), len(have)-1))
		}
		read = append(read, have[index])
	}
	all := &wire.Shard{}
	for _, shard := range read {
		all.Locators = append(all.Locators, shard.GetLocators()...)
		all.Groups = append(all.Groups, shard.GetGroups()...)
		all.Attempts = append(all.Attempts, shard.GetAttempts()...)
	}
	return all, nil
}

// admit makes shards this rank's: their segments are fetched and checked, then the owner gets the proof, then the shim the memory.
func (m *member) admit(frame *wire.Frame, admit *wire.Admit) {
	publication := admit.GetPublication()
	digest, err := publicationDigest(publication)
	if err == nil && !bytes.Equal(digest, publication.GetDigest()) {
		err = bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: publication of admission %d was changed on the way; admit what publish() gave", publication.GetAdmission()))
	}
	var shard *wire.Shard
	if err == nil {
		shard, err = reads(publication, admit.GetShards())
	}
	if err != nil {
		m.p.answer(frame, nil, err)
		return
	}
	m.hold(admit, shard, func(ids []*wire.SegmentId, fds []int, err error) {
		if err != nil {
			m.p.answer(frame, nil, err)
			return
		}
		m.deliver(frame, publication, shard, ids, fds)
	})
}

// hold fetches a shard and tells the owner that this rank has it; then runs in the loop and owns the descriptors.
func (m *member) hold(admit *wire.Admit, shard *wire.Shard, then func(ids []*wire.SegmentId, fds []int, err error)) {
	publication := admit.GetPublication()
	m.fetching(publication, shard, func(ids []*wire.SegmentId, fds []int, err error) {
		if err != nil {
			then(nil, nil, err)
			return
		}
		proof := &wire.Admit{
			Publication: &wire.Publication{Admission: publication.GetAdmission(), Rollout: publication.GetRollout(), Digest: publication.GetDigest()},
			Shards:      admit.GetShards(), Role: admit.GetRole(), Rank: admit.GetRank(), Generation: admit.GetGeneration(),
		}
		m.ask(&wire.Frame{Body: &wire.Frame_Admit{Admit: proof}}, func(answer *wire.Frame) {
			if err := bridge.FromWire(answer.GetError()); err != nil {
				bridge.CloseDescriptors(fds)
				then(nil, nil, err)
				return
			}
			then(ids, fds, nil)
		})
	})
}

// fetching gets a shard outside the loop; then runs in the loop and owns the descriptors.
func (m *member) fetching(publication *wire.Publication, shard *wire.Shard, then func(ids []*wire.SegmentId, fds []int, err error)) {
	go func() {
		ids, fds, err := m.p.fetchShard(m.access, publication, shard)
		if !m.p.loop.post(func() { then(ids, fds, err) }) {
			bridge.CloseDescriptors(fds)
		}
	}()
}

// deliver hands the memory of a shard to the shim, in the answer to frame.
func (m *member) deliver(frame *wire.Frame, publication *wire.Publication, shard *wire.Shard, ids []*wire.SegmentId, fds []int) {
	all := ids
	for len(ids) > partSegments {
		m.p.shim.put(&wire.Frame{Member: m.id, Body: &wire.Frame_Fetched{Fetched: &wire.Fetched{Segments: ids[:partSegments]}}}, fds[:partSegments]...)
		ids, fds = ids[partSegments:], fds[partSegments:]
	}
	m.p.answer(frame, &wire.Frame{Body: &wire.Frame_Admitted{Admitted: &wire.Admitted{
		Segments: all, Locators: shard.GetLocators(), Groups: shard.GetGroups(), Attempts: shard.GetAttempts(),
		Admission: publication.GetAdmission(), Rollout: publication.GetRollout(),
	}}}, nil, fds...)
}

func bySession(endpoints []*wire.Endpoint) map[uint64]*wire.Endpoint {
	by := make(map[uint64]*wire.Endpoint, len(endpoints))
	for _, endpoint := range endpoints {
		by[endpoint.GetSession()] = endpoint
	}
	return by
}

// fetchShard gets each segment of a shard once and checks it. The descriptors, in the order of the ids, are the caller's.
func (p *Process) fetchShard(access bridge.Access, publication *wire.Publication, shard *wire.Shard) ([]*wire.SegmentId, []int, error) {
	endpoints := bySession(publication.GetEndpoints())
	// What has the same holder and keeper is fetched together.
	type place struct{ holder, keeper uint64 }
	wanted := map[place][]*wire.SegmentId{}
	seen := map[segmentKey]bool{}
	var all []place
	need := func(locator *wire.Locator) {
		if key := keyOf(locator.GetSegment()); !seen[key] {
			seen[key] = true
			at := place{key.holder, locator.GetKeeper()}
			if wanted[at] == nil {
				all = append(all, at)
			}
			wanted[at] = append(wanted[at], locator.GetSegment())
		}
	}
	for _, locator := range shard.GetLocators() {
		need(locator)
		for _, columns := range locator.GetColumns() {
			need(columns)
		}
	}
	for _, at := range all {
		if endpoints[at.holder] == nil && endpoints[at.keeper] == nil {
			return nil, nil, bridge.NewError(bridge.Revoked, fmt.Sprintf(
				"outrider: session %016x, which held data of rollout %d, is gone; take the rollout again", at.holder, publication.GetRollout()))
		}
	}
	got, failed := make([][]int, len(all)), make([]error, len(all))
	turns := make(chan struct{}, holdersAtOnce)
	var done sync.WaitGroup
	for i, at := range all {
		turns <- struct{}{}
		done.Add(1)
		go func() {
			defer done.Done()
			defer func() { <-turns }()
			if got[i], failed[i] = p.fetchEither(access, endpoints[at.holder], endpoints[at.keeper], wanted[at], publication.GetRollout()); failed[i] == nil {
				failed[i] = checkSegments(wanted[at], got[i])
			}
		}()
	}
	done.Wait()
	fds := slices.Concat(got...)
	for _, err := range failed {
		if err != nil {
			bridge.CloseDescriptors(fds)
			return nil, nil, err
		}
	}
	var ids []*wire.SegmentId
	for _, at := range all {
		ids = append(ids, wanted[at]...)
	}
	return ids, fds, nil
}

// checkSegments sees that what another sidecar of this host handed over is sealed. Its rows were checked when it was sealed, before
// anybody heard of them (sealReport), and cannot have changed since; in a run with checksums that is seen, too.
func checkSegments(ids []*wire.SegmentId, fds []int) error {
	for i, id := range ids {
		fd := fds[i]
		if id.Checksum == nil {
			if _, err := arrowio.CheckSealed(fd); err != nil {
				return named(err)
			}
			continue
		}
		own, err := duplicate(fd)
		if err != nil {
			return err
		}
		segment, err := arrowio.Open(own)
		if err != nil {
			return named(err)
		}
		err = checkSum(fmt.Sprintf("segment %d of session %016x", id.GetNumber(), id.GetHolder()), segment, id.GetChecksum())
		segment.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSum compares a segment, named for the error, with what its writer says of it. The cost is O(bytes).
func checkSum(name string, segment *arrowio.Segment, want uint32) error {
	got, err := segment.Checksum()
	if err == nil && got != want {
		err = bridge.NewError(bridge.Damaged, fmt.Sprintf("outrider: %s has CRC-32 %08x, its writer said %08x; look for what changes columns while they are written", name, got, want))
	}
	return err
}
