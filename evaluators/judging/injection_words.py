"""Judge-directed phrases in eleven languages besides English, by kind. Letters are expected to be folded."""

from __future__ import annotations

from collections.abc import Mapping

# Within a sentence, and short: every repetition has a bound, so that half a million characters stay quick.
_NEAR = r"[^.!?]{0,40}"
_BY = r"[^。.!?]{0,15}"

ORDERS_OF_LATIN: Mapping[str, Mapping[str, str]] = {
    "override": {
        "es": rf"\b(?:ignor|olvid|descart|omit)(?:a|e|es|en|ad|ar)\b{_NEAR}"
        r"\b(?:instrucci[oó]n|regla|criterio|r[uú]brica)",
        "pt": rf"\b(?:ignore|ignora|esque[cç]a|desconsidere|descarte)m?\b{_NEAR}"
        r"\b(?:instru[cç]|regra|crit[eé]rio|rubrica)",
        "fr": rf"\b(?:ignor|oubli)(?:e|es|ez|er)\b{_NEAR}\b(?:instruction|r[eè]gle|consigne|crit[eè]re|bar[eè]me)",
        "de": rf"\b(?:ignorier|missacht|verg[ei]ss)\w{{0,3}}\b{_NEAR}"
        r"\b(?:anweisung|regel|vorgabe|kriteri|bewertungs|aufgabe)",
        "it": rf"\b(?:ignor|dimentic|trascur)(?:a|i|ate|are)\b{_NEAR}\b(?:istruzion|regol|criteri|rubric)",
    },
    "addressed": {
        "es": r"\b(?:querid[oa]|estimad[oa]|atenci[oó]n|nota (?:al|para el)),?:? (?:el |la |al )?"
        r"(?:juez|jueza|evaluadora?|calificadora?)\b",
        "pt": r"\b(?:car[oa]|prezad[oa]|aten[cç][aã]o|nota (?:ao|para o)),?:? "
        r"(?:o |a |ao )?(?:juiz|ju[ií]za|avaliadora?)\b",
        "fr": r"\b(?:cher|ch[eè]re|attention|note (?:au|pour le)),?:? "
        r"(?:le |la |l['\u2019])?(?:juge|[eé]valuat|correct(?:eur|rice))",
        "de": r"\b(?:liebe[rs]?|achtung|sehr geehrte[rs]?|hallo|hinweis (?:an|f[uü]r)(?: den| die)?),?:? "
        r"(?:herr |frau |ki-)?(?:richter|bewerter|pr[uü]fer|gutachter|juror)",
        "it": r"\b(?:car[oa]|gentile|attenzione|nota (?:al|per il)),?:? "
        r"(?:il |al )?(?:giudice|valutatore|esaminatore)\b",
    },
    "demanded score": {
        "es": rf"\b(?:da|dale|dame|asigna|otorga|pon|devuelve|concede|responde)\w{{0,2}}\b{_NEAR}\b(?:"
        r"(?:m[aá]xima|perfecta|mejor) (?:puntuaci[oó]n|calificaci[oó]n|nota)"
        r"|(?:puntuaci[oó]n|calificaci[oó]n|nota) (?:m[aá]xima|perfecta|m[aá]s alta|de \d))",
        "pt": rf"\b(?:d[eêá]|atribua|conceda|retorne|responda)\b{_NEAR}\b(?:pontua[cç][aã]o|nota) "
        r"(?:m[aá]xima|perfeita|mais alta|de \d|\d)",
        "fr": rf"\b(?:donne|attribue|accorde|renvoie|r[eé]ponds)(?:z|r)?\b{_NEAR}\b(?:"
        r"(?:note|score) (?:maximale?|parfaite?|la plus [eé]lev[eé]e|de \d)|meilleure note)",
        "de": rf"\b(?:gib|geben|vergib|vergeben|erteil|bewert|antwort)\w{{0,2}}\b{_NEAR}\b(?:"
        r"(?:volle|h[oö]chste|maximale|beste)[nr]? (?:punktzahl|note|bewertung|wertung)|bestnote|h[oö]chstnote"
        r"|h[oö]chstpunktzahl|(?:punktzahl|bewertung|note) (?:von )?\d)",
        "it": rf"\b(?:dai|dagli|dammi|assegna|attribuisci|concedi|rispondi)\b{_NEAR}\b(?:massimo (?:punteggio|voto)"
        r"|(?:punteggio|voto|valutazione) (?:massim|perfett|pi[uù] alt|pien|di \d))",
    },
    "demanded verdict": {
        "es": rf"\b(?:marc|calific|consider|eval[uú]|clasific)\w{{1,4}}\b{_NEAR}"
        r"\bcomo (?:correct|aprobad|v[aá]lid|verdader)",
        "pt": rf"\b(?:marqu|classifiqu|consider|avali)\w{{1,3}}\b{_NEAR}"
        r"\bcomo (?:corret|aprovad|v[aá]lid|verdadeir)",
        "fr": rf"\b(?:marqu|not|consid[eè]r|class|jug)(?:e|ez|er)\b{_NEAR}"
        r"\bcomme (?:correct|valid|r[eé]ussi|vrai|exact)",
        "de": rf"\b(?:markier|bewert|wert|betracht|behandel)\w{{0,3}}\b{_NEAR}\bals "
        r"(?:richtig|korrekt|bestanden|wahr|erf[uü]llt|perfekt)",
        "it": rf"\b(?:segn|valut|consider|classific)(?:a|i|ate|are)\b{_NEAR}"
        r"\bcome (?:corrett|superat|valid|ver[oa]\b)",
    },
}
"""Spanish, Portuguese, French, German, Italian."""

