package text

import (
	"strings"
	"sync"
	"unicode"
)

// language is a language in an encoding.
type language struct {
	enc     Encoding
	bonus   float64 // for ties: how common it is
	latin   bool    // accented letters among ASCII ones
	letters map[rune]float64
	other   func(r rune, unit []byte) float64 // everything else
}

// languages is created once and then only read.
var languages = sync.OnceValue(func() []*language {
	var out []*language
	for i, l := range latinLetters {
		out = append(out, &language{
			enc: l.enc, latin: true, bonus: -0.002 * float64(i), letters: latinWeights(l.letters), other: otherSingle,
		})
	}
	for i, l := range scriptLetters {
		out = append(out, &language{
			enc: l.enc, bonus: -0.01 - 0.002*float64(i), letters: scriptWeights(l.letters), other: otherSingle,
		})
	}
	return append(out,
		&language{enc: GBK, bonus: 0.03, letters: rankWeights(commonSimplified), other: otherGBK},
		&language{enc: ShiftJIS, bonus: 0.01, letters: kanaWeights(), other: otherShiftJIS},
		&language{enc: Big5, letters: rankWeights(commonTraditional), other: otherBig5},
		&language{enc: EUCJP, bonus: -0.01, letters: kanaWeights(), other: otherEUCJP},
		&language{enc: EUCKR, bonus: -0.01, letters: rankWeights(commonHangul), other: otherEUCKR},
	)
})

// latinLetters are the letters beyond ASCII of languages in Latin script, the most common first; earlier languages win
// ties.
var latinLetters = []struct {
	enc     Encoding
	letters string
}{
	{Windows1252, "éàèêçùâîôûëïœüÿæ"},                                // French
	{Windows1252, "üäöß"},                                            // German
	{Windows1252, "áéíóúñü¿¡"},                                       // Spanish
	{Windows1252, "ãçáéõíóêâúôà"},                                    // Portuguese
	{Windows1252, "àèéòùì"},                                          // Italian
	{Windows1252, "àèéíóòúïüç·"},                                     // Catalan
	{Windows1252, "åäöé"},                                            // Swedish, Finnish
	{Windows1252, "åøæé"},                                            // Danish, Norwegian
	{Windows1252, "ðáíþóæöéúý"},                                      // Icelandic
	{Windows1252, "éëïóèöüáê"},                                       // Dutch
	{Windows1250, "łąęóżśćńź"},                                       // Polish
	{Windows1250, "íáěéřčžýšůúťóňď"},                                 // Czech
	{Windows1250, "áíéčýžúšľťôóňäďŕĺ"},                               // Slovak
	{Windows1250, "áéőöóüíúű"},                                       // Hungarian
	{Windows1250, "ăîâşţ"},                                           // Romanian
	{Windows1250, "čšžćđ"},                                           // Croatian, Slovene
	{Windows1254, "ıüşğöçİâ"},                                        // Turkish
	{Windows1257, "ėšųįžąčūę"},                                       // Lithuanian
	{Windows1257, "āīēšņūļžčģķ"},                                     // Latvian
	{Windows1257, "äõüöšž"},                                          // Estonian
	{Windows1258, "đăâêôơư\u0301\u0300\u0309\u0303\u0323áàéèíóòúùý"}, // Vietnamese
}

// scriptLetters are other alphabets, the most common letters first.
var scriptLetters = []struct {
	enc     Encoding
	letters string
}{
	{Windows1251, "оеаинтсрвлкмдпуяызьбгчйхжшюцщэфъё"}, // Russian
	{Windows1251, "оанитврелсікудмпяьзгбчхйжюшїцєщфґ"}, // Ukrainian
	{Windows1251, "аиоетнрсвлдкпмъуягзбчйжхцшщфюь"},    // Bulgarian
	{Windows1251, "аиоенрстјувдклмпбгзчцшжхњћфљђџ"},    // Serbian
	{Windows1253, "αοιετσνηυρπκμλςωάγίδόχέήθφύβώξζψϊϋΐΰ"},
	{Windows1255, "יוהלארתמבשנעםדקחפגצטכזןסךףץ"},
	{Windows1256, "اليمونترهعدسفبكقةحجشصطخىأغضذزثءئظإؤآ"},
}

