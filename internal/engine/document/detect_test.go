package document

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestDetect(t *testing.T) {
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(strings.Repeat("中文文本\n", 20))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, head string
		kind       Kind
		want       string
	}{
		{"a.go", "package a\n", Text, "text file"},
		{"empty.png", "", Text, "text file"},
		{"page.png", "<!DOCTYPE html><html>", Text, "text file"},
		{"a.txt", gbk, Text, "text file"},
		{"a.txt", "\xFF\xFEa\x00b\x00", Text, "text file"},
		{"a.txt", strings.Repeat("a\x00b\x00", 20), Text, "text file"},
		{"a.ts", "G\x00\x01" + strings.Repeat("x", 185) + "G" + strings.Repeat("\x00", 187) + "G", Video, "MPEG transport stream"},
		{"a.ts", "const x = 1; // \x00\n", Text, "text file"},
		{"log", "\x1B[31mred\x1B[0m\n", Text, "text file"},
		{"BM.md", "BM is short for benchmark\n", Text, "text file"},
		{"MZ", "MZ starts this text\n", Text, "text file"},
		{"a.ipynb", "{\"cells\": []}", Notebook, "Jupyter notebook"},
		{"a.SVG", "<svg/>", SVG, "SVG image"},
		{"x", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", Image, "PNG image"},
		{"x.txt", "\xFF\xD8\xFF\xE0\x00\x10JFIF", Image, "JPEG image"},
		{"x", "GIF89a\x01\x00\x01\x00", Image, "GIF image"},
		{"x", "RIFF\x10\x00\x00\x00WEBPVP8 ", Image, "WebP image"},
		{"x", "RIFF\x10\x00\x00\x00WAVEfmt ", Audio, "WAV audio"},
		{"x", "ID3\x03\x00\x00", Audio, "MP3 audio"},
		{"x", "\xFF\xFB\x90\x00\x00", Audio, "MP3 audio"},
		{"x", "OggS\x00\x02", Audio, "Ogg audio"},
		{"x", "fLaC\x00\x00\x00\x22", Audio, "FLAC audio"},
		{"x", "FORM\x00\x00\x00\x00AIFFCOMM", Audio, "AIFF audio"},
		{"x", "\x00\x00\x00\x20ftypM4A \x00", Audio, "M4A audio"},
		{"x", "\x00\x00\x00\x20ftypisom\x00", Video, "MP4 video"},
		{"x", "\x1A\x45\xDF\xA3\x01\x00", Video, "WebM or Matroska video"},
		{"x", "%PDF-1.7\n%\xE2\xE3", PDF, "PDF document"},
		{"x", "%PDF-1.7\nall text\n", PDF, "PDF document"},
		{"x", "\x7FELF\x02\x01\x01\x00", Binary, "ELF executable"},
		{"x.exe", "MZ\x90\x00\x03\x00", Binary, "Windows executable"},
		{"x", "PK\x03\x04\x14\x00", Binary, "zip archive"},
		{"x.docx", "PK\x03\x04\x14\x00", Binary, "Word document"},
		{"x", "PK\x03\x04\x14\x00\x00\x00xl/workbook.xml", Binary, "Excel workbook"},
		{"x", "SQLite format 3\x00\x10\x00", Binary, "SQLite database"},
		{"x", "\x1F\x8B\x08\x00", Binary, "gzip archive"},
		{"x", "\xCA\xFE\xBA\xBE\x00\x00\x00\x3D\x00\x1D\x0A\x00", Binary, "Java class"},
		{"x", "\xCA\xFE\xBA\xBE\x00\x00\x00\x02\x01\x00\x00\x07", Binary, "Mach-O executable"},
		{"x.pyc", "\xA7\r\r\n\x00\x00\x00\x00", Binary, "Python bytecode"},
		{"x", "\x00\x01\x02\x03\x04\x05", Binary, "binary file"},
	} {
		if got := Detect(c.name, []byte(c.head)); got.Kind != c.kind || got.Name != c.want {
			t.Errorf("%s %.20q: got %v %q, want %v %q", c.name, c.head, got.Kind, got.Name, c.kind, c.want)
		}
	}
}

func TestCheckSize(t *testing.T) {
	png := Type{Image, "image/png", "PNG image"}
	if err := png.CheckSize(MaxImageSource); err != nil {
		t.Error(err)
	}
	err := png.CheckSize(MaxImageSource + 1)
	if err == nil || err.Error() != "the PNG image has 100 MB; at most 100 MB can be read" {
		t.Error(err)
	}
	if err := (Type{Kind: Text}).CheckSize(1 << 40); err != nil {
		t.Error(err)
	}
	if got := (Type{Binary, "", "SQLite database"}).Describe(12_998_144); got != "SQLite database, 12.4 MB" {
		t.Error(got)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("a.png", []byte("\x89PNG\r\n\x1a\n"))
	f.Add("a", []byte("RIFF\x10\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		got := Detect(name, head)
		if got.Name == "" || got.MIME == "" {
			t.Fatalf("%+v", got)
		}
		if got.Kind == Image && len(head) < 1<<16 {
			_, _ = ReadImage(head, ImageLimits{Pixels: 1 << 20})
		}
	})
}
