package text

import (
	"bytes"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Detect returns the encoding of content, or ErrBinary. With any result, right or wrong, the content can be decoded and
// written back byte for byte. Plain ASCII is UTF-8.
func Detect(content []byte) (Encoding, error) {
	for _, enc := range []Encoding{UTF8, UTF16LE, UTF16BE} {
		if bytes.HasPrefix(content, enc.mark()) {
			return marked(content, enc)
		}
	}
	if bytes.IndexByte(content, 0) >= 0 {
		if enc, ok := unmarkedUTF16(content); ok {
			return enc, nil
		}
		return "", ErrBinary
	}
	if utf8.Valid(content) {
		if controls(content) > 0.3 {
			return "", ErrBinary
		}
		return UTF8, nil
	}
	if controls(content) > 0.1 {
		return "", ErrBinary
	}
	if mostlyUTF8(content) {
		return UTF8, nil
	}
	return likeliest(content), nil
}

// marked trusts a byte order mark unless it is the start of UTF-32 or of content with NUL characters, which isn't text.
func marked(content []byte, enc Encoding) (Encoding, error) {
	body := content[len(enc.mark()):]
	if enc == UTF8 {
		if bytes.IndexByte(body, 0) >= 0 {
			return "", ErrBinary
		}
		return enc, nil
	}
	for i := 0; i+1 < len(body); i += 2 {
		if body[i] == 0 && body[i+1] == 0 {
			return "", ErrBinary
		}
	}
	return enc, nil
}

// sampleSize is how much of a long content is scored.
const sampleSize = 64 << 10

// sample returns the start, the middle and the end of long content, cut at line endings so that no character is split.
func sample(content []byte) []byte {
	if len(content) <= 3*sampleSize {
		return content
	}
	var out []byte
	for _, at := range []int{0, len(content)/2 - sampleSize/2, len(content) - sampleSize} {
		part := content[at : at+sampleSize]
		if i := bytes.IndexByte(part, '\n'); at > 0 && i >= 0 {
			part = part[i+1:]
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			part = part[:i+1]
		}
		out = append(out, part...)
	}
	return out
}

// controls returns the share of unusual control characters.
func controls(content []byte) float64 {
	part := content[:min(len(content), sampleSize)]
	if len(part) == 0 {
		return 0
	}
	n := 0
	for _, b := range part {
		if b < '\t' || b > '\r' && b < ' ' && b != 0x1b || b == 0x7f {
			n++
		}
	}
	return float64(n) / float64(len(part))
}

// mostlyUTF8 reports whether content is UTF-8 with a few damaged bytes. Other encodings hardly ever form valid UTF-8
// sequences by accident.
func mostlyUTF8(content []byte) bool {
	good, bad := 0, 0
	for s := sample(content); len(s) > 0; {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good += n - 1
		}
		s = s[n:]
	}
	return good >= 2*bad && good > 1
}

// unmarkedUTF16 detects UTF-16 without a mark if it is unmistakable: it decodes to ordinary text with ASCII in it,
// whose zero bytes are at one parity (some ideographs have one at the other).
func unmarkedUTF16(content []byte) (Encoding, bool) {
	if len(content)%2 != 0 || len(content) < 4 {
		return "", false
	}
	var zeros [2]int
	for i, b := range content {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case zeros[1] >= zeros[0] && readsAsText(content, utf16Codec{}):
		return UTF16LE, true
	case zeros[0] >= zeros[1] && readsAsText(content, utf16Codec{big: true}):
		return UTF16BE, true
	}
	return "", false
}

func readsAsText(content []byte, c utf16Codec) bool {
	ascii, known, all := 0, 0, 0
	rest := content[:min(len(content), sampleSize)]
	for len(rest) > 0 {
		r, n, ok := c.decode(rest)
		rest = rest[n:]
		if !ok && len(rest) == 0 && len(content) > sampleSize {
			break // a pair split by the end of the sample
		}
		switch {
		case !ok || r < ' ' && (r < '\t' || r > '\r') || r >= 0xfff0 && r <= 0xffff || utf16.IsSurrogate(r):
			return false
		case r < utf8.RuneSelf:
			ascii++
		case unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Han, unicode.Hiragana,
			unicode.Katakana,
			unicode.Hangul, unicode.Hebrew, unicode.Arabic, unicode.Thai) || unicode.IsPunct(r):
			known++
		}
		all++
	}
	return ascii > 0 && float64(ascii+known) >= 0.95*float64(all) && (ascii*4 >= all || all >= 16)
}

// The most common characters in everyday and technical writing of each script, most common first. They only affect the
// guess.

const commonSimplified = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还" +
	"进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给" +
	"世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基" +
	"眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运文件代码函数变量参数返回值错误字符串编程序行号注释配置读写取初始化输入" +
	"出列表数组对象类型接口默认加载保存删除添加修改查询测试用户名密码登录页按钮显示隐藏请求响应服务器客端连接网络缓存线程进锁内存指针循环判断条件否则结束开始执行运算符表达式模块包导入版本更新安装界面选项确" +
	"定取消警告提示信息日志路径目录格式编码解析转换乱码汉字测试"

const commonTraditional = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還" +
	"進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給" +
	"世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基" +
	"眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運檔案程式碼函數變數參數傳回值錯誤字串編程行號註解設定讀寫初始輸入出清單" +
	"陣列物件類別型介面預設載入儲存刪除新增修改查詢測試使用者名稱密碼登入頁按鈕顯示隱藏請求回應伺服器連線網路快取執行緒鎖記憶體指標迴圈判斷條件否則結束開始運算子模組套件匯版本更新安裝選項確定取消警告提示訊" +
	"息日誌路徑目錄格式編碼解析轉換亂碼漢字臺灣繁體"

const commonKanji = "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通" +
	"外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川" +
	"向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格" +
	"有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想" +
	"線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融" +
	"型白深字答夜製票況音申様財港識注呼渉達値列戻関数引数変数文字列"

const commonHangul = "이다는의에을를가은한고하로지도자사기그리있어대서나인수정시것해과일으들라아만전부보면제안성내오상원용구장니했여주동국신적위경문조물치었때무와라게없소성생방과비연" +
	"유모발말우공데게선관회화재습식실입력출파함값변명자열오류코드프로램설정저삭추가수행결호환경테스트개번요청응답서버클언트네워크접속버튼표현검색목록읽쓰초반값된될할하여되까지또는및각등더그러므따르같알중세" +
	"마음람민당체간별직계단차세계월년분외후불통업산학교육진최근강영남북서울종속물질터습니까데합니다입니다않"
