package main

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/cgocall"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
)

// suite has the analyzers of go vet.
var suite = []*analysis.Analyzer{
	appends.Analyzer, asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer,
	buildtag.Analyzer, cgocall.Analyzer, composite.Analyzer, copylock.Analyzer, defers.Analyzer,
	directive.Analyzer, errorsas.Analyzer, framepointer.Analyzer, hostport.Analyzer,
	httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, lostcancel.Analyzer,
	nilfunc.Analyzer, printf.Analyzer, shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer,
	stdmethods.Analyzer, stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer,
	testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer,
	unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
}

// facts are what an analyzer knows of a package, or of an object of one: that a function is like fmt.Printf.
type facts map[factKey]analysis.Fact

type factKey struct {
	of   any // *types.Package, types.Object
	kind reflect.Type
}

// running runs analyzers on one package.
type running struct {
	c       *checker
	pass    analysis.Pass
	report  bool // whether problems are reported
	results map[*analysis.Analyzer]any
}

// of returns the result of an analyzer, after those that it requires.
func (r *running) of(a *analysis.Analyzer) (any, error) {
	if result, ok := r.results[a]; ok {
		return result, nil
	}
	pass := r.pass
	pass.Analyzer, pass.ResultOf = a, map[*analysis.Analyzer]any{}
	for _, needed := range a.Requires {
		result, err := r.of(needed)
		if err != nil {
			return nil, err
		}
		pass.ResultOf[needed] = result
	}
	pass.Report = func(d analysis.Diagnostic) {
		if r.report {
			r.c.report(pass.Fset.Position(d.Pos).String() + ": " + d.Message)
		}
	}
	pass.ImportObjectFact = func(o types.Object, f analysis.Fact) bool { return r.c.facts.get(o, f) }
	pass.ImportPackageFact = func(p *types.Package, f analysis.Fact) bool { return r.c.facts.get(p, f) }
	pass.ExportObjectFact = func(o types.Object, f analysis.Fact) { r.c.facts.put(o, f) }
	pass.ExportPackageFact = func(f analysis.Fact) { r.c.facts.put(pass.Pkg, f) }
	result, err := a.Run(&pass)
	if err == nil {
		r.results[a] = result
	}
	return result, err
}

func (f facts) put(of any, fact analysis.Fact) { f[factKey{of, reflect.TypeOf(fact)}] = fact }

// get copies a fact, if there is one of its type.
func (f facts) get(of any, into analysis.Fact) bool {
	fact, ok := f[factKey{of, reflect.TypeOf(into)}]
	if ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(fact).Elem())
	}
	return ok
}
