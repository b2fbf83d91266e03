package editor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vimCases are texts with the cursor before "|", keys, and what vim makes of them. "~" is Esc.
var vimCases = []struct{ text, keys, want string }{
	// motions
	{"|abc", "l", "a|bc"}, {"|abc", "9l", "ab|c"}, {"ab|c", "h", "a|bc"}, {"ab|c", "9h", "|abc"}, {"|ab\ncd", "l l l", "a|b\ncd"},
	{"|one two, three", "w", "one |two, three"}, {"|one two, three", "2w", "one two|, three"}, {"|one two, three", "3w", "one two, |three"},
	{"|one", "w", "on|e"}, {"one two, thr|ee", "b", "one two, |three"}, {"one two, thr|ee", "2b", "one two|, three"},
	{"|one two", "e", "on|e two"}, {"on|e two", "e", "one tw|o"}, {"|one\n\n two", "2e", "one\n\n tw|o"},
	{"  one| two", "0", "|  one two"}, {"  one| two", "^", "  |one two"}, {"|one two\nx", "$", "one tw|o\nx"},
	{"a\nb\n  |c", "gg", "|a\nb\n  c"}, {"|a\nb\n  c", "G", "a\nb\n  |c"}, {"|a\nb\nc", "2G", "a\n|b\nc"}, {"a\nb\n|c", "2gg", "a\n|b\nc"},
	{"|one two", "ft", "one |two"}, {"|two one to", "2fo", "two |one to"}, {"|two one to", "3fo", "two one t|o"}, {"|one two", "fx", "|one two"}, {"|one two", "tt", "one| two"},
	{"|über 漢字", "w", "über |漢字"}, {"|über 漢字", "$", "über 漢|字"},
	// operators
	{"|one two", "dw", "|two"}, {"one |two", "dw", "one| "}, {"|one two three", "2dw", "|three"}, {"|one two three", "d2w", "|three"},
	{"|a b c d e f g", "2d3w", "|g"}, {"|one\ntwo", "dw", "|\ntwo"}, {"|one two", "cwx~", "|x two"}, {"|one two", "c2wx~", "|x"},
	{"on|e two", "cwx~", "on|x two"}, {"|one two", "de", "| two"}, {"one t|wo", "db", "one |wo"}, {"one t|wo", "d0", "|wo"},
	{"one |two", "d$", "one| "}, {"one |two", "D", "one| "}, {"one |two", "Cx~", "one |x"}, {"|one two", "dft", "|wo"}, {"|one two", "dtt", "|two"},
	{"a\n|b\nc", "dd", "a\n|c"}, {"a\nb\n|c", "dd", "a\n|b"}, {"|a", "dd", "|"}, {"|a\nb\nc", "2dd", "|c"},
	{"|a\nb\nc", "dj", "|c"}, {"a\nb\n|c", "dk", "|a"}, {"a\n|b\nc", "dG", "|a"}, {"a\n|b\nc", "dgg", "|c"}, {"a\n|b\nc", "ccx~", "a\n|x\nc"},
	{"a\n|b", "Sx~", "a\n|x"}, {"|ab", "sx~", "|xb"}, {"|abc", "x", "|bc"}, {"|abc", "2x", "|c"}, {"|abc", "9x", "|"}, {"ab|c", "X", "a|c"},
	// put, repeat, undo
	{"|abc", "x p", "b|ac"}, {"|abc", "x P", "|abc"}, {"|one two", "yw P", "one| one two"}, {"|a\nb", "yy p", "a\n|a\nb"},
	{"a\n|b", "dd P", "|b\na"}, {"|a\nb", "dd p", "b\n|a"}, {"|a", "yy 2p", "a\n|a\na"}, {"|abc", "x 3p", "baa|ac"},
	{"|abcdef", "x .", "|cdef"}, {"|abcdef", "2x .", "|ef"}, {"|one two three", "dw .", "|three"},
	{"|a b", "cwx~ w .", "x |x"}, {"|a\nb", "Ax~ G .", "ax\nb|x"}, {"|a", "ox~ .", "a\nx\n|x"}, {"|a", "Ox~ .", "|x\nx\na"},
	{"|abc", "ix~ .", "|xxabc"}, {"|abc", "ax~ .", "ax|xbc"}, {"  a|b", "Ix~", "  |xab"},
}

