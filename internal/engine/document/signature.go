package document

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// signature is a pattern at an offset that identifies a type.
type signature struct {
	at    int
	magic string
	t     Type
}

func other(name string) Type { return Type{Binary, "application/octet-stream", name} }

// signatures are tried in order, on files that are not text.
var signatures = []signature{
	{0, "\x89PNG\r\n\x1a\n", Type{Image, "image/png", "PNG image"}},
	{0, "\xFF\xD8\xFF", Type{Image, "image/jpeg", "JPEG image"}},
	{0, "GIF87a", Type{Image, "image/gif", "GIF image"}},
	{0, "GIF89a", Type{Image, "image/gif", "GIF image"}},
	{0, "%PDF-", Type{PDF, "application/pdf", "PDF document"}},
	{0, "OggS", Type{Audio, "audio/ogg", "Ogg audio"}},
	{0, "fLaC", Type{Audio, "audio/flac", "FLAC audio"}},
	{0, "ID3", Type{Audio, "audio/mpeg", "MP3 audio"}},
	{0, "\x1A\x45\xDF\xA3", Type{Video, "video/webm", "WebM or Matroska video"}},
	{0, "FLV\x01", Type{Video, "video/x-flv", "Flash video"}},
	{0, "\x00\x00\x01\xBA", Type{Video, "video/mpeg", "MPEG video"}},
	{0, "\x00\x00\x01\xB3", Type{Video, "video/mpeg", "MPEG video"}},
	{0, "BM", other("BMP image")},
	{0, "II*\x00", other("TIFF image")},
	{0, "MM\x00*", other("TIFF image")},
	{0, "\x00\x00\x01\x00", other("icon")},
	{0, "8BPS", other("Photoshop image")},
	{0, "\x7FELF", other("ELF executable")},
	{0, "MZ", other("Windows executable")},
	{0, "\xFE\xED\xFA\xCE", other("Mach-O executable")},
	{0, "\xFE\xED\xFA\xCF", other("Mach-O executable")},
	{0, "\xCE\xFA\xED\xFE", other("Mach-O executable")},
	{0, "\xCF\xFA\xED\xFE", other("Mach-O executable")},
	{0, "\x00asm", other("WebAssembly module")},
	{0, "BC\xC0\xDE", other("LLVM bitcode")},
	{0, "dex\n", other("Android bytecode")},
	{0, "\x1BLua", other("Lua bytecode")},
	{0, "!<arch>\n", other("ar archive")},
	{0, "PK\x03\x04", other("zip archive")},
	{0, "PK\x05\x06", other("zip archive")},
	{0, "\x1F\x8B", other("gzip archive")},
	{0, "BZh", other("bzip2 archive")},
	{0, "\xFD7zXZ\x00", other("xz archive")},
	{0, "\x28\xB5\x2F\xFD", other("zstd archive")},
	{0, "\x04\x22\x4D\x18", other("lz4 archive")},
	{0, "7z\xBC\xAF\x27\x1C", other("7-Zip archive")},
	{0, "Rar!\x1A\x07", other("RAR archive")},
	{257, "ustar", other("tar archive")},
	{0, "\xED\xAB\xEE\xDB", other("RPM package")},
	{0, "SQLite format 3\x00", other("SQLite database")},
	{0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", other("old Microsoft Office document")},
	{0, "PAR1", other("Parquet table")},
	{0, "ARROW1", other("Arrow table")},
	{0, "\x89HDF\r\n\x1a\n", other("HDF5 data")},
	{0, "\x93NUMPY", other("NumPy array")},
	{0, "GGUF", other("GGUF model")},
	{0, "bplist00", other("binary property list")},
	{0, "DIRC", other("git index")},
	{0, "PACK", other("git pack")},
	{0, "\xFFtOc", other("git pack index")},
	{0, "wOFF", other("WOFF font")},
	{0, "wOF2", other("WOFF2 font")},
	{0, "OTTO", other("OpenType font")},
	{0, "ttcf", other("TrueType font collection")},
	{0, "\x00\x01\x00\x00\x00", other("TrueType font")},
	{0, "\xD4\xC3\xB2\xA1", other("network capture")},
	{0, "\x0A\x0D\x0D\x0A", other("network capture")},
	{0, "\x4C\x00\x00\x00\x01\x14\x02\x00", other("Windows shortcut")},
}

// byExtension names binary files by extension if their content doesn't identify them.
var byExtension = map[string]Type{
	".pyc":   other("Python bytecode"),
	".pyo":   other("Python bytecode"),
	".pkl":   other("Python pickle"),
	".o":     other("object file"),
	".bin":   other("binary file"),
	".iso":   other("disk image"),
	".dmg":   other("disk image"),
	".mp3":   {Audio, "audio/mpeg", "MP3 audio"},
	".wasm":  other("WebAssembly module"),
	".class": other("Java class"),
}

// bySignature finds the type by the first bytes. ext distinguishes containers.
func bySignature(head []byte, ext string) (Type, bool) {
	if t, ok := byContainer(head); ok {
		return t, true
	}
	for _, s := range signatures {
		if len(head) >= s.at+len(s.magic) && string(head[s.at:s.at+len(s.magic)]) == s.magic {
			if s.t.Name == "zip archive" {
				return zipped(head, ext), true
			}
			return s.t, true
		}
	}
	if isMP3Frame(head) {
		return Type{Audio, "audio/mpeg", "MP3 audio"}, true
	}
	if len(head) > 376 && head[0] == 0x47 && head[188] == 0x47 && head[376] == 0x47 {
		return Type{Video, "video/mp2t", "MPEG transport stream"}, true
	}
	return Type{}, false
}

// byContainer detects formats with their name after a length.
func byContainer(head []byte) (Type, bool) {
	if len(head) < 12 {
		return Type{}, false
	}
	inner := string(head[8:12])
	switch string(head[:4]) + inner {
	case "RIFFWAVE":
		return Type{Audio, "audio/wav", "WAV audio"}, true
	case "RIFFAVI ":
		return Type{Video, "video/x-msvideo", "AVI video"}, true
	case "RIFFWEBP":
		return Type{Image, "image/webp", "WebP image"}, true
	case "FORMAIFF", "FORMAIFC":
		return Type{Audio, "audio/aiff", "AIFF audio"}, true
	}
	if string(head[:4]) == "\xCA\xFE\xBA\xBE" {
		// number of architectures; a class file has its version here, from 45 on
		if binary.BigEndian.Uint32(head[4:]) < 40 {
			return other("Mach-O executable"), true
		}
		return other("Java class"), true
	}
	if string(head[4:8]) != "ftyp" {
		return Type{}, false
	}
	switch strings.TrimRight(inner, " ") {
	case "M4A", "M4B", "M4P":
		return Type{Audio, "audio/mp4", "M4A audio"}, true
	case "qt":
		return Type{Video, "video/quicktime", "QuickTime video"}, true
	case "heic", "heix", "mif1", "hevc":
		return other("HEIC image"), true
	case "avif", "avis":
		return other("AVIF image"), true
	}
	return Type{Video, "video/mp4", "MP4 video"}, true
}

// zipped distinguishes the formats that are zip archives.
func zipped(head []byte, ext string) Type {
	names := map[string]string{
		".docx": "Word document", ".xlsx": "Excel workbook", ".pptx": "PowerPoint presentation",
		".odt": "OpenDocument text", ".ods": "OpenDocument spreadsheet",
		".odp": "OpenDocument presentation", ".epub": "EPUB book", ".jar": "Java archive", ".apk": "Android package",
		".whl": "Python wheel", ".xpi": "browser extension",
	}
	if name, ok := names[ext]; ok {
		return other(name)
	}
	for _, part := range []struct{ path, ext string }{{"word/", ".docx"}, {"xl/", ".xlsx"}, {"ppt/", ".pptx"}} {
		if bytes.Contains(head, []byte(part.path)) {
			return other(names[part.ext])
		}
	}
	return other("zip archive")
}

// isMP3Frame reports whether head begins with the header of an MPEG audio frame of layer III.
func isMP3Frame(head []byte) bool {
	if len(head) < 4 || head[0] != 0xFF || head[1]&0xE0 != 0xE0 {
		return false
	}
	version, layer := head[1]>>3&3, head[1]>>1&3
	bitrate, rate := head[2]>>4, head[2]>>2&3
	return version != 1 && layer == 1 && bitrate != 0 && bitrate != 15 && rate != 3
}
