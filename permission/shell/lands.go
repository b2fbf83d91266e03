package shell

import (
	"path"
	"slices"
	"strings"
)

// lands are the files that a well-known command writes under a name that none of its words is: cp a/.mcp.json . writes
// ./.mcp.json, curl -O and wget take the name from the address, and what is unpacked loses its ending.
func (c *Command) lands() []Touch {
	name := c.base()
	switch name {
	case "cp", "mv", "install", "ln":
		return c.landsIn()
	case "curl", "wget":
		if name == "curl" && !slices.ContainsFunc(c.Words, func(w Word) bool {
			return strings.HasPrefix(w.Text, "--remote-name") || cluster(w.Text) && strings.ContainsAny(w.Text, "OJ")
		}) {
			return nil
		}
		var ts []Touch
		for _, w := range c.Words[1:] {
			address, _, _ := strings.Cut(w.Text, "?")
			address, _, _ = strings.Cut(address, "#")
			ts = append(ts, Touch{Path: path.Base(address), Write: true})
		}
		return ts
	case "gzip", "gunzip", "xz", "unxz", "bzip2", "bunzip2", "zstd", "unzstd", "uncompress", "lzma", "unlzma":
		var ts []Touch
		for _, w := range c.Words[1:] {
			if end := strings.LastIndexAny(w.Text, ".-"); end > 0 && w.Kind == Literal {
				ts = append(ts, Touch{Path: w.Text[:end], Write: true})
			}
		}
		return ts
	}
	return nil
}

// landsIn are the names that files get in the folder that they are copied, moved or linked to.
func (c *Command) landsIn() []Touch {
	operands := c.operandPlaces()
	if len(operands) == 0 {
		return nil
	}
	last := operands[len(operands)-1]
	to := c.Words[last]
	if into, ok := c.intoFolder(); ok && c.base() != "mv" && len(into) == 1 && into[0] < len(c.Words) {
		to, last = c.Words[into[0]], 0
	}
	if len(operands) == 1 {
		to, last = Word{".", Literal}, 0
	}
	folder := last == 0 || len(operands) > 2 || strings.HasSuffix(to.Text, "/") || path.Base(to.Text) == "." || path.Base(to.Text) == ".."
	var ts []Touch
	for _, i := range operands {
		name := path.Base(c.Words[i].Text)
		if sort := c.Words[i].Kind; i != last && to.Kind == Literal && (sort == Literal || sort == Glob) {
			ts = append(ts, Touch{Path: join2(to.Text, name), Glob: sort == Glob && strings.ContainsAny(name, "*?["), Write: true, InFolder: !folder})
		}
	}
	return ts
}

// unpacks reports whether a packer writes what it has packed: tar xf, tar --extract, 7z x, cpio -i, pax -r.
func (c *Command) unpacks() bool {
	for i, w := range c.Words[1:] {
		if cluster(w.Text) && strings.ContainsAny(w.Text, "xir") || strings.HasPrefix(w.Text, "--ex") || strings.HasPrefix(w.Text, "--ge") ||
			i == 0 && cluster("-"+w.Text) && strings.ContainsAny(w.Text, "xe") {
			return true
		}
	}
	return false
}
