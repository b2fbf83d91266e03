package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// authority makes a certificate authority, and a certificate of it for loopback. It returns the file with the authority's.
func authority(t *testing.T) (file string, own tls.Certificate) {
	t.Helper()
	sign := func(c, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return raw, key
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, key := sign(ca, ca, nil)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafRaw, leafKey := sign(leaf, ca, key)
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{leafRaw}, PrivateKey: leafKey}
}

// tenant is an account of a server with operators, and its key.
type tenant struct {
	key nkeys.KeyPair
	id  string
}

func newTenant(t *testing.T) tenant {
	t.Helper()
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	id, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return tenant{key, id}
}

// creds writes the credentials of a user who may not publish to some subjects.
func (a tenant) creds(t *testing.T, deny ...string) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := user.PublicKey()
	claims := jwt.NewUserClaims(id)
	claims.Permissions.Pub.Deny = deny
	token, err := claims.Encode(a.key)
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := user.Seed()
	raw, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// secured starts a server with TLS and two tenants.
func secured(t *testing.T) (url, ca string, tenants [2]tenant) {
	t.Helper()
	ca, own := authority(t)
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := operator.PublicKey()
	system := newTenant(t)
	tenants = [2]tenant{newTenant(t), newTenant(t)}
	resolver := &server.MemAccResolver{}
	for i, a := range []tenant{system, tenants[0], tenants[1]} {
		claims := jwt.NewAccountClaims(a.id)
		if i > 0 {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
		}
		token, err := claims.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolver.Store(a.id, token); err != nil {
			t.Fatal(err)
		}
	}
	claims := jwt.NewOperatorClaims(id)
	claims.SystemAccount = system.id
	s := other(t, server.Options{
		JetStream: true, TrustedOperators: []*jwt.OperatorClaims{claims}, SystemAccount: system.id, AccountResolver: resolver,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}, TLSTimeout: 60, AuthTimeout: 120,
	})
	return strings.Replace(s.ClientURL(), "nats://", "tls://", 1), ca, tenants
}

// Other machines are reached with TLS and credentials. A worker needs no rights to delete or purge, and tenants don't see each other.
func TestTLSAndCredentials(t *testing.T) {
	t.Parallel()
	url, ca, tenants := secured(t)
	ctx := t.Context()
	q, err := Connect(ctx, Options{URL: url, CA: ca, Creds: tenants[0].creds(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.Submit(ctx, tasks(1), 0); err != nil {
		t.Fatal(err)
	}
	w, err := Connect(ctx, Options{URL: url, CA: ca, Creds: tenants[0].creds(t, "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>", "$JS.API.STREAM.MSG.DELETE.>",
		"$JS.API.CONSUMER.DELETE.>", "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	item, err := w.Take(ctx, time.Minute)
	if err != nil || item == nil {
		t.Fatal(item, err)
	}
	l, err := w.OpenLog(ctx, item.Run, item.Token())
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { return l.Write(ctx, TypeOwner, Owner{Worker: "w"}) },
		func() error { return w.PutFile(ctx, "f", []byte("content")) },
		func() error { _, err := w.Add(ctx, "c", 1); return err },
		func() error { return l.Write(ctx, TypeDone, struct{}{}) },
		func() error { return item.Done(ctx) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := q.File(ctx, "f"); err != nil || string(b) != "content" {
		t.Errorf("%q %v", b, err)
	}
	second, err := Connect(ctx, Options{URL: url, CA: ca, Creds: tenants[1].creds(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if runs, err := second.Runs(ctx); err != nil || len(runs) > 0 {
		t.Errorf("another tenant sees %v: %v", runs, err)
	}
}

// Without the authority's certificate, without credentials, and with those of another server, nothing connects.
func TestTLSProblems(t *testing.T) {
	t.Parallel()
	url, ca, tenants := secured(t)
	creds := tenants[0].creds(t)
	for want, o := range map[string]Options{
		"--ca":                  {URL: url, Creds: creds},
		"Check the file":        {URL: url, CA: ca, Creds: newTenant(t).creds(t)},
		"of --creds. The token": {URL: url, CA: ca},
		"missing.crt":           {URL: url, CA: filepath.Join(t.TempDir(), "missing.crt"), Creds: creds},
	} {
		if _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
