package check_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/check"
	"github.com/adze-dev/adze/permission"
)

// Every line has an answer with its ID, or with its number if the ID can't be read.
func TestLine(t *testing.T) {
	dir := t.TempDir()
	c := &check.Checker{
		Dir: dir, Home: dir + "/adze", User: dir, Secrets: check.SecretsIn,
		Place: func() permission.Place { return permission.None },
	}
	defer c.Close()
	for _, test := range []struct {
		line string
		bad  error
		want string // the answer begins with this
	}{
		{`{"id":1,"cmd":"ls"}`, nil, `{"id":1,"verdict":"allow"`},
		{`{"cmd":"rm -rf src"}`, nil, `{"id":7,"verdict":"ask"`},
		{`{"id":"a","cmd":"rm x","place":"overlay"}`, nil, `{"id":"a","verdict":"try"`},
		{`{"id":1,"cmd":"rm x","rules":{"deny":["Bash(rm *)"]}}`, nil, `{"id":1,"verdict":"deny"`},
		{`{"id":1,"cmd":"rm x","mode":"plan"}`, nil, `{"id":1,"verdict":"deny"`},
		{`{"id":1,"tool":"read_file","args":{"absolute_path":"a.txt"}}`, nil, `{"id":1,"verdict":"allow"`},
		{`{"id":1,"tool":"write_file","args":{"file_path":"a.txt","content":""}}`, nil, `{"id":1,"verdict":"ask"`},
		{`{"id":1,"tool":"none"}`, nil, `{"id":1,"error":"line 7: `},
		{`{"id":1}`, nil, `{"id":1,"error":"line 7: expected either \"cmd\" or \"tool\" and \"args\""`},
		{`{"id":1,"cmd":"ls","mode":"fast"}`, nil, `{"id":1,"error":"line 7: `},
		{`{"id":1,"cmd":"ls","place":"moon"}`, nil, `{"id":1,"error":"line 7: unknown place \"moon\"`},
		{`{"id":1,"cmd":2}`, nil, `{"id":1,"error":"line 7: invalid question: \"cmd\" can't be a JSON number`},
		{`{"id":1,"cmd":"l`, nil, `{"id":1,"error":"line 7: invalid question: `},
		{`[]`, nil, `{"id":7,"error":"line 7: invalid question: got a JSON array`},
		{`{"id":1,"cmd":"ls"}`, errors.New("too long"), `{"id":1,"error":"line 7: invalid question: too long`},
	} {
		answer, err := c.Line(t.Context(), []byte(test.line), 7, test.bad)
		if err != nil || !strings.HasPrefix(string(answer), test.want) {
			t.Errorf("%s: %s %v, want %s", test.line, answer, err, test.want)
		}
	}
}
