package playback

import (
	"encoding/xml"
	"strings"
	"testing"
)

// Texts are escaped as encoding/xml escapes them.
func TestEscape(t *testing.T) {
	for _, s := range []string{`a<b>&"c'`, "\t\r\n\x00\x1b\x7f", "é中\U0001F600\ufffd\ufffe\uffff\U0010ffff", "\xff\xe4\xb8x", ""} {
		var want strings.Builder
		if err := xml.EscapeText(&want, []byte(s)); err != nil {
			t.Fatal(err)
		}
		if got := escape(s); got != want.String() {
			t.Errorf("%q is %q, want %q", s, got, want.String())
		}
	}
}
