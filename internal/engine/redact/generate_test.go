package redact

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"math/rand"
	"net/url"
	"strings"
)

// made is a secret of a generator.
type made struct{ kind, secret string }

const (
	upperLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters      = upperLetters + "abcdefghijklmnopqrstuvwxyz"
	digits       = "0123456789"
	hexDigits    = "0123456789abcdef"
)

func pick(r *rand.Rand, from string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[r.Intn(len(from))]
	}
	return string(b)
}

// withChecksum adds the checksum of GitHub's and npm's tokens.
func withChecksum(body string) string {
	const base62 = digits + letters
	sum := crc32.ChecksumIEEE([]byte(body))
	end := make([]byte, 6)
	for i := 5; i >= 0; i-- {
		end[i] = base62[sum%62]
		sum /= 62
	}
	return body + string(end)
}

// makers generate secrets by the published formats of their vendors.
var makers = []func(*rand.Rand) made{
	func(r *rand.Rand) made {
		start := []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}[r.Intn(5)]
		return made{"github-token", start + withChecksum(pick(r, digits+letters, 30))}
	},
	func(r *rand.Rand) made {
		return made{"github-token", "github_pat_" + pick(r, digits+letters, 22) + "_" + pick(r, digits+letters, 59)}
	},
	func(r *rand.Rand) made { return made{"gitlab-token", "glpat-" + pick(r, digits+letters+"_-", 20)} },
	func(r *rand.Rand) made {
		return made{"gitlab-token", "glpat-" + pick(r, digits+letters+"_-", 51) + ".01." + pick(r, hexDigits, 9)}
	},
	func(r *rand.Rand) made {
		return made{"aws-key", []string{"AKIA", "ASIA"}[r.Intn(2)] + pick(r, upperLetters+"234567", 16)}
	},
	func(r *rand.Rand) made { return made{"google-key", "AIza" + pick(r, digits+letters+"_-", 35)} },
	func(r *rand.Rand) made { return made{"google-secret", "GOCSPX-" + pick(r, digits+letters+"_-", 28)} },
	func(r *rand.Rand) made {
		return made{"slack-token", "xoxb-" + pick(r, digits, 12) + "-" + pick(r, digits, 13) + "-" + pick(r, digits+letters, 24)}
	},
	func(r *rand.Rand) made {
		return made{"slack-token", "xoxp-" + pick(r, digits, 11) + "-" + pick(r, digits, 11) + "-" + pick(r, digits, 13) + "-" + pick(r, hexDigits, 32)}
	},
	func(r *rand.Rand) made {
		return made{"webhook", "hooks.slack.com/services/T" + pick(r, upperLetters+digits, 10) + "/B" + pick(r, upperLetters+digits, 10) + "/" + pick(r, digits+letters, 24)}
	},
	func(r *rand.Rand) made {
		return made{"stripe-key", []string{"sk_live_", "sk_test_", "rk_live_"}[r.Intn(3)] + pick(r, digits+letters, []int{24, 99}[r.Intn(2)])}
	},
	func(r *rand.Rand) made {
		return made{"openai-key", "sk-" + pick(r, digits+letters, 20) + "T3Blbk" + "FJ" + pick(r, digits+letters, 20)}
	},
	func(r *rand.Rand) made {
		return made{"openai-key", "sk-proj-" + pick(r, digits+letters+"_-", 74) + "T3Blbk" + "FJ" + pick(r, digits+letters+"_-", 74)}
	},
	func(r *rand.Rand) made {
		return made{"anthropic-key", "sk-ant-api03-" + pick(r, digits+letters+"_-", 93) + "AA"}
	},
	func(r *rand.Rand) made { return made{"npm-token", "npm_" + withChecksum(pick(r, digits+letters, 30))} },
	func(r *rand.Rand) made {
		return made{"pypi-token", "pypi-AgEIcHlwaS5vcmcC" + pick(r, digits+letters+"_-", 160)}
	},
	func(r *rand.Rand) made {
		part := base64.RawURLEncoding.EncodeToString
		alg := []string{"HS256", "RS256", "ES256"}[r.Intn(3)]
		return made{"jwt", part([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + part([]byte(`{"sub":"`+pick(r, digits, 9)+`","iat":17`+pick(r, digits, 8)+`}`)) +
			"." + pick(r, digits+letters+"_-", map[string]int{"HS256": 43, "RS256": 342, "ES256": 86}[alg])}
	},
	func(r *rand.Rand) made {
		seed := []byte(pick(r, letters, ed25519.SeedSize))
		der, _ := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
		return made{"private-key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
	},
	func(r *rand.Rand) made {
		der := []byte(pick(r, letters+digits, 1190))
		return made{"private-key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}))}
	},
	func(r *rand.Rand) made {
		scheme := []string{"postgres", "mongodb+srv", "redis", "https", "amqp", "mysql"}[r.Intn(6)]
		return made{"url-password", scheme + "://svc:" + pick(r, digits+letters+"-_.~!", 12+r.Intn(12)) + "@db.example.com:5432/app"}
	},
}

// forms of a text that contains a secret.
var textForms = map[string]func(*rand.Rand, string) string{
	"code": func(r *rand.Rand, s string) string {
		return fmt.Sprintf("package x\n\nconst key%d = %q\n\nfunc f() {}\n", r.Intn(9), s)
	},
	"shell": func(_ *rand.Rand, s string) string { return "export API_TOKEN='" + s + "'\nmake deploy\n" },
	"log": func(r *rand.Rand, s string) string {
		return fmt.Sprintf("2026-01-02T03:04:%02dZ INFO auth: using %s for host\n", r.Intn(60), s)
	},
	"diff": func(_ *rand.Rand, s string) string {
		return "@@ -1,2 +1,2 @@\n a\n+KEY=" + strings.ReplaceAll(s, "\n", "\n+") + "\n b\n"
	},
	"json": func(_ *rand.Rand, s string) string { return fmt.Sprintf(`{"a":1,"token":%q,"b":[]}`, s) },
	"base64": func(r *rand.Rand, s string) string {
		return "data: " + base64.StdEncoding.EncodeToString([]byte(pick(r, letters, r.Intn(5))+":"+s+"\n")) + "\n"
	},
	"base64 in lines": func(r *rand.Rand, s string) string {
		text := base64.StdEncoding.EncodeToString([]byte("KEY=" + s + "\nA=b\n"))
		var b strings.Builder
		for ; len(text) > 76; text = text[76:] {
			b.WriteString(text[:76] + "\n")
		}
		return b.String() + text + "\n"
	},
	"URL-safe base64": func(_ *rand.Rand, s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(s))
	},
	"query": func(_ *rand.Rand, s string) string {
		return "GET https://h.example.com/x?a=1&token=" + url.QueryEscape(s) + "&b=2 200\n"
	},
	"user": func(_ *rand.Rand, s string) string {
		return "git clone https://x-access-token:" + url.PathEscape(s) + "@github.com/a/b\n"
	},
}
