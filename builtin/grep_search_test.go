package builtin

import (
	"testing"

	"github.com/adze-dev/adze/tool/tooltest"
)

func TestGrepSearchCheck(t *testing.T) {
	tooltest.Check(t, one(t, "grep_search"),
		tooltest.Try{Args: `{"pattern":"x"}`, Files: map[string]string{"a": "x\n", "b/c": "xyz\n"}},
		tooltest.Try{Args: `{"pattern":"x","path":"$WORK/a"}`, Files: map[string]string{"a": "x\n"}},
	)
}

func TestGlobCheck(t *testing.T) {
	tooltest.Check(t, one(t, "glob"),
		tooltest.Try{Args: `{"pattern":"**"}`, Files: map[string]string{"a": "x\n", "b/c": "xyz\n"}},
	)
}
