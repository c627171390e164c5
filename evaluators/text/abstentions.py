# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Sentences in other languages that say that a text does not tell: "Der Preis wird nicht genannt."."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evaluators.text.refusals import TURN

MAX_CHARS = 240
"""Longer sentences are not searched: who abstains is brief."""


@dataclass(frozen=True, slots=True)
class _Language:
    """Words that deny, that tell, that name a text, and that tell so plainly that no text needs to be named."""

    denying: re.Pattern[str]
    telling: re.Pattern[str]
    text: re.Pattern[str]
    written: re.Pattern[str]

    def abstains(self, sentence: str) -> bool:
        """Return whether a sentence denies that a text tells."""
        if not self.denying.search(sentence) or not self.telling.search(sentence):
            return False
        return bool(self.text.search(sentence) or self.written.search(sentence))


def _language(denying: str, telling: str, text: str, written: str, *, spaced: bool = True) -> _Language:
    border = r"(?<!\w)" if spaced else ""
    patterns = (re.compile(f"{border}(?:{words})", re.IGNORECASE) for words in (denying, telling, text, written))
    return _Language(*patterns)


_LANGUAGES = (
    _language(  # German
        r"nicht\b|kein\w*\b|nichts\b|weder\b|nirgends|unklar|unbekannt",
        r"erwähn\w+|genannt|nenn\w+|enth[aä]lt\w*|angegeben|angaben?\b|steh[te]\w*|information\w*|hervor"
        r"|beschrieb\w+|beschreib\w+|sag\w*"
        r"|aufgeführt|hinweis\w*|find\w+|gefunden|beantwort\w+|äußer\w+|geht\b|bestimm\w+|entnehm\w+|unklar"
        r"|mach\w*|liefer\w+|bekannt",
        r"\w*dokument\w*|\w*text\w*|quellen?\b|abschnitt\w*|kontext\w*|unterlagen|artikel\w*|passagen?\b|auszug\w*"
        r"|auszügen|vertrag\w*"
        r"|bericht\w*|materialien?|seiten?\b|angaben\b",
        r"(?:nicht|kein\w*\b.{1,40}) (?:\w+ )?(?:erwähnt|genannt|angegeben|aufgeführt|beschrieben)",
    ),
    _language(  # French
        r"ne\b|n['’]|aucun\w*|rien\b|pas\b",
        r"mentionn\w+|indiqu\w+|précis\w+|contien\w+|donn\w+|dit\b|disent|information\w*|fourni\w*|trouv\w+"
        r"|figur\w+|évoqu\w+|parl\w+"
        r"|abord\w+|spécifi\w+|détail\w*|répon\w+|permet\w*|révèl\w+|savoir",
        r"(?:l['’]|les? |ce |ces |du |des |d['’]un )?(?:textes?|documents?|contextes?|passages?|extraits?|sources?"
        r"|articles?|contrats?|rapports?|pages?)\b",
        r"pas (?:\w+ )?(?:mentionné|indiqué|précisé|spécifié)\w*",
    ),
    _language(  # Spanish
        r"no\b|ning\w+|nada\b|tampoco|sin\b",
        r"mencion\w+|indic\w+|especific\w+|conten\w+|contien\w+|dic\w+|información|informaciones|proporcion\w+"
        r"|encuentr\w+|encontr\w+|habla\w*"
        r"|aparec\w+|figur\w+|detall\w+|señal\w+|aclar\w+|respond\w+|menciona|constan?\b|precis\w+|revel\w+"
        r"|datos\b|referencia\w*|determinar",
        r"(?:textos?|documentos?|contextos?|pasajes?|fragmentos?|fuentes?|artículos?|contratos?|informes?"
        r"|extractos?|notas?|páginas?)\b",
        r"no se (?:menciona|indica|especifica|precisa|detalla)n?\b",
    ),
    _language(  # Italian
        r"non\b|nessun\w*|nulla\b|niente\b|né\b",
        r"menzion\w+|indic\w+|specific\w+|contien\w+|conteng\w+|dic\w+|dett\w+|informazion\w+|riport\w+|forni\w+"
        r"|trov\w+|parl\w+|precis\w+|cit\w+"
        r"|descri\w+|accenn\w+|dati\b|rivel\w+|chiar\w+|riferiment\w+",
        r"(?:test[oi]|document[oi]|contest[oi]|pass[io]|brano|brani|font[ei]|articol[oi]|contratt[oi]|rapport[oi]"
        r"|estratt[oi]|pagin[ae])\b",
        r"non (?:è|sono|viene|vengono) (?:\w+ )?(?:menzionat|indicat|specificat|precisat|riportat|citat)\w",
    ),
    _language(  # Portuguese
        r"não|nao\b|nenhum\w*|nada\b|nem\b",
        r"mencion\w+|indic\w+|especific\w+|cont[ée]m|contêm|diz\w*|informa\w*|informaç\w+|fornec\w+|encontr\w+"
        r"|fala\w*|cita\w*|apresent\w+"
        r"|consta\w*|traz\w*|detalh\w+|esclarec\w+|refer\w+|revel\w+|menção",
        r"(?:textos?|documentos?|contextos?|passage\w+|trechos?|fontes?|artigos?|contratos?|relatórios?|páginas?"
        r"|excertos?)\b",
        r"não (?:é|são|foi|está|foram) (?:\w+ )?(?:mencionad|indicad|especificad|informad|citad)\w+",
    ),
    _language(  # Dutch
        r"niet\b|geen\b|niets\b|nergens\b|noch\b",
        r"vermeld\w*|noem\w*|genoemd|bevat\w*|zeg\w*|staat\b|informatie|geef\w*|geven|gegeven|aangegeven|beschr\w+"
        r"|vind\w*|gevonden|ingaan|gaat\b"
        r"|duidelijk|spreek\w*|melding|bekend|gegevens|antwoord\w*",
        r"(?:document\w*|teksten?|context\w*|passages?|bronn?e?n?|artikel\w*|fragment\w*|contract\w*|rapport\w*"
        r"|stuk\w*|pagina\w*)\b",
        r"niet (?:\w+ )?(?:vermeld|genoemd|aangegeven|beschreven)",
    ),
    _language(  # Polish
        r"nie\b|brak\b|żadn\w+|nic\b",
        r"zawier\w+|wspomin\w+|wspomnian\w+|podaj\w+|podan\w+|mów\w+|określ\w+|informacj\w+|wymieni\w+|opis\w+"
        r"|wynika\w*|wskazuj\w+|wzmiank\w+|odpowied\w+|ma\b",
        r"(?:dokument\w*|tekst\w*|kontekst\w*|fragment\w*|źród\w+|artykuł\w*|umow\w+|raport\w*|materiał\w*|stron\w+)\b",
        r"nie (?:\w+ )?(?:podano|wspomniano|określono|wymieniono)",
    ),
    _language(  # Russian
        r"не\b|нет\b|ни\b|ничего|никак\w*|отсутств\w+",
        r"упомин\w+|упомян\w+|указ\w+|содерж\w+|говор\w+|сказано|информаци\w+|сведени\w+|данн\w+|описа\w+"
        r"|сообща\w+|привод\w+|найти|найден\w*|раскры\w+|определ\w+",
        r"(?:документ\w*|текст\w*|контекст\w*|отрыв\w+|источник\w*|стать\w*|договор\w*|отч[её]т\w*|материал\w*"
        r"|фрагмент\w*)\b",
        r"не (?:упоминается|указан\w*|упомянут\w*|сообщается)",
    ),
    _language(  # Indonesian
        r"tidak\b|tak\b|bukan\b|belum\b|tanpa\b",
        r"menyebut\w*|disebut\w*|informasi|berisi|memuat|mengandung|menjelaskan|dijelaskan|tercantum|mencantumkan"
        r"|ada\b|memberikan|membahas|ditemukan"
        r"|menyatakan|dinyatakan|diketahui",
        r"(?:dokumen\w*|teks\w*|konteks\w*|sumber\w*|artikel\w*|kutipan\w*|bacaan|bagian|kontrak\w*|laporan\w*)\b",
        r"tidak (?:disebutkan|dicantumkan|dinyatakan)",
    ),
    _language(  # Arabic
        r"لا\b|لم\b|ليس\w*|غير\b|دون\b|عدم\b",
        r"[يتن]?ذكر\w*|[يت]?حتو\w+|معلومات|[يت]وضح\w*|[يت]حدد\w*|[يت]تضمن\w*|[يت]شير\w*|[يت]قدم\w*|مذكور\w*"
        r"|محدد\w*|موجود\w*|[يت]ورد\w*|يرد\b",
        r"(?:ال|لل|بال|وال)?(?:نص|نصوص|وثيقة|وثائق|مستند|مستندات|سياق|مقطع|مقال|مصدر|مصادر|عقد|تقرير)\b",
        r"لم (?:يُ|ي|تُ|ت)ذكر|غير مذكور\w*",
    ),
    _language(  # Hindi
        r"नहीं|न\b|कोई",
        r"उल्लेख|जानकारी|बताया|बताती|बताता|बताते|दिया|दी\b|लिखा|वर्णन|सूचना|कहा|स्पष्ट",
        r"दस्तावेज़\w*|दस्तावेज\w*|पाठ|लेख|संदर्भ|स्रोत|अनुच्छेद|अंश|रिपोर्ट|अनुबंध",
        r"उल्लेख नहीं",
        spaced=False,
    ),
    _language(  # Bengali
        r"নেই|হয়নি|না\b|নি\b|করে না",
        r"উল্লেখ|তথ্য|বলা|বর্ণনা|জানায়|দেওয়া|লেখা",
        r"নথি\w*|পাঠ্য\w*|প্রসঙ্গ\w*|নিবন্ধ\w*|উৎস\w*|অনুচ্ছেদ\w*|প্রতিবেদন\w*|চুক্তি\w*|লেখা\w*",
        r"উল্লেখ (?:করা )?(?:নেই|হয়নি)",
        spaced=False,
    ),
    _language(  # Chinese
        r"没有|未|无|沒有|不|並未",
        r"提到|提及|说明|說明|包含|提供|信息|資訊|指出|给出|列出|记载|記載|写明|涉及|说|告诉|描述|回答|确定|得知",
        r"文中|文档|文檔|文本|上下文|文章|资料|資料|材料|段落|原文|来源|合同|报告|文件|片段",
        r"(?:没有|未|并未)(?:明确)?(?:提到|提及|说明)",
        spaced=False,
    ),
    _language(  # Japanese
        r"ません|ない|なく|ありません",
        r"記載|言及|書かれ|含まれ|情報|述べ|触れ|説明|示さ|記述|明記|分か|わか|載って",
        r"文書|文章|資料|本文|文脈|テキスト|記事|出典|抜粋|契約書|報告書|ソース|ドキュメント|コンテキスト",
        r"(?:記載|言及|明記)(?:されて|が|は)?(?:い|あり)?ません",
        spaced=False,
    ),
)
_PART = re.compile(r"\s*[,،，、:]\s*")
# Indirect questions, and apologies: parts of a sentence that claim nothing.
_ASKED = re.compile(
    r"\W*(?:wie|was|wer|wessen|wem|ob|wann|wo|warum|welche\w*|wof[üu]r|quel\w*|qui|que|comment|combien|si|où"
    r"|pourquoi|quand|ce que"
    r"|cu[áa]nt\w*|qu[ée]|qui[ée]n\w*|c[óo]mo|d[óo]nde|cu[áa]ndo|cu[áa]l\w*|quant\w*|cosa|chi|come|se|dove|quando"
    r"|qual\w*|quem|onde|como"
    r"|hoe|wat|wie|of|wanneer|waar|welke|ile|jak\w*|kto|czy|kiedy|gdzie|któr\w*|сколько|как\w*|кто|что|ли|когда"
    r"|где|чей|чья|berapa|siapa"
    r"|bagaimana|apa\w*|kapan|mana|كم|من|ما|متى|أين|كيف|هل|कि|कितन\w*|कौन)\b",
    re.IGNORECASE,
)
# "Ma" is "but" in Italian, and "has" in Polish.
_NO_TURN = re.compile(r"\bnie ma\b", re.IGNORECASE)
MOST_WORDS_BESIDE = 3
"""Words of a part of a sentence that need neither abstain nor ask: "leider", "nach dem Text"."""


def abstains_elsewhere(sentence: str, question: str) -> bool:
    """Return whether a sentence in a language other than English says that a text does not tell.

    A number that the question has not, a "but", or a part of the sentence that does something else may claim.
    """
    if len(sentence) > MAX_CHARS or ";" in sentence or TURN.search(_NO_TURN.sub(" ", sentence)):
        return False
    if not set(_numbers(sentence)).issubset(_numbers(question)):
        return False
    return any(_abstains_whole(language, sentence) for language in _LANGUAGES)


def _abstains_whole(language: _Language, sentence: str) -> bool:
    if not language.abstains(sentence):
        return False
    return all(
        len(part.split()) <= MOST_WORDS_BESIDE or _ASKED.match(part) or language.abstains(part)
        for part in _PART.split(sentence)
    )


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)
