package document

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"

	"github.com/adze-dev/adze/internal/engine/charset"
)

// pdfFont turns the codes of a font into text and widths.
type pdfFont struct {
	simple   bool            // codes are single bytes
	chars    [256]string     // of a simple font
	toText   *charMap        // the font's own map to Unicode
	multi    string          // the charset of a composite font in a national encoding
	widths   map[int]float64 // in thousandths of the size
	missing  float64
	standard bool // no widths given: those of a usual sans serif are good enough to detect gaps
}

// glyph is a code as text.
type glyph struct {
	text  string
	width float64
	space bool // the code that word spacing applies to
}

// readFont reads a font dictionary.
func readFont(v pdf.Value) *pdfFont {
	f := &pdfFont{simple: v.Key("Subtype").Name() != "Type0", widths: map[int]float64{}}
	if m := v.Key("ToUnicode"); m.Kind() == pdf.Stream {
		f.toText = readCharMap(contentOf(m))
	}
	if !f.simple {
		f.readComposite(v)
		return f
	}
	f.readEncoding(v)
	first := int(v.Key("FirstChar").Int64())
	widths := v.Key("Widths")
	for i := range min(widths.Len(), 256) {
		f.widths[first+i] = widths.Index(i).Float64()
	}
	f.missing = v.Key("FontDescriptor").Key("MissingWidth").Float64()
	f.standard = widths.Len() == 0
	if f.standard && strings.Contains(v.Key("BaseFont").Name(), "Courier") {
		f.standard, f.missing = false, 600
	}
	return f
}

// readEncoding fills the table of a simple font: a base encoding, and the names that differ.
func (f *pdfFont) readEncoding(v pdf.Value) {
	enc := v.Key("Encoding")
	base := enc.Name()
	if enc.Kind() == pdf.Dict {
		base = enc.Key("BaseEncoding").Name()
	}
	table := charset.Load("windows-1252")
	if base == "MacRomanEncoding" {
		table = charset.Load("macintosh")
	}
	for c := range 256 {
		r, _ := table.Decode([]byte{byte(c)})
		f.chars[c] = string(r)
	}
	if base == "" && !strings.Contains(v.Key("FontDescriptor").Key("FontName").Name(), "+") {
		for c, s := range standardEncoding {
			f.chars[c] = s
		}
	}
	if enc.Kind() != pdf.Dict {
		return
	}
	differences := enc.Key("Differences")
	code := 0
	for i := range min(differences.Len(), 4096) {
		switch d := differences.Index(i); d.Kind() {
		case pdf.Integer:
			code = int(d.Int64())
		case pdf.Name:
			if code >= 0 && code < 256 {
				if s := glyphText(d.Name()); s != "" {
					f.chars[code] = s
				}
			}
			code++
		}
	}
}

// standardEncoding has the differences between the encoding of fonts without one and Windows-1252.
var standardEncoding = map[int]string{
	0x27: "’", 0x60: "‘", 0xA4: "⁄", 0xA6: "ƒ", 0xA8: "¤", 0xA9: "'", 0xAA: "“", 0xAC: "‹", 0xAD: "›", 0xAE: "fi",
	0xAF: "fl", 0xB1: "–", 0xB2: "†", 0xB3: "‡",
	0xB4: "·", 0xB7: "•", 0xB8: "‚", 0xB9: "„", 0xBA: "”", 0xBC: "…", 0xBD: "‰", 0xD0: "—", 0xE1: "Æ", 0xE3: "ª",
	0xE8: "Ł", 0xE9: "Ø", 0xEA: "Œ", 0xEB: "º",
	0xF1: "æ", 0xF5: "ı", 0xF8: "ł", 0xF9: "ø", 0xFA: "œ", 0xFB: "ß",
}

// readComposite reads a font of many characters.
func (f *pdfFont) readComposite(v pdf.Value) {
	f.multi = nationalEncoding(v.Key("Encoding").Name())
	inner := v.Key("DescendantFonts").Index(0)
	f.missing = 1000
	if dw := inner.Key("DW"); dw.Kind() == pdf.Integer || dw.Kind() == pdf.Real {
		f.missing = dw.Float64()
	}
	w := inner.Key("W")
	n := min(w.Len(), 100_000)
	for i := 0; i+1 < n; {
		first := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for j := range min(list.Len(), 65536) {
				f.widths[first+j] = list.Index(j).Float64()
			}
			i += 2
			continue
		}
		last := min(int(w.Index(i+1).Int64()), 65535)
		width := w.Index(i + 2).Float64()
		for c := max(first, 0); c <= last; c++ {
			f.widths[c] = width
		}
		i += 3
	}
}

