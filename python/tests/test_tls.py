"""A run with certificates, through the shim."""

import datetime
import ipaddress
import pickle

import pytest

import outrider
from outrider._locator import Static

pytest.importorskip("cryptography", reason="certificates are made with it, and it comes with Ray")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@pytest.fixture(scope="module")
def certificates():
    """One authority's files for the host 127.0.0.1: ca, cert, key."""
    now = datetime.datetime.now(datetime.timezone.utc)

    def make(subject, issuer, key, signer, extension):
        name = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, which)]) for which in (subject, issuer)]
        builder = x509.CertificateBuilder().subject_name(name[0]).issuer_name(name[1]).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now)
        builder = builder.not_valid_after(now + datetime.timedelta(hours=1)).add_extension(extension, critical=True)
        return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = make("ca", "ca", ca_key, ca_key, x509.BasicConstraints(ca=True, path_length=None))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return {"ca": ca, "cert": make("host", "ca", key, ca_key, address), "key": key.private_bytes(*pem)}


def test_S11_10_a_run_with_certificates_is_reached_over_tls(own, certificates, tmp_path):
    for name, pem in certificates.items():
        (tmp_path / name).write_bytes(pem)
    for tls in (outrider.TLS(**certificates), outrider.TLS(**{name: str(tmp_path / name) for name in certificates})):
        run = own("secret", tls=tls)
        again = pickle.loads(pickle.dumps(run))
        assert again._key.tls == tls
        assert "PRIVATE" not in repr(again._key.tls)
        # Without the socket's name this process is to the owner as one of another host.
        again._locator = Static(run._locator.hint.split("@")[0])
        assert again.stats().books.closed
        run.close(force=True)


def test_S11_10_certificates_that_cannot_work_are_refused_at_the_start(own, certificates, tmp_path):
    with pytest.raises(outrider.ConfigError, match="tls: cert and key"):
        own("secret", tls=outrider.TLS(**{**certificates, "key": certificates["cert"]}))
    with pytest.raises(outrider.ConfigError, match=r"key='.*/gone' cannot be read on this host"):
        own("secret", tls=outrider.TLS(**{**certificates, "key": tmp_path / "gone"}))
    with pytest.raises(outrider.ConfigError, match="tls: name is of type int; give str"):
        outrider.TLS(**certificates, name=7)
    with pytest.raises(outrider.ConfigError, match=r"tls=dict is no certificates; give outrider\.TLS"):
        own("secret", tls=dict(certificates))
