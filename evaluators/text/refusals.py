# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Answers that decline in languages other than English: "je ne sais pas", "não sei", "不知道"."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KNOW = (
    r"je (?:ne )?(?:le )?sais pas|je l['’]ignore|aucune id[ée]e",
    r"wei(?:ß|ss) (?:ich|es)\b.{0,40}\bnicht|ich wei(?:ß|ss) (?:es|das)?\b.{0,20}\bnicht|keine ahnung",
    r"no lo s[ée]\b|no sé\b|no tengo (?:ni )?idea|lo desconozco",
    r"(?:eu )?n[ãa]o (?:o )?sei\b|n[ãa]o fa[çc]o ideia|desconhe[çc]o",
    r"non (?:lo |ne )?so\b|non ho idea",
    r"(?:ik weet het|weet ik)\b.{0,20}\bniet|geen idee",
    r"nie wiem\b|nie mam pojęcia",
    r"(?:saya|aku) (?:tidak|kurang|nggak|gak) (?:tahu|mengetahui|yakin)|tidak tahu jawaban",
    r"\bя (?:этого )?не знаю|\bне знаю\b|понятия не имею",
    r"(?:我|我们)?(?:也)?(?:真的)?(?:不知道|不清楚|不确定|不太清楚|無法確定|不曉得)",
    r"(?:分|わ)か(?:りません|らない|りかねます)|存じ(?:ません|上げません)|知りません",
    r"لا (?:أعرف|أعلم|ادري|أدري|اعرف|اعلم)|ليس لدي (?:أي )?(?:فكرة|معلومات)",
    r"(?:मुझे|मैं) .{0,20}(?:नहीं पता|पता नहीं|नहीं जानत[ाी])|मालूम नहीं|नहीं पता",
    r"(?:আমি|আমার) .{0,20}(?:জানি না|জানা নেই)|জানি না",
)
_CANNOT = (
    r"je ne (?:peux|saurais) pas (?:vous |te |y )?(?:r[ée]pondre|aider|fournir)|"
    r"(?:d[ée]sol[ée]e?|navr[ée]e?).{0,30}je ne peux pas",
    r"(?:kann|darf) (?:ich )?(?:ihnen |dir |dabei |damit |das |diese frage |darauf |leider ){0,4}"
    r"nicht (?:beantworten|helfen|weiterhelfen|sagen)|kann ich .{0,40}nicht (?:beantworten|helfen|sagen)",
    r"no puedo (?:responder|ayudar|contestar|proporcionar)",
    r"n[ãa]o (?:posso|consigo) (?:responder|ajudar|fornecer)",
    r"non posso (?:rispondere|aiutar|fornire)|non sono in grado di",
    r"kan (?:ik )?.{0,30}niet (?:beantwoorden|helpen)",
    r"nie mogę (?:odpowiedzieć|pomóc|udzielić)|nie jestem w stanie",
    r"(?:saya )?tidak (?:bisa|dapat) (?:menjawab|membantu|memberikan)",
    r"не могу (?:ответить|помочь|сказать|предоставить)",
    r"(?:我)?(?:无法|無法|不能|没办法)(?:回答|提供|帮助|帮您|确定|協助)",
    r"(?:お答え|回答|お手伝い)(?:する)?(?:こと(?:は|が))?(?:でき|出来)(?:ません|ない)|お答えしかねます",
    r"لا (?:أستطيع|استطيع|يمكنني) (?:الإجابة|المساعدة|مساعدتك|تقديم)",
    r"(?:जवाब|उत्तर|मदद) .{0,12}नहीं (?:दे|कर) सकत[ाी]",
    r"(?:উত্তর|সাহায্য) .{0,12}(?:দিতে|করতে) পার(?:ছি|ব|ি) না",
)
_SILENT = (
    r"(?:le contexte|le texte|les? documents?|le passage).{0,20}ne (?:\w+ )?"
    r"(?:contien|mentionn|pr[ée]cis|fourni|di[ts]|indiqu)",
    r"(?:der kontext|der text|die dokumente|das dokument|die quelle).{0,20}"
    r"(?:enth[äa]lt|enthalten|nennt|sagt|erw[äa]hnt) .{0,40}(?:nicht|kein)",
    r"(?:el contexto|el texto|los? documentos?) no (?:\w+ )?(?:contiene|menciona|dice|indica|proporciona|especifica)",
    r"(?:o contexto|o texto|os? documentos?) n[ãa]o (?:\w+ )?(?:cont[ée]m|menciona|diz|indica|fornece|especifica)",
    r"(?:il contesto|il testo|i? ?l? ?document[oi]) non (?:\w+ )?"
    r"(?:contien|contengono|menziona|dice|indica|fornisc|specifica)",
    r"(?:de context|de tekst|het document|de documenten) .{0,20}(?:bevat|vermeldt|noemt|zegt) .{0,30}(?:niet|geen)",
    r"(?:kontekst|tekst|dokument) nie (?:zawiera|wspomina|podaje|mówi|określa)",
    r"(?:konteks|teks|dokumen)(?: \w+){0,2} tidak (?:berisi|menyebutkan|memuat|mengandung|menjelaskan)",
    r"(?:контекст|текст|документ)\w*(?: \w+)? не (?:содерж|упомина|указ|говор)",
    r"(?:上下文|文中|文本|文章|资料|材料|文档)(?:中)?(?:并)?(?:没有|未)(?:提到|提及|说明|包含|提供)",
    r"(?:文脈|文章|資料|本文|文書)(?:に|には|では).{0,20}(?:記載|言及|書かれ|含まれ).{0,6}(?:ません|いない|ない)",
    r"(?:السياق|النص|المستند) لا (?:يحتوي|يذكر|يوضح|يقدم)|لا (?:يحتوي|يذكر) (?:السياق|النص)",
    r"(?:संदर्भ|पाठ|दस्तावेज़) में .{0,40}(?:नहीं है|नहीं दी|उल्लेख नहीं)",
    r"(?:প্রসঙ্গে|পাঠ্যে|নথিতে) .{0,40}(?:নেই|উল্লেখ করা হয়নি)",
)
# Where words are written without spaces, one begins wherever it likes.
_BEGINS = r"(?<![a-zà-ÿа-яё])"
_DECLINES = re.compile(f"{_BEGINS}(?:{'|'.join((*_KNOW, *_CANNOT, *_SILENT))})", re.IGNORECASE)
TURN = re.compile(
    r"\b(?:mais|cependant|pourtant|aber|jedoch|allerdings|pero|sin embargo|aunque|mas|por[ée]m|contudo|per[òo]|ma"
    r"|tuttavia|maar|echter|ale|jednak|tetapi|tapi|namun|но|однако)\b|但是?|不过|不過|然而|ですが|しかし|けれど|けど|ولكن|لكن|लेकिन|परन्तु"
    r"|কিন্তু|তবে",
    re.IGNORECASE,
)
# One of these words occurs in every Latin-script refusal: most sentences have none and are skipped.
_DENYING = frozenset(
    (
        *("pas", "ignore", "aucune", "nicht", "kein", "keine", "keinen", "keiner", "keinerlei", "ahnung"),
        *("no", "lo", "nao", "não", "desconozco", "desconheco", "desconheço", "non", "niet", "geen", "nie"),
        *("tidak", "kurang", "nggak", "gak"),
    )
)
_LATIN_ONLY = re.compile(r"[\u0000-\u024f\u1e00-\u1eff\u2010-\u203a]*\Z")
_SORRY = re.compile(
    r"\b(?:(?:je suis )?(?:d[ée]sol[ée]e?|navr[ée]e?)|malheureusement|excusez[- ]moi|pardon|(?:es )?tut mir leid"
    r"|entschuldigung|leider|lo siento|lamentablemente|desafortunadamente|perd[óo]n|desculpe|sinto muito|infelizmente"
    r"|mi dispiace|purtroppo|scusa|het spijt me|helaas|sorry|przepraszam|przykro mi|niestety|maaf|sayangnya|извините"
    r"|простите|к сожалению|mais|aber|pero|mas|per[òo]|ma|maar|ale|tetapi|tapi|но)\b"
    r"|(?:很|非常)?抱歉|对不起|不好意思|很遗憾|但是?"
    r"|申し訳(?:ありません|ございません)(?:が)?|すみません(?:が)?|ごめんなさい|残念ながら"
    r"|عذر[اًا]*|آسفة?|للأسف|ولكن|لكن"
    r"|क्षमा करें|माफ़ करें|लेकिन|दुर्भाग्य से|দুঃখিত|কিন্তু|দুর্ভাগ্যবশত",
    re.IGNORECASE,
)
_PART = re.compile(r"[,;:،，、；：\u2013\u2014]")
MOST_BESIDES = 45
"""Letters of a clause that declines, besides those that do and the question's words: what is not known."""
MAX_CHARS = 240
"""Longer outputs are not searched: who declines is brief."""


