package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Errors in the command line name what is wrong, and what was probably meant.
func TestUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run tasks.jsonl --max-cots 3":   "adze: unknown flag --max-cots\nDid you mean '--max-cost'? See 'adze fleet help'.\n",
		"run --yolo --servr=x":           "adze: unknown flag --servr\nDid you mean '--server'? See 'adze fleet help'.\n",
		"run --qqqqqq":                   "adze: unknown flag --qqqqqq\nSee 'adze fleet help'.\n",
		"statsu":                         "adze: unknown command \"fleet statsu\"\nDid you mean 'adze fleet status'? See 'adze fleet help'.\n",
		"collect":                        "adze: adze fleet collect needs an argument: adze fleet collect RUN\nSee 'adze fleet help'.\n",
		"worker tasks.jsonl":             "adze: adze fleet worker: unexpected argument \"tasks.jsonl\"\nSee 'adze fleet help'.\n",
		"run --slots":                    "flag needs an argument: -slots\n",
		"run --slots many x":             "invalid value \"many\" for flag -slots",
		"run x --max-cost -1":            "--max-cost must be above 0\n",
		"logs RUN":                       "expected RUN/TASK, got \"RUN\"\n",
		"collect RUN --format dri":       "--format: expected jsonl, swebench or dir, got \"dri\"\n",
		"collect RUN -o - --format dir":  "--format dir needs -o DIR\n",
		"status a b --dir /nonexistent/": "unexpected argument \"b\"\n",
	} {
		var out, problems bytes.Buffer
		code := Run(t.Context(), Env{Args: strings.Fields(line), Stdout: &out, Stderr: &problems})
		if code != exitUsage || !strings.Contains(problems.String(), want) {
			t.Errorf("%s: exit code %d: %s", line, code, problems.String())
		}
	}
}
