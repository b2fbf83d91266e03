package contextfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// source is a file that was read.
type source struct {
	path string // links resolved
	text string // without a byte order mark, line endings \n
}

// open reads a text file whose resolved path is in one of roots (nil: any). listed is whether directories list its path
// in this spelling, so that it needs no resolving without links. Errors never contain its content.
func open(path string, listed bool, roots []string, ignored *ignore.Rules) (source, error) {
	abs, exists := path, true
	f, err := nofollow.Open(path)
	if err != nil || !listed { // a link, nothing, or in another spelling
		f.Close()
		if abs, exists, err = realpath.Resolve(path); err == nil && exists {
			f, err = nofollow.Open(abs)
		}
	}
	defer f.Close()
	_, inside := names.Within(abs, roots)
	why, secret := names.Secret(abs)
	switch {
	case err != nil:
	case !exists:
		err = errors.New("no such file")
	case roots != nil && !inside:
		err = fmt.Errorf("it is a link to a path outside %s", roots[0])
	case secret:
		err = fmt.Errorf("it may be secret (%s)", why)
	case ignored != nil:
		for _, p := range []string{abs, path} {
			if v := ignored.Check(p, ignore.File); v.State == ignore.Refused {
				err = v
			}
		}
	}
	if err != nil {
		return source{}, fmt.Errorf("read %s: %w", path, err)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(content) > maxSource {
		err = fmt.Errorf("it is larger than %d MB; shorten it", maxSource>>20)
	}
	doc, bad := text.Decode(content)
	if errors.Is(bad, text.ErrBinary) {
		bad = errors.New("it is binary, not text")
	}
	if err = cmp.Or(err, bad); err != nil {
		return source{}, fmt.Errorf("read %s: %w", path, err)
	}
	return source{path: abs, text: visible(strings.ToValidUTF8(doc.Text, "\uFFFD"))}, nil
}

// visible removes characters that are invisible to a user, or appear elsewhere, so that the model reads what the user
// approved. Joiners stay, because scripts and emoji need them.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) < 0 {
		return s // as most are
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		case r >= 0xE0100 && r <= 0xE01EF: // variation selectors other than those of emoji
			return -1
		}
		return r
	}, s)
}

// real resolves links in the part of a path that exists.
func real(path string) string {
	if abs, _, err := realpath.Resolve(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// cut removes the middle of a text that is longer than room bytes: facts are added at the end.
func cut(s string, room int) string {
	if len(s) <= room {
		return s
	}
	gap := fmt.Sprintf("\n[… %d KB omitted: read the file for them …]\n", len(s)>>10)
	room = max(room-len(gap), 0)
	tail := room / 4
	head := strings.ToValidUTF8(s[:room-tail], "")
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i]
	}
	end := strings.ToValidUTF8(s[len(s)-tail:], "")
	if i := strings.IndexByte(end, '\n'); i >= 0 && i < len(end)/2 {
		end = end[i+1:]
	}
	return head + gap + end
}