// nationalEncoding returns the charset for the name of a predefined map, or "".
func nationalEncoding(name string) string {
	for _, e := range []struct{ part, charset string }{
		{"UCS2", charset.UTF16BE},
		{"UTF16", charset.UTF16BE},
		{"GBK2K", charset.GB18030},
		{"GBK", charset.GBK},
		{"GB-EUC", charset.GBK},
		{"B5", charset.Big5},
		{"RKSJ", charset.ShiftJIS},
		{"KSC", charset.EUCKR},
		{"EUC", charset.EUCJP},
	} {
		if strings.Contains(name, e.part) {
			return e.charset
		}
	}
	return ""
}

// glyphs splits a string into its characters.
func (f *pdfFont) glyphs(raw string) []glyph {
	var out []glyph
	switch {
	case f.simple:
		for i := range len(raw) {
			c := raw[i]
			text := f.chars[c]
			if f.toText != nil {
				if s, ok := f.toText.text[raw[i:i+1]]; ok {
					text = s
				}
			}
			out = append(out, glyph{text, f.width(int(c), text), c == ' '})
		}
	case f.toText == nil && f.multi != "":
		s, _ := charset.Text(f.multi, []byte(raw), math.MaxInt)
		for _, r := range string(s) {
			out = append(out, glyph{string(r), f.missing, r == ' '})
		}
	default:
		for raw != "" {
			n := f.toText.codeLength(raw)
			code := 0
			for i := range n {
				code = code<<8 | int(raw[i])
			}
			text := "\uFFFD"
			if s, ok := f.toText.lookup(raw[:n]); ok {
				text = s
			}
			out = append(out, glyph{text, f.width(code, text), n == 1 && raw[0] == ' '})
			raw = raw[n:]
		}
	}
	return out
}

func (f *pdfFont) width(code int, text string) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	if !f.standard {
		return f.missing
	}
	switch {
	case strings.Contains(" !'(),./:;I[\\]`fijlrt|", text):
		return 290
	case strings.Contains("MWmw@%", text):
		return 860
	case text != "" && text[0] >= 'A' && text[0] <= 'Z':
		return 690
	}
	return 550
}

// charMap is a font's map from codes to text.
type charMap struct {
	text    map[string]string
	lengths [5]bool // of codes
}

// maxCharMap bounds the characters of one map.
const maxCharMap = 200_000

// readCharMap reads the program of a map.
func readCharMap(program []byte) *charMap {
	m := &charMap{text: map[string]string{}}
	t := &tokens{data: program}
	var args []operand
	for {
		v := t.next()
		if v.kind == 0 || len(m.text) > maxCharMap {
			return m
		}
		if v.kind != 'o' {
			args = append(args, v)
			continue
		}
		switch v.str {
		case "endcodespacerange":
			for _, a := range args {
				if n := len(a.str); a.kind == 's' && n >= 1 && n <= 4 {
					m.lengths[n] = true
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				m.text[args[i].str] = utf16Text(args[i+1].str)
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				m.addRange(args[i].str, args[i+1].str, args[i+2])
			}
		}
		args = args[:0]
	}
}

// addRange maps the codes from lo to hi to texts that count up, or to a list.
func (m *charMap) addRange(lo, hi string, to operand) {
	if len(lo) == 0 || len(lo) > 4 || len(lo) != len(hi) {
		return
	}
	number := func(s string) (n int) {
		for i := range len(s) {
			n = n<<8 | int(s[i])
		}
		return n
	}
	first, last := number(lo), number(hi)
	for n := first; n <= last && n-first < 65536 && len(m.text) <= maxCharMap; n++ {
		code := []byte(lo)
		for i, rest := len(code)-1, n; i >= 0; i, rest = i-1, rest>>8 {
			code[i] = byte(rest)
		}
		switch {
		case to.kind == '[' && n-first < len(to.items):
			m.text[string(code)] = utf16Text(to.items[n-first].str)
		case to.kind == 's' && len(to.str) >= 2:
			end := len(to.str) - 2
			unit := uint16(to.str[end])<<8 | uint16(to.str[end+1]) + uint16(n-first)
			m.text[string(code)] = utf16Text(to.str[:end] + string([]byte{byte(unit >> 8), byte(unit)}))
		}
	}
}

// codeLength returns how many bytes of raw make the next code.
func (m *charMap) codeLength(raw string) int {
	if m != nil {
		for n := 1; n <= min(4, len(raw)); n++ {
			if _, ok := m.text[raw[:n]]; ok && m.lengths[n] {
				return n
			}
		}
		for n := 1; n <= min(4, len(raw)); n++ {
			if m.lengths[n] {
				return n
			}
		}
	}
	return min(2, len(raw))
}

func (m *charMap) lookup(code string) (string, bool) {
	if m == nil {
		return "", false
	}
	s, ok := m.text[code]
	return s, ok
}

// utf16Text decodes UTF-16 in maps.
func utf16Text(s string) string {
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	if len(s) == 1 {
		units = append(units, uint16(s[0]))
	}
	return string(utf16.Decode(units))
}

// glyphText returns the text for the name of a glyph, or "". It knows the Latin names, the Greek letters and names made
// of numbers; a font with other names almost always has a map to Unicode.
func glyphText(name string) string {
	name, _, _ = strings.Cut(name, ".") // "a.alt" is a variant of a
	if s, ok := glyphNames()[name]; ok {
		return s
	}
	if len(name) == 1 {
		return name
	}
	for _, prefix := range []string{"uni", "u"} {
		if hex, ok := strings.CutPrefix(name, prefix); ok && len(hex) >= 4 && len(hex) <= 6 {
			if n, err := strconv.ParseUint(hex, 16, 32); err == nil && n <= 0x10FFFF {
				return string(rune(n))
			}
		}
	}
	if accent, ok := accents[name[min(1, len(name)):]]; ok { // "eacute" is e and acute
		return accent.on(name[0])
	}
	return greek(name)
}

// accent is a combining character, and pairs of a letter and the character with the accent.
type accent struct {
	alone rune
	pairs string
}

// on returns a letter with the accent.
func (a accent) on(letter byte) string {
	pairs := []rune(a.pairs)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == rune(letter) {
			return string(pairs[i+1])
		}
	}
	return string([]rune{rune(letter), a.alone})
}

