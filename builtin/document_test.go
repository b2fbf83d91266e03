package builtin

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestNotebookEdit(t *testing.T) {
	files := map[string]string{"a.ipynb": `{"cells":[{"cell_type":"code","id":"x","source":"1","outputs":[],"execution_count":null,"metadata":{}}],"metadata":{},"nbformat":4,"nbformat_minor":5}`}
	tooltest.Check(t, one(t, "notebook_edit"),
		tooltest.Try{Args: `{"notebook_path":"$WORK/a.ipynb","cell_id":"x","new_source":"2"}`, Files: files},
		tooltest.Try{Args: `{"notebook_path":"$WORK/a.ipynb","new_source":"2","edit_mode":"insert"}`, Files: files},
		tooltest.Try{Args: `{"notebook_path":"$WORK/a.ipynb","cell_id":"y","new_source":"2"}`, Files: files, Fails: true},
	)
}

// A notebook keeps its byte order mark and its line endings, which new lines of a cell get too.
func TestNotebookBytes(t *testing.T) {
	dir := t.TempDir()
	const start, end = "\ufeff{\r\n \"cells\": [\r\n  {\r\n   \"cell_type\": \"code\",\r\n   \"id\": \"x\",\r\n   \"source\": [\r\n",
		"\r\n   ],\r\n   \"metadata\": {},\r\n   \"outputs\": [],\r\n   \"execution_count\": null\r\n  }\r\n ],\n \"metadata\": {},\r\n \"nbformat\": 4,\r\n \"nbformat_minor\": 5\r\n}"
	put(t, dir, map[string]string{"a.ipynb": start + "    \"1\"" + end})
	x := executor(open(t, dir))
	at := filepath.Join(dir, "a.ipynb")
	if o := call(t, x, "read_file", args{"absolute_path": at}); !strings.Contains(o.Result.Text(), "--- Code Cell x ---") {
		t.Errorf("read: %s", o.Result.Text())
	}
	if o := call(t, x, "notebook_edit", args{"notebook_path": at, "cell_id": "x", "new_source": "é\n2"}); o.Error != nil {
		t.Fatal(o.Error)
	}
	want := start + "    \"é\\n\",\r\n    \"2\"" + end
	if got, err := os.ReadFile(at); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func picture(t testing.TB, width, height int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// onePage returns the smallest PDF with a line of text on each page.
func onePage(lines ...string) string {
	var b bytes.Buffer
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	b.WriteString("%PDF-1.4\n")
	var kids []string
	for i := range lines {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object(fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(kids, " "), len(lines)))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, line := range lines {
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*i))
		program := fmt.Sprintf("BT /F1 12 Tf 72 720 Td (%s) Tj ET", line)
		object(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(program), program))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.String()
}

func TestReadFileDocuments(t *testing.T) {
	serial.Test(t)
	dir := t.TempDir()
	many := make([]string, 12)
	for i := range many {
		many[i] = fmt.Sprintf("page number %d", i+1)
	}
	put(t, dir, map[string]string{
		"small.png":  picture(t, 20, 10),
		"large.png":  picture(t, 4000, 1000),
		"broken.png": picture(t, 20, 10)[:40],
		"a.svg":      `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		"a.wav":      "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00",
		"a.pdf":      onePage("Hello world", "second page", ""),
		"long.pdf":   onePage(many...),
		"a.elf":      "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 60),
		"a.ts":       "const x: number = 1\n",
	})
	x := executor(open(t, dir))
	for _, c := range []struct {
		args  args
		want  string // in the text
		media string // type of the second part
		fails tool.ErrorType
	}{
		{args{"absolute_path": "small.png"}, "small.png: PNG image, 20x10 pixels", "image/png", ""},
		{args{"absolute_path": "large.png"}, "scaled from 4000x1000", "image/", ""},
		{args{"absolute_path": "broken.png"}, "Cannot display content of binary file: broken.png (PNG image", "", ""},
		{args{"absolute_path": "a.svg"}, "<svg", "", ""},
		{args{"absolute_path": "a.wav"}, "a.wav: WAV audio", "audio/", ""},
		{args{"absolute_path": "a.pdf"}, "Hello world", "", ""},
		{args{"absolute_path": "a.pdf"}, "without text, perhaps scans: 3", "", ""},
		{args{"absolute_path": "a.pdf", "pages": "2"}, "--- Page 2 of 3 ---\nsecond page", "", ""},
		{args{"absolute_path": "a.pdf", "pages": "5-9"}, "", "", tool.InvalidParams},
		{args{"absolute_path": "a.pdf", "pages": "x"}, "pages: ", "", tool.InvalidParams},
		{args{"absolute_path": "a.pdf", "pages": "1-30"}, "pages: ", "", tool.InvalidParams},
		{args{"absolute_path": "a.pdf", "limit": 3}, "use pages", "", tool.InvalidParams},
		{args{"absolute_path": "long.pdf"}, "12 pages", "", fileTooLarge},
		{args{"absolute_path": "long.pdf", "pages": "11-12"}, "page number 12", "", ""},
		{args{"absolute_path": "a.elf"}, "Cannot display content of binary file: a.elf (ELF", "", ""},
		{args{"absolute_path": "a.ts"}, "const x", "", ""},
		{args{"absolute_path": "a.ts", "pages": "2"}, "pages is for PDF", "", tool.InvalidParams},
	} {
		name := fmt.Sprint(c.args)
		c.args["absolute_path"] = filepath.Join(dir, c.args["absolute_path"].(string))
		o := call(t, x, "read_file", c.args)
		if (o.Error != nil) != (c.fails != "") || o.Error != nil && o.Error.Type != c.fails {
			t.Errorf("%s: %v", name, o.Error)
		}
		if text := o.Result.Text(); !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in %.300q", name, c.want, text)
		}
		media := ""
		if len(o.Result.Content) > 1 {
			media = o.Result.Content[1].(tool.Media).MIMEType
		}
		if !strings.HasPrefix(media, c.media) || c.media == "" && media != "" {
			t.Errorf("%s: media of type %q, not %q", name, media, c.media)
		}
	}
}
