package repo

import (
	"go/ast"
	"go/doc"
	"go/token"
	"strings"
	"testing"
)

// Everything that a package offers to other programs has a comment that starts with its name, as in the standard library.
// The constants and variables of a group may share the comment of the group.
func TestDocComments(t *testing.T) {
	for dir := range ownImports(t) {
		if !strings.Contains("/"+dir+"/", "/internal/") && !strings.HasPrefix(dir, "examples/") {
			checkPackage(t, dir)
		}
	}
}

func checkPackage(t *testing.T, dir string) {
	t.Helper()
	all := goSources(t)
	check := func(pos token.Pos, doc *ast.CommentGroup, name string) {
		if !startsWithName(doc, name) {
			t.Errorf("%s: the comment of %s must start with %q: %.60q", all.set.Position(pos), name, name, doc.Text())
		}
	}
	// Methods of these interfaces need no comment: it would repeat that of the interface.
	known := map[string]bool{"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "MarshalJSON": true, "UnmarshalJSON": true}
	var methods []*ast.FuncDecl
	for _, f := range all.in(dir) {
		if f.isTest() {
			continue
		}
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Recv != nil && isExported(d.Recv.List[0].Type) {
					methods = append(methods, d)
				} else if d.Name.IsExported() && d.Recv == nil {
					check(d.Pos(), d.Doc, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					checkSpec(d, s, check)
					noteMethods(s, known)
				}
			}
		}
	}
	for _, m := range methods {
		if m.Doc != nil || !known[m.Name.Name] {
			check(m.Pos(), m.Doc, m.Name.Name)
		}
	}
}

// noteMethods notes the methods of an exported interface.
func noteMethods(s ast.Spec, known map[string]bool) {
	declared, ok := s.(*ast.TypeSpec)
	if !ok || !declared.Name.IsExported() {
		return
	}
	if i, ok := declared.Type.(*ast.InterfaceType); ok {
		for _, m := range i.Methods.List {
			for _, name := range m.Names {
				known[name.Name] = true
			}
		}
	}
}

func checkSpec(d *ast.GenDecl, s ast.Spec, check func(token.Pos, *ast.CommentGroup, string)) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			check(s.Pos(), doc, s.Name.Name)
		}
	case *ast.ValueSpec:
		if name := s.Names[0]; name.IsExported() && !d.Lparen.IsValid() {
			check(s.Pos(), d.Doc, name.Name)
		} else if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
			check(s.Pos(), nil, name.Name)
		}
	}
}

// startsWithName reports whether a comment starts with a name, perhaps after an article, as in "A Tool is ...".
func startsWithName(doc *ast.CommentGroup, name string) bool {
	text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(doc.Text(), "A "), "An "), "The ")
	rest, ok := strings.CutPrefix(text, name)
	return ok && (rest == "" || !('a' <= rest[0]|0x20 && rest[0]|0x20 <= 'z' || rest[0] == '_'))
}

// isExported reports whether the type of a receiver is exported.
func isExported(x ast.Expr) bool {
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if generic, ok := x.(*ast.IndexExpr); ok {
		x = generic.X
	}
	name, ok := x.(*ast.Ident)
	return ok && name.IsExported()
}

// The page of each package that programs embed is a guide: sections, code, and an example that is tested.
func TestPackageGuides(t *testing.T) {
	for _, dir := range []string{"tool", "builtin", "permission", "agent", "model", "discover", "serve", "journal", "hook"} {
		guide, examples := "", 0
		for _, f := range goSources(t).in(dir) {
			if f.isTest() {
				examples += len(doc.Examples(f.file))
			} else {
				guide += f.file.Doc.Text()
			}
		}
		if strings.Count(guide, "\n# ") < 2 || !strings.Contains(guide, "\n\t") || examples == 0 {
			t.Errorf("package %s: its comment needs sections and code, and its tests an example (%d)", dir, examples)
		}
	}
}
