package repo

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// Tests wait for conditions (internal/dev/waittest), never for a time. A sleep is allowed in a synctest bubble, whose clock is
// simulated, and with a comment "not synchronization: " that gives its reason, such as a slow server that a test plays.
func TestNoSleepAsSynchronization(t *testing.T) {
	bubbles, reasons := 0, 0
	all := goSources(t)
	for _, f := range all.all {
		if !f.isTest() {
			continue
		}
		given := map[int]bool{} // lines with a reason
		for _, group := range f.file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "// not synchronization: ") {
					given[all.line(c.Pos())] = true
				}
			}
		}
		var bubbleEnd token.Pos
		ast.Inspect(f.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			switch {
			case !ok:
			case calls(call, "synctest", "Test"):
				bubbleEnd = call.End()
			case !calls(call, "time", "Sleep"):
			case call.Pos() < bubbleEnd:
				bubbles++
			case given[all.line(call.Pos())]:
				reasons++
			default:
				t.Errorf("%s: time.Sleep: use waittest.Until, or give the reason: // not synchronization: ...", all.set.Position(call.Pos()))
			}
			return true
		})
	}
	t.Logf("%d sleeps in simulated time, %d with a reason", bubbles, reasons)
}

// calls reports whether a call is of a package's function.
func calls(call *ast.CallExpr, pkg, name string) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg
}
