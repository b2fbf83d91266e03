package outline

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// parseGo returns the declarations of a Go file, as a reference. Its error is that of the parser.
func parseGo(source string) ([]Declaration, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []Declaration
	add := func(at token.Pos, kind, name string) {
		if name != "_" && len(name) <= maxName && len(all) < maxDeclarations {
			line := set.PositionFor(at, false).Line // where it is, whatever a line directive says
			minor := kind == "const" || kind == "var"
			all = append(all, Declaration{Line: line, Kind: kind, Name: name, Minor: minor})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				from, to := set.PositionFor(d.Recv.Pos(), false), set.PositionFor(d.Recv.End(), false)
				name = source[from.Offset:to.Offset] + " " + name
			}
			add(d.Pos(), "func", name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Pos(), "type", spec.Name.Name)
				case *ast.ValueSpec:
					add(spec.Pos(), d.Tok.String(), spec.Names[0].Name)
				}
			}
		}
	}
	return all, nil
}
