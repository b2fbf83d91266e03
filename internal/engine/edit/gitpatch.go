package edit

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// GitFile is a file in a patch; the content of a link is its target.
type GitFile struct {
	Mode    uint32 // GitPlain, GitExecutable or GitLink
	Content []byte
}

// The modes of files in git.
const (
	GitPlain      = 0o100644
	GitExecutable = 0o100755
	GitLink       = 0o120000
)

// GitPatch returns the change of a file as git diff --binary prints it, for git apply; "": nothing changed. A file that
// doesn't exist is nil. The name is relative, with slashes.
func GitPatch(name string, old, new *GitFile) string {
	if old != nil && new != nil && (old.Mode == GitLink) != (new.Mode == GitLink) {
		return GitPatch(name, old, nil) + GitPatch(name, nil, new) // as git does
	}
	var b strings.Builder
	var before, after []byte
	fmt.Fprintf(&b, "diff --git %s %s\n", gitName("a/"+name), gitName("b/"+name))
	oldName, newName := tabbed(gitName("a/"+name)), tabbed(gitName("b/"+name))
	switch {
	case old == nil && new == nil:
		return ""
	case old == nil:
		fmt.Fprintf(&b, "new file mode %06o\n", new.Mode)
		oldName, after = "/dev/null", new.Content
	case new == nil:
		fmt.Fprintf(&b, "deleted file mode %06o\n", old.Mode)
		newName, before = "/dev/null", old.Content
	default:
		before, after = old.Content, new.Content
		if old.Mode != new.Mode {
			fmt.Fprintf(&b, "old mode %06o\nnew mode %06o\n", old.Mode, new.Mode)
		} else if bytes.Equal(before, after) {
			return ""
		}
	}
	switch {
	case bytes.Equal(before, after):
	case Binary(before) || Binary(after):
		fmt.Fprintf(&b, "index %s..%s\nGIT binary patch\n", blobID(old), blobID(new))
		writeLiteral(&b, after)
		writeLiteral(&b, before)
	default:
		b.WriteString(Compare(string(before), string(after)).Unified(oldName, newName))
	}
	return b.String()
}

// Binary reports whether a content has no lines to compare.
func Binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }

// blobID returns the name of a content in a git repository. A binary patch requires it.
func blobID(f *GitFile) string {
	if f == nil {
		return strings.Repeat("0", 2*sha1.Size)
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(f.Content))
	h.Write(f.Content)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// base85 are the digits of binary patches.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// writeLiteral writes a content, compressed, in lines of up to 52 bytes: their number, as a letter, and the bytes.
func writeLiteral(b *strings.Builder, content []byte) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(content) // a buffer takes everything
	z.Close()
	fmt.Fprintf(b, "literal %d\n", len(content))
	for packed.Len() > 0 {
		line := packed.Next(52)
		if n := len(line); n <= 26 {
			b.WriteByte(byte('A' + n - 1))
		} else {
			b.WriteByte(byte('a' + n - 27))
		}
		for len(line) > 0 {
			var four [4]byte
			line = line[copy(four[:], line):]
			var digits [5]byte
			for n, i := binary.BigEndian.Uint32(four[:]), 4; i >= 0; n, i = n/85, i-1 {
				digits[i] = base85[n%85]
			}
			b.Write(digits[:])
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// gitName quotes a name that has control characters, quotes or backslashes, or isn't valid UTF-8.
func gitName(name string) string {
	special := func(c byte) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }
	quote := !utf8.ValidString(name)
	for _, c := range []byte(name) {
		quote = quote || special(c)
	}
	if !quote {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if special(c) || c >= utf8.RuneSelf {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tabbed ends a name with blanks by a tab, as git does, so that nothing after it is taken for a time.
func tabbed(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}
