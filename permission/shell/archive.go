package shell

import (
	"slices"
	"strings"
)

// proveArchive judges tar, unzip and zipinfo where they only list: options that are exactly known, an archive, names of
// members. An archive with a colon in its name is one on another machine to tar.
func (c *Command) proveArchive(name string) Proof {
	words := c.Words[1:]
	for _, w := range words {
		if w.Kind != Literal {
			return Proof{Why: notLiteral(w.Text)}
		}
	}
	var archive string
	var ok bool
	if name == "tar" {
		archive, words, ok = tarListing(words)
		ok = ok && !strings.Contains(archive, ":")
	} else {
		archive, words, ok = zipListing(name, words)
		ok = ok && !strings.ContainsAny(archive, "*?[")
	}
	if !ok || slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "-") }) {
		return Proof{Why: name + " is on the read-only list only for listing"}
	}
	if archive == "-" {
		return c.proved(nil)
	}
	ts := []Touch{{Path: archive}}
	for _, end := range guessedEndings[name] {
		ts = append(ts, Touch{Path: archive + end})
	}
	return c.proved(ts)
}

// tarListing reads t, v, z, j, J, a and f in the words of tar, with or without a minus in front of the first.
func tarListing(words []Word) (archive string, members []Word, ok bool) {
	lists, named := false, false
	for i := 0; i < len(words); i++ {
		s := words[i].Text
		long, value, _ := strings.Cut(s, "=")
		switch {
		case long == "--file" && value != "" && !named:
			archive, named = value, true
			continue
		case s == "--list":
			lists = true
			continue
		case s == "--verbose" || s == "--gzip" || s == "--gunzip" || s == "--bzip2" || s == "--xz" || s == "--zstd":
			continue
		case i > 0 && !strings.HasPrefix(s, "-"):
			members = append(members, words[i])
			continue
		}
		letters := strings.TrimPrefix(s, "-")
		if letters == "" || strings.Trim(letters, "tvzjJaf") != "" {
			return "", nil, false
		}
		lists = lists || strings.Contains(letters, "t")
		if f := strings.IndexByte(letters, 'f'); f >= 0 {
			if f != len(letters)-1 || i+1 == len(words) || named { // -fx names x
				return "", nil, false
			}
			i++
			archive, named = words[i].Text, true
		}
	}
	return archive, members, lists && named && (archive == "-" || !strings.HasPrefix(archive, "-"))
}

// zipListing reads the words of unzip and zipinfo.
func zipListing(name string, words []Word) (archive string, members []Word, ok bool) {
	listing := map[string][]string{
		"unzip":   {"-l", "-v", "-lv", "-vl", "-Z", "-Z1", "-t", "-tq", "-p"},
		"zipinfo": {"-1", "-2", "-s", "-m", "-l", "-h", "-t"},
	}[name]
	listed := name == "zipinfo"
	if len(words) > 0 && slices.Contains(listing, words[0].Text) {
		words, listed = words[1:], true
	}
	if len(words) == 0 || !listed || strings.HasPrefix(words[0].Text, "-") {
		return "", nil, false
	}
	return words[0].Text, words[1:], true
}
