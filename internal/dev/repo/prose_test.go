package repo

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// prose is a text for users: at least three words.
var prose = regexp.MustCompile(`[A-Za-z']{2,} [A-Za-z']+ [A-Za-z']{2,}`)

// foreign are texts of other programs and libraries, which have no other way to detect an error.
var foreign = []string{
	"unrecognized content type", "failed to decode response", "request terminated without response", // the MCP SDK
	"server gave HTTP response to HTTPS client",    // net/http
	"no new privileges",                            // sudo
	"panic: test timed out", "created by testing.", // go test
}

// No decision depends on a text that Adze itself shows: those change.
func TestNoDecisionByProse(t *testing.T) {
	comparing := regexp.MustCompile(`^(Has|Contains|Equal|Index|Cut|Trim|Split|Count)`)
	all := goSources(t)
	for _, f := range all.all {
		if f.isTest() || f.below("bin", "internal/dev/bench") || strings.Contains(f.path, "testdata/") {
			continue
		}
		check := func(e ast.Expr) {
			t.Helper()
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			if text, _ := strconv.Unquote(lit.Value); prose.MatchString(text) && !slices.Contains(foreign, text) {
				t.Errorf("%s: compares with %s", all.set.Position(lit.Pos()), lit.Value)
			}
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					check(n.X)
					check(n.Y)
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					check(e)
				}
			case *ast.CallExpr:
				if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
					if x, ok := fun.X.(*ast.Ident); ok && (x.Name == "strings" || x.Name == "bytes") && comparing.MatchString(fun.Sel.Name) {
						for _, e := range n.Args {
							check(e)
						}
					}
				}
			}
			return true
		})
	}
}
