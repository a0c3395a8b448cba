package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"outrider/bridge/wire"
)

// Access is what processes of one run show each other. The token says who may ask; it crosses a network only to those whose certificate
// holds, where the run has certificates.
type Access struct {
	Token string
	// Serve and Dial are the two ends of a connection to another host; both in the clear when the run has no certificates.
	Serve, Dial credentials.TransportCredentials
}

// NewAccess reads a run's token and certificates. The error, of kind Config, says which part cannot work on this host.
func NewAccess(run *wire.Run) (Access, error) {
	if run.GetToken() == "" {
		return Access{}, NewError(Config, fmt.Sprintf("outrider: run %q has no token, and would let in everybody; give it 128 random bits in hex", run.GetName()))
	}
	given := run.GetTls()
	if given == nil {
		return Access{run.GetToken(), insecure.NewCredentials(), insecure.NewCredentials()}, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(given.GetCa()) {
		return Access{}, NewError(Config, fmt.Sprintf("outrider: tls: ca has no certificate in its %d bytes of PEM; give the certificate that signs those of the hosts", len(given.GetCa())))
	}
	own, err := tls.X509KeyPair(given.GetCert(), given.GetKey())
	if err != nil {
		return Access{}, NewError(Config, fmt.Sprintf("outrider: tls: cert and key: %v; give the PEM of this host's certificate and of its own key, without a passphrase", err))
	}
	between := x509.NewCertPool()
	for _, der := range own.Certificate[1:] {
		if link, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(link)
		}
	}
	// With the eyes of the others, so that a wrong file is an error where it was given and not where it was met.
	if _, err := own.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: given.GetName()}); err != nil {
		return Access{}, NewError(Config, fmt.Sprintf("outrider: tls: the other hosts would not trust cert: %v; have the run's ca sign it, for servers and under its name", err))
	}
	return Access{
		Token: run.GetToken(),
		Serve: credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13}),
		Dial:  checked{credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: given.GetName(), MinVersion: tls.VersionTLS13})},
	}, nil
}

// checked is the dialling end of a run with certificates. gRPC passes on the words of a failed handshake and nothing else, so it
// marks there what failed because of who answered.
type checked struct {
	credentials.TransportCredentials
}

const untrusted = "the other side did not prove to be of the run: "

func (c checked) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	var unverified *tls.CertificateVerificationError
	var clear tls.RecordHeaderError
	if errors.As(err, &unverified) || errors.As(err, &clear) {
		err = fmt.Errorf("%s%w", untrusted, err)
	}
	return conn, info, err //nolint:wrapcheck // what is not marked stays as it is
}

func (c checked) Clone() credentials.TransportCredentials {
	return checked{c.TransportCredentials.Clone()}
}

// Untrusted says what to do about a connection that failed because the other side did not prove to be of the run; "" for any other
// failure.
func Untrusted(err error) string {
	if err == nil || !strings.Contains(err.Error(), untrusted) {
		return ""
	}
	return "; give every host of the run the same ca, and a certificate that it signed for the host's address, or for a name that all of them carry"
}
