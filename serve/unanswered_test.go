package serve

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// At the end of the input the server waits for running calls, but not for long.
func TestInputWaitsForAnswers(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n" + `{"jsonrpc":"2.0","method":"note"}` + "\n" + `{"jsonrpc":"2.0","id":"x","result":{}}` + "\n"
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			out := &answers{open: newUnanswered(), WriteCloser: writeCloser{&bytes.Buffer{}}}
			l := newInput(io.NopCloser(strings.NewReader(in)), out)
			if answered {
				time.AfterFunc(drainWait/2, func() { io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}`+"\n") })
			}
			began := time.Now()
			got, err := io.ReadAll(l)
			took := time.Since(began)
			if err != nil || string(got) != in {
				t.Errorf("read %q, %v", got, err)
			}
			if answered && (took < drainWait/2 || took >= drainWait) || !answered && took != drainWait {
				t.Errorf("answered %v: it took %v", answered, took)
			}
		})
	}
}

// A batch counts as the number of its requests.
func TestUnansweredCountsBatches(t *testing.T) {
	u := newUnanswered()
	u.asked([]byte(` [{"id":1,"method":"a"},{"id":2,"method":"b"},{"method":"note"}]`))
	u.answered([]byte(`[{"id":1,"result":{}}]`))
	u.answered([]byte(`{"id":null,"error":{}}`))
	if len(u.open) != 1 {
		t.Error(u.open)
	}
}
