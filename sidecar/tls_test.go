package sidecar

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"outrider/arrowio/arrowtest"
	"outrider/arrowio/flight/flighttest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// authority signs certificates of hosts.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{cert, key}
}

// host makes the certificates of a host that is reached by a name or an IP.
func (a authority) host(t *testing.T, name string) *wire.Tls {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	tls := &wire.Tls{}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames, tls.Name = []string{name}, name
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	tls.Ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	tls.Cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	tls.Key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	return tls
}

// secured is the test's run with certificates.
func secured(tls *wire.Tls) *wire.Run {
	run := proto.CloneOf(testRun)
	run.Tls = tls
	return run
}

func accessOf(t *testing.T, tls *wire.Tls) bridge.Access {
	t.Helper()
	access, err := bridge.NewAccess(secured(tls))
	require.NoError(t, err)
	return access
}

func TestS11_10_WithCertificatesASegmentIsFetchedFromWhoHasOne(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	for i, c := range []struct {
		what         string
		holder, asks *wire.Tls
		says         string
	}{
		{"by address", ours.host(t, "127.0.0.1"), ours.host(t, "10.0.0.1"), ""},
		{"by a name", ours.host(t, "rollouts"), ours.host(t, "rollouts"), ""},
		{"another CA", theirs.host(t, "127.0.0.1"), ours.host(t, "127.0.0.1"), "signed by unknown authority"},
		{"another host's", ours.host(t, "10.0.0.1"), ours.host(t, "127.0.0.1"), "valid for 10.0.0.1, not 127.0.0.1"},
		{"no certificates there", nil, ours.host(t, "127.0.0.1"), "does not look like a TLS handshake"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			session := 0x77150 + uint64(i)
			from := apart(t, session, accessOf(t, c.holder), nil, arrowtest.Rollouts(t, 2, 3, 4))
			p := &Process{host: "this"}
			t.Cleanup(p.shares.stop)
			fds, err := p.fetch(accessOf(t, c.asks), from, []*wire.SegmentId{{Holder: session, Number: 1}}, 0)
			bridge.CloseDescriptors(fds)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, bridge.Refused, kindOf(err), "asking again would not help")
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "give every host of the run the same ca")
		})
	}
}

func TestS11_10_CertificatesThatCannotWorkAreRefusedWhereTheyAreGiven(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	good := ours.host(t, "127.0.0.1")
	for says, spoil := range map[string]func(*wire.Tls){
		"ca has no certificate":                func(tls *wire.Tls) { tls.Ca = []byte("ca.pem") },
		"cert and key":                         func(tls *wire.Tls) { tls.Key = theirs.host(t, "127.0.0.1").GetKey() },
		"would not trust cert: x509":           func(tls *wire.Tls) { tls.Ca = theirs.host(t, "127.0.0.1").GetCa() },
		"is not valid for any names, but want": func(tls *wire.Tls) { tls.Name = "rollouts" },
	} {
		tls := proto.CloneOf(good)
		spoil(tls)
		_, err := bridge.NewAccess(secured(tls))
		require.Equal(t, bridge.Config, kindOf(err), says)
		require.ErrorContains(t, err, says)
	}
}

func TestS11_11_AStockFlightClientReadsAGroupOverTLS(t *testing.T) {
	t.Parallel()
	python := flighttest.Stock(t, "..")
	tls := newAuthority(t).host(t, "127.0.0.1")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, tls.GetCa(), 0o600))
	const session = 0x77160
	from := apart(t, session, accessOf(t, tls), nil, arrowtest.Rollouts(t, 2, 3, 4))
	ticket, err := proto.Marshal(&wire.Locator{Segment: &wire.SegmentId{Holder: session, Number: 1}, FirstRow: 2, Rows: 2})
	require.NoError(t, err)
	script := `
import sys, pyarrow.flight as f
c = f.connect("grpc+tls://" + sys.argv[1], tls_root_certs=open(sys.argv[2], "rb").read())
o = f.FlightCallOptions(headers=[(b"outrider-token", sys.argv[3].encode())])
print(c.do_get(f.Ticket(sys.stdin.buffer.read()), o).read_all().num_rows)
`
	client := exec.Command(python, "-c", script, from.GetAddress(), ca, testRun.GetToken())
	client.Stdin = bytes.NewReader(ticket)
	out, err := client.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "2", strings.TrimSpace(string(out)))
}

// joinAs is what the owner at an address, which is reached as one of another host, answers a client with certificates.
func joinAs(t *testing.T, address string, tls *wire.Tls) *wire.Frame {
	t.Helper()
	s := startShim(t)
	port, _, _ := strings.Cut(address, "@")
	s.located(port)
	return s.ask(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{Run: secured(tls), Address: port, Name: "driver"}}})
}

func TestS11_10_TheOwnerIsReachedOverTLSByThoseOfItsCA(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	owner := startShim(t)
	table := shared(t, arrowtest.Table(t, 8))
	own := &wire.Own{Run: secured(ours.host(t, "127.0.0.1")), Config: testConfig(), Ip: "127.0.0.1"}
	address := owner.must(&wire.Frame{Body: &wire.Frame_Own{Own: own}}, table).GetOwned().GetAddress()
	require.NoError(t, unix.Close(table))

	require.Empty(t, joinAs(t, address, ours.host(t, "127.0.0.1")).GetError().GetMessage())
	refusal := joinAs(t, address, newAuthority(t).host(t, "127.0.0.1")).GetError()
	require.Equal(t, string(bridge.Refused), refusal.GetKind())
	require.Contains(t, refusal.GetMessage(), "give every host of the run the same ca")
}
