package web

import (
	"io"
	"log"
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/dev/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// quiet keeps what test servers say about broken connections to themselves.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
