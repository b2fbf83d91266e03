package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
)

const legend = "Lines with - are only in your text, lines with + only in the file:\n"

func TestNotFoundTeaches(t *testing.T) {
	code := "package p\n\nfunc f(a, b int) int {\n\tif a > b {\n\t\treturn a - b\n\t}\n\treturn b\n}\n"
	for _, c := range []struct{ name, text, old, want string }{
		{"another word", code, "\t\treturn a + b\n", "text to replace not found in the file. Closest match: line 5 (71% similar). " + legend +
			"-\t\treturn a + b\n+\t\treturn a - b\nline 5, column 12: your text has '+', the file has '-'"},
		{"uneven indentation", code, "if a > b {\n\treturn a - b\n    }", "Closest match: lines 4-6 (100% similar). " + legend +
			" if a > b {\n-\treturn a - b\n-    }\n+\t\treturn a - b\n+\t}\n" +
			"line 5, column 2: your text has 'r', the file has a tab\nline 6, column 1: your text has 4 spaces, the file has a tab"},
		{"a line too many", code, "\tif a > b {\n\t\tx()\n\t\treturn a - b\n\t}\n", "Closest match: lines 4-6 (82% similar). " + legend +
			" \tif a > b {\n-\t\tx()\n \t\treturn a - b\n \t}"},
		{"a missing line", code, "func f(a, b int) int {\n\t\treturn a - b\n\t}\n", "Closest match: lines 3-6 (88% similar). " + legend +
			" func f(a, b int) int {\n+\tif a > b {\n \t\treturn a - b\n \t}"},
		{"nothing like it", code, "completely different", "text to replace not found in the file. Read the file again and copy the text exactly."},
		{"line numbers", code, "  4→\tif a > b {\n  5→\t\treturn a - b\n", "text to replace not found in the file. Its lines begin with line numbers, which are not part of the file."},
		{"escaped", code, `\tif a > b {\n\t\treturn a - b`, `text to replace not found in the file. It matches with \n, \t, \" and \\ unescaped: it was escaped once too often.`},
		{"a character that cannot be seen", "x := \"a\u200bb\"\n", "x := \"ab\"\n", "-x := \"ab\"\n+x := \"a\u200bb\"\nline 1, column 8: your text has 'b', the file has U+200B"},
		{"beyond the end", "a first line\nand another\n", "and another\nand more\n", legend + " and another\n-and more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Find(c.text, Edit{Old: c.old, New: "something else"})
			var notFound *NotFoundError
			if !errors.As(err, &notFound) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestNotFoundIsBounded(t *testing.T) {
	lines := soak.Count(100_000, 1_000_000)
	equal := strings.Repeat("}\n", lines)
	long := strings.Repeat("abcdefgh ", 120_000)
	var distinct strings.Builder
	for i := range lines {
		fmt.Fprintf(&distinct, "line %d\n", i)
	}
	for _, c := range []struct{ name, text, old string }{
		{"many equal lines", equal, "}\n{\n"},
		{"many equal lines, long old", equal, strings.Repeat("}\n", 1000) + "x"},
		{"many equal lines, indented old", equal, strings.Repeat("    }\n", 1000) + "x"},
		{"many different lines", distinct.String(), "line x\nline y\n"},
		{"one long line", long, "abcdefgx" + strings.Repeat("abcdefgh ", 1000)},
		{"long old", "a\nb\n", strings.Repeat("some line\n", 100_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := Find(c.text, Edit{Old: c.old, New: "q"})
			if err == nil {
				t.Fatal("found")
			}
			if len(err.Error()) > 2000 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
			took := time.Since(start)
			t.Log(took)
			if took > time.Minute { // finds quadratic growth; under -race it takes about a second
				t.Errorf("took %v", took)
			}
		})
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("a\n\tb\n", "a\nb\n")
	f.Add("x\xffy", "x\xfey")
	f.Fuzz(func(t *testing.T, text, old string) {
		if old == "" {
			return
		}
		if n := nearest(text, old, false); n != nil && (n.First < 1 || n.Last > len(linesOf(text)) || len(n.String()) > 1900 ||
			!strings.Contains(text, n.Text)) {
			t.Fatalf("%+v", n)
		}
		hints(text, old)
	})
}

// A line that ends like the first line of Old and begins like its last one was cut on both sides, and the call crashed.
func TestNearestInOneLine(t *testing.T) {
	const text = "return wait(y) a\nxx\n"
	for _, old := range []string{"a\nreturn wait(y)", " a\nreturn wait(y) ", "y) a\nreturn wait(y)"} {
		_, err := Find(text, Edit{Old: old, New: "b"})
		if _, ok := errors.AsType[*NotFoundError](err); !ok {
			t.Errorf("%q: %v", old, err)
		}
	}
}
