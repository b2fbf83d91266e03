package gitconfig

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mask = "***masked***"

// checkClean checks that a clean copy has the same settings and no credentials, and that merging it gives the text.
func checkClean(t *testing.T, text []byte) {
	t.Helper()
	clean, found := Clean(text, mask)
	if !found {
		if !bytes.Equal(clean, text) {
			t.Fatalf("%q: changed to %q without credentials", text, clean)
		}
		return
	}
	for _, c := range Credentials(clean) {
		if !strings.Contains(c.Value, mask) {
			t.Fatalf("%q: %q is left in %q", text, c.Value, clean)
		}
	}
	before, err := Parse(text)
	if err != nil {
		return
	}
	after, err := Parse(clean)
	if err != nil || len(before) != len(after) {
		t.Fatalf("%q: clean %q: %v", text, clean, err)
	}
	merged, err := Merge(text, clean, clean, mask)
	if err == nil && !bytes.Equal(merged, ended(text)) {
		t.Fatalf("%q: merged %q", text, merged)
	}
}

func TestCredentials(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Credential
		clean      string
	}{
		{"none", "[remote \"o\"]\n\turl = git@github.com:x/y\n\tpushurl = ssh://git@host/x\n\tproxy = https://alice@proxy/\n", nil, ""},
		{"URL", "[remote \"o\"]\n\turl = https://u:t0ken@h/x\n", []Credential{{"u", "t0ken"}}, "[remote \"o\"]\n\turl = \"https://u:***masked***@h/x\"\n"},
		{"encoded", "[a]b=https://u:p%40ss@h/x\n", []Credential{{"u", "p%40ss"}, {"u", "p@ss"}}, "[a]b= \"https://u:***masked***@h/x\"\n"},
		{"with @ and :", "[a]b=https://u:p@s:s@h/x@y\n", []Credential{{"u", "p@s:s"}}, "[a]b= \"https://u:***masked***@h/x@y\"\n"},
		{"token as user", "[a]b=https://ghp_0123456789abcdef0123@h/x\n", []Credential{{"", "ghp_0123456789abcdef0123"}}, "[a]b= \"https://***masked***@h/x\"\n"},
		{"header", "[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic dTpDQU5BUlk=\r\n", []Credential{{"", "dTpDQU5BUlk="}, {"u", "CANARY"}},
			"[http \"https://h/\"]\n\textraheader = \"AUTHORIZATION: basic ***masked***\"\r\n"},
		{"other header", "[http]extraHeader=PRIVATE-TOKEN: abc\n", []Credential{{"", "abc"}}, "[http]extraHeader= \"PRIVATE-TOKEN: ***masked***\"\n"},
		{"insteadOf", "[url \"https://u:tok\\\"en@h/\"]\n\tinsteadOf = gh:\n", []Credential{{"u", "tok\"en"}}, "[url \"https://u:***masked***@h/\"]\n\tinsteadOf = gh:\n"},
		{"dotted section", "[url.https://u:tok@h/]\n\tinsteadOf = gh:\n", []Credential{{"u", "tok"}}, "# ***masked***\n\tinsteadOf = gh:\n"},
		{"continued", "[a]\nb = https://u:to\\\nken@h/\nc = 1\n", []Credential{{"u", "token"}}, "[a]\nb = \"https://u:***masked***@h/\"\nc = 1\n"},
		{"comment", "[a]\n# b = https://u:old@h/\nc = 1\n", []Credential{{"u", "old"}}, "[a]\n# ***masked***\nc = 1\n"},
		{"password", "[sendemail]\n\tsmtpPass = hunter\n\tsmtpUser = me\n", []Credential{{"", "hunter"}}, "[sendemail]\n\tsmtpPass = \"***masked***\"\n\tsmtpUser = me\n"},
		{"helper", "[credential]\n\thelper = \"!f() { echo username=u; echo password=s3cret; }; f\"\n", []Credential{{"", "s3cret"}},
			"[credential]\n\thelper = \"!f() { echo username=u; echo password=***masked***; }; f\"\n"},
		{"rejected by git", "[a\nb = https://u:tok@h/\n", []Credential{{"u", "tok"}}, "[a\n# ***masked***\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Credentials([]byte(c.text))); d != "" {
				t.Error(d)
			}
			clean, _ := Clean([]byte(c.text), mask)
			if want := c.clean; want != "" && cmp.Diff(want, string(clean)) != "" {
				t.Error(cmp.Diff(want, string(clean)))
			}
			if c.name != "dotted section" { // git rejects such a name
				checkClean(t, []byte(c.text))
			}
		})
	}
}

func TestMerge(t *testing.T) {
	const text = "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://u:tok@h/x\n\tfetch = +a:b\n"
	const two = "[remote \"a\"]\nurl = https://u:one@h/x\n[remote \"b\"]\nurl = https://u:two@h/x\n"
	for _, c := range []struct {
		name, text string
		change     func(clean string) string
		want       string
		err        error
	}{
		{"nothing", text, func(s string) string { return s }, text, nil},
		{"added", text, func(s string) string { return s + "[branch \"m\"]\n\tremote = o\n" }, text + "[branch \"m\"]\n\tremote = o\n", nil},
		{"renamed", text, func(s string) string { return strings.Replace(s, `"o"`, `"up"`, 1) }, strings.Replace(text, `"o"`, `"up"`, 1), nil},
		{"replaced URL", text, func(s string) string { return strings.Replace(s, `"https://u:***masked***@h/x"`, "https://h/y", 1) },
			strings.Replace(text, "https://u:tok@h/x", "https://h/y", 1), nil},
		{"another host", text, func(s string) string { return strings.Replace(s, "@h/x", "@evil/x", 1) }, "", ErrMasked},
		{"without a last newline", strings.TrimSuffix(two[:strings.Index(two, "[remote \"b\"]")], "\n"), func(s string) string { return s + "\n[c]\nd = 1\n" },
			two[:strings.Index(two, "[remote \"b\"]")] + "[c]\nd = 1\n", nil},
		{"one of two", two, func(s string) string { return s[strings.Index(s, "[remote \"b\"]"):] }, "", errAmbiguous},
	} {
		t.Run(c.name, func(t *testing.T) {
			clean, _ := Clean([]byte(c.text), mask)
			got, err := Merge([]byte(c.text), clean, []byte(c.change(string(clean))), mask)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
}