// press carries out commands that are separated by spaces; "~" is Esc. Text for insert mode is dropped if the command
// before it failed.
func press(v *Vim, e *Editor, script string) {
	fresh := true
	for _, r := range script {
		switch {
		case r == '~':
			if !v.Normal {
				v.Escape(e)
			}
		case !v.Normal:
			e.Insert(string(r))
		case r != ' ' && (fresh || v.next != command{}):
			v.Key(e, string(r))
		}
		fresh = r == ' ' || r == '~'
	}
}

func at(marked string) *Editor {
	before, after, _ := strings.Cut(marked, "|")
	return &Editor{text: before + after, cursor: len(before)}
}

func (e *Editor) marked() string { return e.text[:e.cursor] + "|" + e.text[e.cursor:] }

func TestVim(t *testing.T) {
	for _, c := range vimCases {
		v, e := Vim{On: true, Normal: true}, at(c.text)
		press(&v, e, c.keys)
		if got := e.marked(); got != c.want || !v.Normal {
			t.Errorf("%q, %q: %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

// Undo undoes a change with everything typed in it.
func TestVimUndo(t *testing.T) {
	for _, c := range []struct{ text, keys, want string }{
		{"|one two", "dw u", "|one two"}, {"|one two", "cwa few words~ u", "|one two"}, {"|one", "x x u", "|ne"}, {"|one", "x x 2u", "|one"},
		{"|one", "ox y~ u", "|one"}, {"|a b", "cwx y~ w . u", "x y |b"}, {"|one", "u", "|one"}, {"|one", "yy p u", "|one"},
	} {
		v, e := Vim{On: true, Normal: true}, at(c.text)
		press(&v, e, c.keys)
		if got := e.marked(); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

// A pasted text that is folded is one word, and one character.
func TestVimFolds(t *testing.T) {
	v, e := Vim{On: true}, &Editor{}
	e.Insert("see ")
	e.Paste(strings.Repeat("line\n", 9))
	e.Insert("now")
	press(&v, e, "~ b b x")
	if e.Text() != "see now" {
		t.Errorf("%q", e.Text())
	}
	press(&v, e, "p")
	if e.Text() != "see n"+strings.Repeat("line\n", 9)+"ow" {
		t.Errorf("%q", e.Text())
	}
}

// Keys do what they do in the vim that is installed: those of the table, and random ones.
func TestVimIsVim(t *testing.T) {
	vim, err := exec.LookPath("vim")
	if err != nil {
		t.Skip("vim is not installed")
	}
	type script struct {
		Text         string
		Line, Column int
		Keys         []string
	}
	var scripts []script
	var editors []*Editor
	add := func(marked, keys string) {
		e := at(marked)
		scripts = append(scripts, script{
			Text: e.text, Line: 1 + strings.Count(e.text[:e.cursor], "\n"),
			Column: e.cursor - strings.LastIndexByte(e.text[:e.cursor], '\n'),
			Keys:   strings.Fields("A!~ " + keys), // the last change is the same in both
		})
		v := Vim{On: true, Normal: true}
		press(&v, e, "A!~ "+keys)
		editors = append(editors, e)
	}
	for _, c := range vimCases {
		add(c.text, c.keys)
	}
	r := rand.New(rand.NewPCG(41, 10))
	for i := range 2000 {
		add(randomText(r, i%2 == 0), randomCommands(r, i%2 == 0))
	}
	dir := t.TempDir()
	input, _ := json.Marshal(scripts)
	os.WriteFile(filepath.Join(dir, "in.json"), input, 0o600)
	os.WriteFile(filepath.Join(dir, "run.vim"), []byte(`
set encoding=utf-8
let out = []
for c in json_decode(join(readfile('in.json'), ''))
  silent %d _
  call setline(1, split(c.Text, "\n", 1))
  call setreg('"', '')
  call cursor(c.Line, c.Column)
  for k in c.Keys
    try
      execute "normal! " . tr(k, '~', "\x1b")
    catch
    endtry
  endfor
  let text = join(getline(1, '$'), "\n")
  let before = join(getline(1, line('.') - 1) + [''], "\n")
  call add(out, [text, len(before) + col('.') - 1, getreg('"')])
endfor
call writefile([json_encode(out)], 'out.json')
qall!
`), 0o600)
	cmd := exec.Command(vim, "-u", "NONE", "-N", "-n", "-i", "NONE", "-es", "-S", "run.vim")
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	b, _ := os.ReadFile(filepath.Join(dir, "out.json"))
	var out [][3]any
	if err := json.Unmarshal(b, &out); err != nil || len(out) != len(scripts) {
		t.Fatal(err, len(out))
	}
	wrong := 0
	for i, o := range out {
		e, s := editors[i], scripts[i]
		vim := Editor{text: o[0].(string), cursor: int(o[1].(float64))}
		if copied := strings.TrimSuffix(o[2].(string), "\n"); copied == "" {
			continue // vim takes the empty text of y0 at the start of a line; here the last text remains
		}
		if e.marked() != vim.marked() || e.killed != o[2] {
			if wrong++; wrong < 20 {
				t.Errorf("%q at %d:%d, %q: %q, killed %q; vim: %q, %q", s.Text, s.Line, s.Column, s.Keys, e.marked(), e.killed, vim.marked(), o[2])
			}
		}
	}
	t.Logf("%d of %d differ", wrong, len(out))
}

// randomText is a text with a cursor: one line, or several ones.
func randomText(r *rand.Rand, oneLine bool) string {
	letters := []rune("aab  ,é\n")
	if oneLine {
		letters = letters[:len(letters)-1]
	}
	text := ""
	for range r.IntN(16) {
		text += string(letters[r.IntN(len(letters))])
	}
	cut := []rune("a" + text) // 2yb in an empty first line does nothing in vim
	i := r.IntN(len(cut) + 1)
	for i > 0 && (i == len(cut) || cut[i] == '\n') && cut[i-1] != '\n' { // onto a character
		i--
	}
	return string(cut[:i]) + "|" + string(cut[i:])
}

// randomCommands are some commands. Motions by words are for texts of one line, and $ has no count: vim lets operators over
// several lines become linewise or end before a line break, which isn't done here.
func randomCommands(r *rand.Rand, oneLine bool) string {
	pick := func(list string) string { all := strings.Fields(list); return all[r.IntN(len(all))] }
	count := func() string {
		if r.IntN(3) > 0 {
			return ""
		}
		return fmt.Sprint(1 + r.IntN(4))
	}
	motion := func() string {
		if r.IntN(20) == 0 {
			return "0" // after a count, it is a part of that
		}
		if r.IntN(10) == 0 {
			return "$"
		}
		if oneLine && r.IntN(2) == 0 {
			return count() + pick("w b e")
		}
		return count() + pick("h l ^ gg G fa ta fb t,")
	}
	var all []string
	for range 1 + r.IntN(4) {
		switch r.IntN(8) {
		case 0, 1:
			all = append(all, motion())
		case 2, 3, 4:
			op := pick("d d y c")
			target := motion()
			if r.IntN(4) == 0 {
				target = count() + pick(op+" j k")
			}
			if op == "c" {
				target += "xy~"
			}
			if op += target; target[0] != '$' {
				op = count() + op
			}
			all = append(all, op)
		case 5:
			all = append(all, pick("D "+count()+pick("x p P X")), pick(". 0"))
		case 6:
			all = append(all, pick("i a I A o O")+"z~")
		case 7:
			all = append(all, pick("C "+count()+pick("s S"))+"xy~")
		}
	}
	return strings.Join(all, " ")
}