// latinWeights returns the weights of letters: accents are rare, so nearly all letters of a language have the same
// weight; capitals slightly less.
func latinWeights(letters string) map[rune]float64 {
	m := map[rune]float64{}
	n := float64(len([]rune(letters)))
	for i, r := range []rune(letters) {
		w := 0.9 - 0.25*float64(i)/n
		m[r] = w
		if up := unicode.ToUpper(r); up != r && m[up] == 0 {
			m[up] = w - 0.15
		}
	}
	return m
}

// scriptWeights returns the weights of letters by frequency, because alphabets share bytes.
func scriptWeights(letters string) map[rune]float64 {
	m := map[rune]float64{}
	n := float64(len([]rune(letters)))
	for i, r := range []rune(letters) {
		w := 1 - 1.1*float64(i)/n
		m[r] = w
		if up := unicode.ToUpper(r); up != r {
			m[up] = w - 0.25
		}
	}
	return m
}

func rankWeights(common string) map[rune]float64 {
	m := map[rune]float64{}
	n := float64(len([]rune(common)))
	for i, r := range []rune(common) {
		if _, twice := m[r]; !twice {
			m[r] = 1 - 0.3*float64(i)/n
		}
	}
	return m
}

func kanaWeights() map[rune]float64 {
	m := rankWeights(commonKanji)
	for r := range m {
		m[r] = 0.75
	}
	for r := 'ぁ'; r <= 'ん'; r++ {
		m[r] = 1
	}
	for r := 'ァ'; r <= 'ー'; r++ {
		m[r] = 0.9
	}
	m['・'] = 0.5
	return m
}

// otherSingle returns the weight of a single-byte character that isn't a letter of the language.
func otherSingle(r rune, _ []byte) float64 {
	switch {
	case strings.ContainsRune("“”‘’„–—…«»№€•™§°©®\u00a0", r):
		return 0.35
	case unicode.IsLetter(r):
		return -0.3
	case unicode.Is(unicode.Mn, r):
		return -0.3
	case unicode.IsControl(r):
		return -1
	}
	return -0.4
}

func wideMark(r rune) (float64, bool) {
	switch {
	case strings.ContainsRune("、。，！？：；（）「」『』《》“”‘’…—・　【】", r):
		return 0.6, true
	case r >= '！' && r <= '～':
		return 0.2, true
	}
	return 0, false
}

func otherGBK(r rune, unit []byte) float64 {
	if w, ok := wideMark(r); ok {
		return w
	}
	switch {
	case len(unit) == 4:
		return 0.1
	case len(unit) == 1:
		return -0.5
	case unit[0] >= 0xb0 && unit[0] <= 0xd7 && unit[1] >= 0xa1:
		return 0.4 // first level of GB 2312, by use
	case unit[0] >= 0xd8 && unit[0] <= 0xf7 && unit[1] >= 0xa1:
		return 0
	}
	return -0.2 // kana and the extension's rare characters
}

func otherBig5(r rune, unit []byte) float64 {
	if w, ok := wideMark(r); ok {
		return w
	}
	switch {
	case len(unit) == 1:
		return -0.5
	case unit[0] >= 0xa4 && unit[0] <= 0xc6:
		return 0.35
	case unit[0] >= 0xc9 && unit[0] <= 0xf9:
		return -0.05
	}
	return -0.25
}

func otherShiftJIS(r rune, unit []byte) float64 {
	if w, ok := wideMark(r); ok {
		return w
	}
	switch {
	case len(unit) == 1:
		return 0.05 // narrow katakana
	case unit[0] >= 0x88 && unit[0] <= 0x97:
		return 0.35
	}
	return -0.2
}

func otherEUCJP(r rune, unit []byte) float64 {
	if w, ok := wideMark(r); ok {
		return w
	}
	switch {
	case len(unit) == 2 && unit[0] >= 0xb0 && unit[0] <= 0xcf:
		return 0.35
	case len(unit) == 1:
		return -0.5
	}
	return -0.2
}

func otherEUCKR(r rune, unit []byte) float64 {
	if w, ok := wideMark(r); ok {
		return w
	}
	switch {
	case len(unit) == 2 && unit[0] >= 0xb0 && unit[0] <= 0xc8 && unit[1] >= 0xa1:
		return 0.45
	case len(unit) == 1:
		return -0.5
	}
	return -0.25
}