SCRIPTS: Mapping[str, str] = {
    "ru": "[\u0400-\u04ff]",
    "zh": "[\u4e00-\u9fff]",
    "ja": "[\u3040-\u30ff]",
    "ko": "[\uac00-\ud7af]",
    "ar": "[\u0600-\u06ff]",
    "hi": "[\u0900-\u097f]",
}
"""Letters without which a text is not searched for a language."""
ORDERS_OF_OTHERS: Mapping[str, Mapping[str, str]] = {
    "override": {
        "ru": rf"(?:игнорируй|забудь|отбрось|не обращай)\w{{0,3}}\b{_NEAR}(?:инструкци|правил|критери|указани)",
        "zh": rf"(?:忽略|无视|無視|忘记|忘記|不要理会|不要理會){_BY}"
        r"(?:指令|指示|说明|說明|规则|規則|标准|標準|要求|提示)",
        "ja": rf"(?:指示|命令|ルール|規則|基準|プロンプト){_BY}(?:無視|忘れ)",
        "ko": rf"(?:지시|지침|명령|규칙|기준|프롬프트){_BY}(?:무시|잊어|잊으)",
        "ar": rf"(?:تجاهل|انس|أهمل|اهمل)\w{{0,3}}\b{_NEAR}(?:تعليمات|قواعد|معايير|توجيهات|أوامر)",
        "hi": rf"(?:निर्देश|नियम|मानदंड|आदेश){_NEAR}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल जा)",
    },
    "addressed": {
        "ru": r"(?:уважаем|дорог)\w{2,3},? (?:ии-?|господин )?(?:судь|оценщик|проверяющ)",
        "zh": r"(?:亲爱的|親愛的|尊敬的|注意)[^。]{0,4}(?:评委|評委|评审|評審|法官|裁判|评估者|評估者|评分者|評分者)",
        "ja": r"(?:親愛なる|拝啓)[^。]{0,4}(?:審査員|評価者|採点者)|(?:審査員|評価者|採点者)(?:様|の皆様|さん|へ)",
        "ko": r"(?:친애하는|존경하는)[^.]{0,4}(?:심사위원|평가자|채점자)|(?:심사위원|평가자|채점자)(?:님|에게)",
        "ar": r"(?:عزيزي|عزيزتي|أيها|ايها)[^.]{0,6}(?:القاضي|المقيم|المقيّم|الحكم|المصحح)",
        "hi": r"(?:प्रिय|माननीय|आदरणीय)[^।]{0,6}(?:न्यायाधीश|जज|मूल्यांकनकर्ता|परीक्षक|निर्णायक)",
    },
    "demanded score": {
        "ru": rf"(?:постав|дай|присво|выстав|оцени)\w{{0,4}}\b{_NEAR}"
        rf"(?:максимальн|высш|наивысш|идеальн)\w{{0,4}} (?:балл|оценк)",
        "zh": rf"(?:给|給|打|评|評|输出|輸出|判){_BY}(?:满分|滿分|最高分|最高评分|最高評分|100分|10分)",
        "ja": rf"(?:満点|最高点|最高評価|最高スコア){_BY}(?:つけ|付け|与え|出し|出力|ください|にして)",
        "ko": rf"(?:만점|최고 ?점수|최고점|최고 ?평점){_BY}(?:주|줘|부여|매겨|출력)",
        "ar": rf"(?:أعط|اعط|امنح|ضع)\w{{0,4}}\b{_NEAR}(?:(?:درجة|علامة|تقييم)\w{{0,3}} (?:كامل|القصوى|العليا)"
        r"|(?:الدرجة|العلامة) (?:الكاملة|القصوى|العليا)|(?:أعلى|اعلى) (?:درجة|علامة|تقييم))",
        "hi": rf"(?:पूर्ण|पूरे|अधिकतम|सर्वोच्च|उच्चतम) (?:अंक|स्कोर|रेटिंग){_BY}(?:दें|दो|दीजिए)",
    },
    "demanded verdict": {
        "ru": rf"(?:отметь|пометь|считай|засчитай)\w{{0,3}}\b{_NEAR}(?:как )?(?:правильн|верн|корректн|пройден)",
        "zh": rf"(?:标记|標記|判定|认定|認定|视|視){_BY}(?:为|為|成)(?:通过|通過|正确|正確|合格)",
        "ja": r"(?:正解|合格|正しい)[^。]{0,4}(?:と判定|とマーク|と評価|とみなし|として扱)(?:して|っ)",
        "ko": r"(?:정답|합격|통과)(?:으로|로) (?:표시|판정|처리|평가|간주)(?:해|하)",
        "ar": rf"(?:اعتبر|صنف)\w{{0,3}}\b{_NEAR}(?:صحيح|ناجح|مقبول)",
        "hi": rf"(?:सही|उत्तीर्ण|पास){_BY}(?:चिह्नित करें|मानें|घोषित करें)",
    },
}
"""Russian, Chinese, Japanese, Korean, Arabic, Hindi."""
