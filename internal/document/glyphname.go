package document

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// glyphText is the text that the name of a glyph stands for, or "". It knows the Latin names, the Greek letters and
// the names that are made of numbers; a font with other names nearly always has a map to Unicode.
func glyphText(name string) string {
	name, _, _ = strings.Cut(name, ".") // "a.alt" is a kind of a
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
		return norm.NFC.String(name[:1] + accent)
	}
	return greek(name)
}

var accents = map[string]string{
	"grave": "\u0300", "acute": "\u0301", "circumflex": "\u0302", "tilde": "\u0303", "macron": "\u0304", "breve": "\u0306", "dotaccent": "\u0307",
	"dieresis": "\u0308", "ring": "\u030A", "hungarumlaut": "\u030B", "caron": "\u030C", "cedilla": "\u0327", "ogonek": "\u0328", "commaaccent": "\u0327",
}

// glyphNames are the names of Latin glyphs that are not letters, or not simple ones.
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

// greek is a letter by its name, with a capital for a capital.
func greek(name string) string {
	small := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma1",
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