def declines_elsewhere(text: str) -> bool:
    """Return whether a short output declines in one of fourteen languages other than English, in common wordings.

    What goes on after a "but" does not decline, unless that declines too.
    """
    if len(text) > MAX_CHARS or (match := _DECLINES.search(text)) is None:
        return False
    turn = TURN.search(text, match.end())
    return turn is None or _DECLINES.search(text, turn.end()) is not None


def only_declines_elsewhere(sentence: str, words: Iterable[str], question: str) -> bool:
    """Return whether a sentence with these words only declines, in a language other than English.

    A digit, or a clause besides the declining one, makes a claim unless the clause apologises or repeats the question.
    """
    if len(sentence) > MAX_CHARS or any(map(str.isdigit, sentence)):
        return False
    if _DENYING.isdisjoint(words) and _LATIN_ONLY.match(sentence):
        return False
    match = _DECLINES.search(sentence)
    return match is not None and _is_all(sentence, match, question.lower())


def _is_all(sentence: str, found: re.Match[str], question: str) -> bool:
    before, after = _PART.split(sentence[: found.start()]), _PART.split(sentence[found.end() :])
    others = [clause for clause in (*before[:-1], *after[1:]) if _DECLINES.search(clause) is None]
    if any(_letters(clause, question) for clause in others):
        return False
    return _letters(before[-1], question) + _letters(after[0], question) <= MOST_BESIDES


def _letters(clause: str, question: str) -> int:
    """Count the letters of a clause that neither excuses nor repeats the question."""
    words = _SORRY.sub(" ", clause).split()
    return sum(sum(map(str.isalpha, word)) for word in words if word.lower().strip(".!?\u3002") not in question)
