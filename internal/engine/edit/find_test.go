package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcome returns what an edit came to, for tables.
func outcome(text string, e Edit) string {
	m, err := Find(text, e)
	if err != nil {
		return outcomeOf(err)
	}
	return m.Rung.String() + "|" + m.Apply(text)
}

func outcomeOf(err error) string {
	var notFound *NotFoundError
	var ambiguous *AmbiguousError
	var noChange *NoChangeError
	switch {
	case errors.As(err, &notFound):
		return "not found"
	case errors.As(err, &ambiguous):
		return "ambiguous: " + ambiguous.Rung.String()
	case errors.As(err, &noChange) && noChange.Applied:
		return "already applied"
	case errors.As(err, &noChange):
		return "no change"
	}
	return err.Error()
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, text, old, new string
		all                  bool
		want                 string
	}{
		{name: "exact", text: "a\nb\nc\n", old: "b", new: "B", want: "nothing|a\nB\nc\n"},
		{name: "dollars are inert", text: "price\n", old: "price", new: "$& $1 $$ $`", want: "nothing|$& $1 $$ $`\n"},
		{name: "two places", text: "x x", old: "x", new: "y", want: "ambiguous: nothing"},
		{name: "all places", text: "x x", old: "x", new: "xx", all: true, want: "nothing|xx xx"},
		{name: "overlapping places", text: "aaa", old: "aa", new: "b", want: "ambiguous: nothing"},
		{name: "all of overlapping places", text: "aaaa", old: "aa", new: "b", all: true, want: "nothing|bb"},
		{name: "same", text: "a", old: "a", new: "a", want: "no change"},
		{name: "empty old", text: "a", old: "", new: "a", want: ErrEmptyOld.Error()},
		{name: "nothing like it", text: "a\n", old: "zzzzzz", new: "q", want: "not found"},
		{name: "already applied", text: "the new text\n", old: "the old one", new: "the new text", want: "already applied"},
		{name: "deleting removes only what was named", text: "a b\nc\n", old: " b", new: "", want: "nothing|a\nc\n"},

		{name: "CRLF in old and new", text: "a\nb\n", old: "a\r\nb\r\n", new: "a\r\nc\r\n", want: "line endings|a\nc\n"},
		{name: "CRLF in new only", text: "a\n", old: "a", new: "a\r\nb", want: "line endings|a\nb\n"},
		{name: "CRLF in all", text: "a\nb\na\nb\n", old: "a\r\nb", new: "c", all: true, want: "line endings|c\nc\n"},
		{name: "CRLF is the only difference of old and new", text: "a\n", old: "a\r\n", new: "a\n", want: "no change"},
		{name: "CRLF that is in the text", text: "a\r\nb", old: "a\r\n", new: "c\r\n", want: "nothing|c\r\nb"},
		{name: "no newline at the end", text: "a\nfoo", old: "foo\n", new: "bar\n", want: "line endings|a\nbar"},
		{name: "no newline at the end, re-indented", text: "a\n\tfoo", old: "    foo\n", new: "    bar\n", want: "indentation|a\n\tbar"},

		// The text shown by other tools had its trailing blanks cut.
		{name: "trailing blanks in the file", text: "a  \nb\n", old: "a\nb", new: "a\nB", want: "trailing blanks|a  \nB\n"},
		{name: "trailing blanks in old", text: "a\nb\n", old: "a \nb", new: "c\nd", want: "trailing blanks|c\nd\n"},
		{name: "blanks on the changed line go", text: "a  \nb\n", old: "a\nb", new: "A\nb", want: "trailing blanks|A\nb\n"},
		{name: "blanks after the place stay", text: "a  \nb  \n", old: "a\nb", new: "c\nd", want: "trailing blanks|c\nd  \n"},
		{name: "blanks at the end of old", text: "foobar\nfoo\n", old: "foo  ", new: "x  ", want: "trailing blanks|foobar\nx\n"},
		{name: "blanks at the end of old do not match inside a line", text: "foobar\n", old: "foo  ", new: "x", want: "not found"},
		{name: "a blank line is not the end of any line", text: "a\nfoo\n", old: "  \nfoo", new: "x", want: "not found"},
		{name: "a blank line is not the end of the line before the last", text: "\nb\nb", old: "  \nb  \n", new: "a", want: "trailing blanks|ab"},
		{name: "a blank line", text: "a\n \t\nfoo\n", old: "  \nfoo", new: "  \nx", want: "trailing blanks|a\n \t\nx\n"},
		{name: "two places up to blanks", text: "a \nb\na\t\nb\n", old: "a\nb", new: "c", want: "ambiguous: trailing blanks"},

		{name: "straight for curly", text: "say “it’s”\n", old: `say "it's"`, new: `cry "it's"`, want: "typographic characters|cry “it’s”\n"},
		{name: "curly for straight", text: "say \"x\"\n", old: "say “x”", new: "say “y”", want: "typographic characters|say \"y\"\n"},
		{name: "dash and no-break space", text: "1\u20132\u00A0km\n", old: "1-2 km", new: "1-3 km", want: "typographic characters|1\u20133\u00A0km\n"},
		{name: "asked to change quotes that are changed", text: "“a”\n", old: `"a"`, new: "“a”", want: "no change"},
		{name: "two places up to typography", text: "“a”\n„a‟\n", old: `"a"`, new: "b", want: "ambiguous: typographic characters"},
		{name: "all is strict", text: "“a”\n", old: `"a"`, new: "b", all: true, want: "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(c.text, Edit{c.old, c.new, c.all}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestFindReindents(t *testing.T) {
	for _, c := range []struct{ name, text, old, new, want string }{
		{
			"deeper in the file", "if x {\n\t\ta()\n\t\tb()\n}\n", "\ta()\n\tb()\n", "\ta()\n\tif y {\n\t\tb()\n\t}\n",
			"indentation|if x {\n\t\ta()\n\t\tif y {\n\t\t\tb()\n\t\t}\n}\n",
		}, {
			"shallower in the file", "  a\n  b\n", "    a\n    b\n", "    a\n      c\n    b\n", "indentation|  a\n    c\n  b\n",
		}, {
			"new is shallower than can be", "  a\n  b\n", "    a\n    b\n", "    a\nc\n    b\n", "not found",
		}, {
			"spaces for tabs", "\tif x {\n\t\ta()\n\t}\n", "    if x {\n        a()\n    }\n", "    if x {\n        if y {\n            a()\n        }\n    }\n",
			"indentation|\tif x {\n\t\tif y {\n\t\t\ta()\n\t\t}\n\t}\n",
		}, {
			"tabs for spaces, one level less", "  def f():\n    return 1\n", "def f():\n\treturn 1\n", "def f():\n\tif a:\n\t\treturn 2\n",
			"indentation|  def f():\n    if a:\n      return 2\n",
		}, {
			"two spaces for four", "if (x) {\n    a();\n    if (y) {\n        b();\n    }\n}\n", "  a();\n  if (y) {\n    b();\n  }", "  a();\n  b();",
			"indentation|if (x) {\n    a();\n    b();\n}\n",
		}, {
			"one depth only", "\t\treturn x\n", "        return x", "        return y", "indentation|\t\treturn y\n",
		}, {
			// opencode#24549: a fuzzy match flattened the indentation.
			"not uniform", "a\n  b\n    c\n", "a\nb\nc\n", "a\nB\nc\n", "not found",
		}, {
			"two places", "\ta()\n\tb()\n\n\t\ta()\n\t\tb()\n", "        a()\n        b()\n", "c()\n", "ambiguous: indentation",
		}, {
			"blank lines may differ", "\ta\n\t\n\tb\n", "    a\n\n    b\n", "    a\n\n    c\n", "indentation|\ta\n\t\n\tc\n",
		}, {
			"unchanged lines keep their blanks and quotes", "\t\tsay(‘a’)  \n\t\tb\n", "say('a')\nb\n", "say('a')\nc\n", "indentation|\t\tsay(‘a’)  \n\t\tc\n",
		}, {
			"asked to re-indent what is re-indented", "    return wait(x)\n", "\treturn wait(x)\n", "    return wait(x)\n", "already applied",
		}, {
			"part of a line is not re-indented", "\t\tfoo(bar)\n", "    foo(\n", "    baz(\n", "not found",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(c.text, Edit{Old: c.old, New: c.new}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// An edit whose Old is missing was applied before only if New occurs as separate lines, and nothing else is similar to Old.
func TestFindApplied(t *testing.T) {
	const code = "func f(timeout int) error {\n\tif timeout > 0 {\n\t\treturn wait(timeout)\n\t}\n\treturn nil\n}\n"
	const applied, missing = "already applied", "not found"
	for _, c := range []struct {
		name, text, old, new string
		all                  bool
		want                 string
	}{
		{name: "a whole line", text: code, old: "\t\treturn wait()\n", new: "\t\treturn wait(timeout)\n", want: applied},
		{name: "a whole line without its indentation", text: code, old: "return wait()", new: "return wait(timeout)", want: applied},
		{name: "several lines", text: code, old: "\tif timeout != 0 {\n\t\treturn wait()\n", new: "\tif timeout > 0 {\n\t\treturn wait(timeout)\n", want: applied},
		{name: "CRLF", text: code, old: "\treturn wait()\r\n\t}\r\n", new: "\treturn wait(timeout)\r\n\t}\r\n", want: applied},
		{name: "at the end, without a newline", text: "first line\nanother line", old: "an other line\n", new: "another line\n", want: applied},
		{name: "all", text: code, old: "return wait()", new: "return wait(timeout)", all: true, want: applied},

		{name: "inside a name", text: "timeoutSeconds := 30\n", old: "delay", new: "timeoutSec", want: missing},
		{name: "inside a line", text: "// see also: set timeout to 60 or more\n", old: "set delay to 30", new: "set timeout to 60", want: missing},
		{name: "its last line goes on", text: "first line\nsecond line of two\n", old: "one\ntwo", new: "first line\nsecond line", want: missing},
		{name: "its first line begins before", text: "the first line\nsecond line\n", old: "one\ntwo", new: "first line\nsecond line", want: missing},
		{name: "a brace", text: code, old: "end of function", new: "}\n", want: missing},
		{name: "braces", text: "{\n}\n", old: "end of function", new: "{\n}\n", want: missing},
		{name: "a blank line", text: "a\n\nb\n", old: "something", new: "\n", want: missing},
		{name: "blanks", text: "a\n    \nb\n", old: "something", new: "    \n", want: missing},
		{name: "a deletion", text: code, old: "something", new: "", want: missing},
		{name: "a short line", text: "x = 1\nelse:\n", old: "otherwise:\n", new: "else:\n", want: missing},
		{name: "a line of dashes", text: "Title\n------------\n", old: "============\n", new: "------------\n", want: missing},
		{name: "twice", text: "return wait(timeout)\nreturn wait(timeout)\n", old: "return wait()", new: "return wait(timeout)", want: missing},

		// Old is mistyped and not yet changed; the text of New also occurs elsewhere.
		{name: "the old text is elsewhere", text: "# server A\ntimeout = 60 seconds\n# server B\ntimeout = 30 secs # b\n",
			old: "timeout = 30 seconds # b", new: "timeout = 60 seconds", want: missing},
		{name: "the old text is there, escaped", text: "a \"quoted\" word\n\nanother kind of line\n", old: `a \"quoted\" word`, new: "another kind of line", want: missing},
		{name: "the old text is there up to blanks", text: "one  \ntwo\nanother kind of line\n", old: "one\ntwo", new: "another kind of line", all: true, want: missing},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(c.text, Edit{c.old, c.new, c.all}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestFindSpans(t *testing.T) {
	text := "one\ntwo “q”  \nthree\nfour\n"
	got, err := Find(text, Edit{Old: "two \"q\"\nthree\nfour\n", New: "two \"q\"\n3\nfour\n"})
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(text, "three")
	want := Match{
		Rung:   Typography,
		Places: []Place{{Start: 4, End: len(text), Line: 2}},
		Spans:  []Span{{start, start + len("three"), "3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAmbiguousLines(t *testing.T) {
	_, err := Find("x\n\nx\n  x\n", Edit{Old: "x", New: "y"})
	want := &AmbiguousError{Rung: Exact, Count: 3, Lines: []int{1, 3, 4}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
	const text = "text to replace occurs 3 times, at lines 1, 3, 4; add surrounding lines to make it unique"
	if err.Error() != text {
		t.Errorf("got %q", err)
	}
}
