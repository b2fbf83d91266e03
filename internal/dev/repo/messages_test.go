package repo

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The messages in docs/troubleshooting.md are those of the program: each part between placeholders is in its code.
func TestTroubleshootingMessages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := literals(t)
	messages := regexp.MustCompile("\\*\\*`([^`]+)`\\*\\*").FindAllStringSubmatch(strings.ReplaceAll(string(page), "\n", " "), -1)
	if len(messages) < 15 {
		t.Errorf("found %d messages", len(messages))
	}
	for _, m := range messages {
		for part := range strings.SplitSeq(m[1], "…") {
			if len(strings.TrimSpace(part)) > 3 && !strings.Contains(texts, part) {
				t.Errorf("the program doesn't print %q", part)
			}
		}
	}
}

// literals are the texts in the code of the program, one on each line. Texts joined with + are one.
func literals(t *testing.T) string {
	var b strings.Builder
	for _, f := range goSources(t).all {
		if f.isTest() || f.below("internal/dev", "examples", "fleet") {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := joined(e)
			if ok {
				b.WriteString(text + "\n")
			}
			return !ok
		})
	}
	return b.String()
}

func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, ok := joined(e.X)
		right, ok2 := joined(e.Y)
		return left + right, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}
