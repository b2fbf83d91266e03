package match

import (
	"path"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// lands are the files that a well-known command writes under a name that none of its words is: cp a/.mcp.json . writes
// ./.mcp.json, curl -O and wget take the name from the address, and what is unpacked loses its ending.
func lands(c *bash.Command) []prove.Touch {
	name := c.Base()
	switch name {
	case "cp", "mv", "install", "ln":
		return landsIn(c)
	case "curl", "wget":
		if name == "curl" && !slices.ContainsFunc(c.Words, func(w bash.Word) bool {
			return strings.HasPrefix(w.Text, "--remote-name") || program.Cluster(w.Text) && strings.ContainsAny(w.Text, "OJ")
		}) {
			return nil
		}
		var ts []prove.Touch
		for _, w := range c.Words[1:] {
			address, _, _ := strings.Cut(w.Text, "?")
			address, _, _ = strings.Cut(address, "#")
			ts = append(ts, prove.Touch{Path: path.Base(address), Write: true})
		}
		return ts
	case "gzip", "gunzip", "xz", "unxz", "bzip2", "bunzip2", "zstd", "unzstd", "uncompress", "lzma", "unlzma":
		var ts []prove.Touch
		for _, w := range c.Words[1:] {
			if end := strings.LastIndexAny(w.Text, ".-"); end > 0 && w.Kind == bash.Literal {
				ts = append(ts, prove.Touch{Path: w.Text[:end], Write: true})
			}
		}
		return ts
	}
	return nil
}

// landsIn are the names that files get in the folder that they are copied, moved or linked to.
func landsIn(c *bash.Command) []prove.Touch {
	operands := operandPlaces(c)
	if len(operands) == 0 {
		return nil
	}
	last := operands[len(operands)-1]
	to := c.Words[last]
	if into, ok := intoFolder(c); ok && c.Base() != "mv" && len(into) == 1 && into[0] < len(c.Words) {
		to, last = c.Words[into[0]], 0
	}
	if len(operands) == 1 {
		to, last = bash.Word{Text: ".", Kind: bash.Literal}, 0
	}
	folder := last == 0 || len(operands) > 2 || strings.HasSuffix(to.Text, "/") || path.Base(to.Text) == "." || path.Base(to.Text) == ".."
	var ts []prove.Touch
	for _, i := range operands {
		name := path.Base(c.Words[i].Text)
		if sort := c.Words[i].Kind; i != last && to.Kind == bash.Literal && (sort == bash.Literal || sort == bash.Glob) {
			ts = append(ts, prove.Touch{Path: prove.Join2(to.Text, name), Glob: sort == bash.Glob && strings.ContainsAny(name, "*?["), Write: true, InFolder: !folder})
		}
	}
	return ts
}

// unpacks reports whether a packer writes what it has packed: tar xf, tar --extract, 7z x, cpio -i, pax -r.
func unpacks(c *bash.Command) bool {
	for i, w := range c.Words[1:] {
		if program.Cluster(w.Text) && strings.ContainsAny(w.Text, "xir") || strings.HasPrefix(w.Text, "--ex") || strings.HasPrefix(w.Text, "--ge") ||
			i == 0 && program.Cluster("-"+w.Text) && strings.ContainsAny(w.Text, "xe") {
			return true
		}
	}
	return false
}