var accents = map[string]accent{
	"grave":        {'\u0300', "AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳ"},
	"acute":        {'\u0301', "AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzź"},
	"circumflex":   {'\u0302', "AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑ"},
	"tilde":        {'\u0303', "AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹ"},
	"macron":       {'\u0304', "AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳ"},
	"breve":        {'\u0306', "AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭ"},
	"dotaccent":    {'\u0307', "AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻaȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzż"},
	"dieresis":     {'\u0308', "AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿ"},
	"ring":         {'\u030A', "AÅUŮaåuůwẘyẙ"},
	"hungarumlaut": {'\u030B', "OŐUŰoőuű"},
	"caron":        {'\u030C', "AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzž"},
	"cedilla":      {'\u0327', "CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ"},
	"commaaccent":  {'\u0327', "CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ"},
	"ogonek":       {'\u0328', "AĄEĘIĮOǪUŲaąeęiįoǫuų"},
}

// glyphNames are the names of Latin glyphs other than simple letters.
var glyphNames = sync.OnceValue(func() map[string]string {
	return pairsOf(`exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright )
	asterisk * plus + comma , hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ;
	less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^ underscore _ grave ` + "` quoteleft ‘ quoteright ’" + `
	braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥ florin ƒ section § currency ¤ quotedblleft “ quotedblright ”
	guillemotleft « guillemotright » guilsinglleft ‹ guilsinglright › fi fi fl fl ff ff ffi ffi ffl ffl endash – emdash — dagger † daggerdbl ‡
	periodcentered · paragraph ¶ bullet • quotesinglbase ‚ quotedblbase „ ellipsis … perthousand ‰ questiondown ¿ AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø
	Lslash Ł lslash ł germandbls ß dotlessi ı Eth Ð eth ð Thorn Þ thorn þ ordfeminine ª ordmasculine º copyright © registered ® trademark ™ degree °
	plusminus ± multiply × divide ÷ mu µ onehalf ½ onequarter ¼ threequarters ¾ onesuperior ¹ twosuperior ² threesuperior ³ logicalnot ¬ brokenbar ¦
	Euro € lessequal ≤ greaterequal ≥ notequal ≠ approxequal ≈ infinity ∞ summation ∑ product ∏ radical √ integral ∫ partialdiff ∂ arrowright → arrowleft ←
	arrowup ↑ arrowdown ↓ checkmark ✓ nbhyphen - sfthyphen -`)
})

// pairsOf reads name, text, name, text.
func pairsOf(s string) map[string]string {
	fields := strings.Fields(s)
	m := map[string]string{"space": " ", "nbspace": " "}
	for i := 0; i+1 < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m
}

// greek returns a letter by its name; a capitalized name is a capital letter.
func greek(name string) string {
	small := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
		"mu", "nu", "xi", "omicron", "pi", "rho", "sigma1",
		"sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"}
	for i, s := range small {
		if name == s {
			return string(rune('α' + i))
		}
		if name == strings.ToUpper(s[:1])+s[1:] {
			return string(rune('Α' + i))
		}
	}
	return ""
}
