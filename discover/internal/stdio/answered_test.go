package stdio

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/lines"
)

func TestWhoseAnswer(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"` + long + `"}}`, "7"},
		{`{"id":"a-b","jsonrpc":"2.0","result":{"a":"` + long + `"}}`, `"a-b"`},
		{`{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":12}`, "12"},
		{`{"result":{"a":"` + long + `"},"id":12,"jsonrpc":"2.0"}`, "12"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","params":"` + long + `"}`, ""},
		{`{"jsonrpc":"2.0","method":"x","params":{"id":3,"a":"` + long + `"}}`, ""},
		{long, ""},
	} {
		fr, err := lines.New(strings.NewReader(c.line+"\n"), 1000).Next()
		if got := string(answered(fr)); err != nil || !fr.Long || fr.Size != int64(len(c.line)+1) || got != c.want {
			t.Errorf("%.60s: %q, want %q (%v, %d)", c.line, got, c.want, err, fr.Size)
		}
	}
}

func FuzzAnswered(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		answered(lines.Line{Text: in})
		answered(lines.Line{Tail: in})
		marked(in)
	})
}
