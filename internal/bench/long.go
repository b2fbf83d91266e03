package main

import (
	"fmt"
	"strings"
)

// longCommands are long commands as agents send them, from 1 to 16 KB: nearly always a few commands around a text.
func longCommands() []string {
	var all []string
	for size := 1 << 10; size <= 16<<10; size *= 2 {
		code := fillTo(size-200, "", func(n int) string {
			return fmt.Sprintf("\tif x%d := load(\"%d\"); x%d != nil {\n\t\treturn x%d\n\t}\n", n, n, n, n)
		}, "")
		words := fillTo(size-200, "", func(n int) string { return fmt.Sprintf("- the %dth thing that was changed, and why\n", n) }, "")
		all = append(all,
			"cat > src/gen.go <<'EOF'\npackage main\n"+code+"EOF",
			"mkdir -p src/a && cat <<EOF > src/a/gen.go && gofmt -l src\npackage main\n"+code+"EOF",
			"cat >> README.md <<'EOF'\n"+words+"EOF\ngit diff --stat",
			"python3 - <<'PY'\n"+code+"PY",
			"python3 -c '"+strings.ReplaceAll(code, "load", "open")+"'",
			"git add -A && git commit -m \"the title\n\n"+words+"\"",
			"gh pr create --title x --body '"+words+"'",
			"echo '"+words+"' | wc -l",
			"grep -n TODO"+strings.Repeat(" README.md src/main.go src/a/b/c.go go.mod", size>>10),
			"sed -n '1,40p' README.md; "+strings.Repeat("echo ---; cat src/main.go | head -20; ", size>>10)+"git status --short",
			"node -e \""+strings.NewReplacer(`"`, `'`, "\t", " ").Replace(code)+"\"",
			"cat <<'EOF' | jq .\n{\"list\": ["+fillTo(size-200, "1", func(n int) string { return fmt.Sprintf(", %d", n) }, "")+"]}\nEOF",
		)
	}
	return all
}
