package web

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet keeps what test servers say about broken connections to themselves.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
