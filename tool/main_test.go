package tool_test

import (
	"os"
	"testing"

	"github.com/adze-dev/adze/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
