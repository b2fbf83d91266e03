package search

import (
	"strings"
	"testing"
)

// Syntax of other engines is rejected with an error that says what to write instead.
func TestRefusalsTeach(t *testing.T) {
	cases := map[string]string{
		`foo(?=bar)`:     "match the text that follows",
		`foo(?!bar)`:     "[^x]",
		`(?<=foo)bar`:    "match the text before",
		`(?<!foo)bar`:    "(^|[^x])",
		`(\w+) \1`:       "back-reference",
		`(?P<a>x)(?P=a)`: "back-reference",
		`\k<name>`:       "back-reference",
		`a++b`:           "possessive",
		`a{2}+`:          "possessive",
		`(?>a|b)c`:       "(?:…)",
		`foo\Kbar`:       "omit it",
		`(?x) a b`:       "flag x",
		`(?R)`:           "recursion",
		`foo(`:           `\(`,
		`foo)`:           `\)`,
		`[abc`:           `\[`,
		`*.go`:           "glob",
		`foo\`:           `\\`,
		`a{2000}`:        "1000",
		`foo\nbar`:       "multiline",
		`\yfoo`:          "backslash",
	}
	for pattern, want := range cases {
		_, err := Compile(Query{Pattern: pattern})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a word on %q", pattern, err, want)
		}
		if _, err := Compile(Query{Pattern: pattern, Fixed: true}); err != nil && pattern != `foo\nbar` {
			t.Errorf("%q as plain text: %v", pattern, err)
		}
	}
}

func TestTranslations(t *testing.T) {
	cases := []struct {
		pattern, text string
		want          bool
	}{
		{`\<foo\>`, "a foo b", true}, {`\<foo\>`, "afoo", false}, {`[\<]`, "a<b", true}, {`a\/b`, "a/b", true}, {`\Qa(\E`, "a(", true}, {`a[+]+`, "a+", true},
		{`[(?=]`, "?", true}, {`\h`, "\t", true}, {`\u0041`, "A", true}, {`\u{42}`, "B", true}, {`a{2}`, "aa", true}, {`x}+`, "x}}", true}, {`(?<n>a)b`, "ab", true},
		{`\\1`, `\1`, true}, {`[\]]+x`, "]x", true}, {`[]a]+x`, "]ax", true}, {`[[:alpha:]+]++?`, "a+", true},
	}
	for _, c := range cases {
		p, err := Compile(Query{Pattern: c.pattern})
		if err != nil {
			if !strings.Contains(err.Error(), "possessive") {
				t.Errorf("%q: %v", c.pattern, err)
			}
			continue
		}
		if _, _, got := p.Find(c.text); got != c.want {
			t.Errorf("%q on %q: got %v", c.pattern, c.text, got)
		}
	}
}

func TestSmartCase(t *testing.T) {
	for pattern, sensitive := range map[string]bool{
		`foo`: false, `Foo`: true, `\S\W\D`: false, `\pL`: false, `\p{Greek}x`: false, `(?P<Name>x)`: false, `[A-Z]`: true, `É`: true, `\x{4A}`: false, `(?i)Foo`: true,
	} {
		if got := hasUpper(pattern, false); got != sensitive {
			t.Errorf("%q: got %v", pattern, got)
		}
	}
	if p := mustCompile(t, Query{Pattern: `\bfoo\|x`}); len(p.Notes) != 1 {
		t.Errorf("notes %q", p.Notes)
	}
}
