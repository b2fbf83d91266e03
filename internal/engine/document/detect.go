package document

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// Detect returns the type of a file from its name and its first bytes, [HeadSize] of them or all. The content decides;
// the name only distinguishes kinds of text and of containers.
func Detect(name string, head []byte) Type {
	head = head[:min(len(head), HeadSize)]
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	text := looksText(head)
	if !text || bytes.HasPrefix(head, []byte("%PDF-")) {
		if t, ok := bySignature(head, ext); ok {
			return t
		}
	}
	if !text && !sourceExtensions[ext] {
		if t, ok := byExtension[ext]; ok {
			return t
		}
		return Type{Binary, "application/octet-stream", "binary file"}
	}
	switch {
	case ext == ".ipynb":
		return Type{Notebook, "application/x-ipynb+json", "Jupyter notebook"}
	case ext == ".svg":
		return Type{SVG, "image/svg+xml", "SVG image"}
	}
	return Type{Text, "text/plain", "text file"}
}

// sourceExtensions are extensions of text files that may contain bytes that look binary.
var sourceExtensions = set(`.txt .md .markdown .rst .go .mod .sum .c .h .cc .cpp .cxx .hpp .hh .m .mm .rs .py .pyi .rb .php .pl .pm .lua .r .jl
	.js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte .java .kt .kts .scala .groovy .clj .cs .fs .vb .swift .dart .ex .exs .erl .hrl .hs .ml .mli
	.sh .bash .zsh .fish .ps1 .bat .cmd .sql .html .htm .xml .css .scss .sass .less .json .jsonc .json5 .yaml .yml .toml .ini .cfg .conf .properties
	.env .csv .tsv .log .tex .bib .proto .graphql .gradle .cmake .mk .dockerfile .tf .hcl .nix .vim .el .lisp .scm .asm .s .patch .diff .ipynb .svg`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// looksText reports whether head can be the beginning of a text in some encoding.
func looksText(head []byte) bool {
	if len(head) == 0 {
		return true
	}
	for _, bom := range []string{"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"} {
		if bytes.HasPrefix(head, []byte(bom)) && !bytes.HasPrefix(head, []byte("\xFF\xFE\x00\x00")) {
			return true
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return looksUTF16(head)
	}
	odd := 0 // unusual control characters; logs have escape sequences
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v' && c != '\b' && c != 0x1B ||
			c == 0x7F {
			odd++
		}
	}
	if utf8.Valid(trimCut(head)) {
		return odd*10 <= len(head)
	}
	return odd*100 <= len(head)
}

// trimCut removes an incomplete last character, which was cut at the end of the head.
func trimCut(head []byte) []byte {
	for n := 1; n <= 3 && n < len(head); n++ {
		if c := head[len(head)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-n:]) {
				return head[:len(head)-n]
			}
			break
		}
	}
	return head
}

// looksUTF16 reports whether head is UTF-16 without a byte order mark, mostly of Latin letters: nearly all bytes at one
// parity are zero and none at the other.
func looksUTF16(head []byte) bool {
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	limit, least := max(zeros[0], zeros[1]), min(zeros[0], zeros[1])
	return len(head) >= 8 && least == 0 && limit*20 >= len(head)/2*17
}
