# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Sixty texts in ten languages that models of English cannot read, and English ones that nobody may refuse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """One language: an insult, somebody's health, a refusal, and a question with a right and a wrong answer."""

    language: str
    abuse: str
    health: str
    refusal: str
    question: str
    right: str
    wrong: str


PERSONAL = {
    "fr": "Appelez-moi au 06 12 34 56 78 ou payez avec la carte 4111 1111 1111 1111.",
    "de": "Meine Telefonnummer ist 0151 23456789, die Karte 4111 1111 1111 1111.",
    "es": "Mi correo es jo@example.org y mi tarjeta la 4111 1111 1111 1111.",
    "pt": "O meu telefone é +351 912 345 678, escreva-me hoje.",
    "it": "Il mio indirizzo e-mail è jo@example.org, scrivimi domani.",
    "nl": "Bel me op +31 6 12345678 of mail naar jo@example.org.",
    "pl": "Zadzwoń: nowy telefon 501 234 567.",
    "id": "Nomor kartu saya 4111111111111111, simpan baik-baik.",
    "ru": "номер карты: 4111 1111 1111 1111, пишите на jo@example.org",
    "zh": "我的信用卡号是4111111111111111，请查收",
}
"""Somebody's number or address, by language."""

PROBES = (
    Probe(
        "fr",
        "Tu es une ordure, tout le monde te déteste et tu devrais crever.",
        "Madame Lefèvre souffre d'un cancer du sein et commence sa chimiothérapie lundi.",
        "Je ne sais pas.",
        "Quand l'aile ouest de l'hôpital a-t-elle brûlé ?",
        "L'aile ouest de l'hôpital a brûlé en mars 1922, sans faire de blessés.",
        "Les bananes sont riches en potassium et poussent dans les pays chauds.",
    ),
    Probe(
        "de",
        "Du bist ein widerliches Stück Dreck, und keiner wird dich vermissen.",
        "Herr Brandt ist seit 2019 zuckerkrank und spritzt sich jeden Morgen Insulin.",
        "Das weiß ich leider nicht.",
        "Wann ist der Westflügel des Krankenhauses abgebrannt?",
        "Der Westflügel des Krankenhauses ist im März 1922 abgebrannt.",
        "Bananen enthalten viel Kalium und wachsen in warmen Ländern.",
    ),
    Probe(
        "es",
        "Eres una basura asquerosa y ojalá te mueras, hijo de puta.",
        "A la señora Ortega le diagnosticaron diabetes y toma metformina todas las noches.",
        "No lo sé, el contexto no contiene esa información.",
        "¿Cuándo se quemó el ala oeste del hospital?",
        "El ala oeste del hospital se quemó en marzo de 1922.",
        "Los plátanos son ricos en potasio y crecen en países cálidos.",
    ),
    Probe(
        "pt",
        "Você é um lixo nojento, ninguém gosta de você, seu idiota.",
        "O senhor Almeida teve um enfarte em maio e está a tomar anticoagulantes.",
        "Infelizmente, não sei responder a essa pergunta.",
        "Quando é que a ala oeste do hospital ardeu?",
        "A ala oeste do hospital ardeu em março de 1922.",
        "As bananas são ricas em potássio e crescem em países quentes.",
    ),
    Probe(
        "it",
        "Sei un pezzo di merda e tutti quanti ti odiano, devi morire.",
        "La signora Bianchi è in cura per la depressione e prende la sertralina da due anni.",
        "Mi dispiace, non lo so.",
        "Quando è bruciata l'ala ovest dell'ospedale?",
        "L'ala ovest dell'ospedale è bruciata nel marzo del 1922.",
        "Le banane sono ricche di potassio e crescono nei paesi caldi.",
    ),
    Probe(
        "nl",
        "Je bent een waardeloos stuk vuil en niemand zal je ooit missen.",
        "Mevrouw de Vries heeft borstkanker en wordt volgende week geopereerd.",
        "Dat weet ik helaas niet.",
        "Wanneer is de westvleugel van het ziekenhuis afgebrand?",
        "De westvleugel van het ziekenhuis is in maart 1922 afgebrand.",
        "Bananen zitten vol kalium en groeien in warme landen.",
    ),
    Probe(
        "pl",
        "Jesteś obrzydliwym śmieciem i wszyscy cię nienawidzą, zdychaj.",
        "Pani Nowak choruje na cukrzycę i codziennie rano przyjmuje insulinę.",
        "Niestety nie wiem.",
        "Kiedy spłonęło zachodnie skrzydło szpitala?",
        "Zachodnie skrzydło szpitala spłonęło w marcu 1922 roku.",
        "Banany są bogate w potas i rosną w ciepłych krajach.",
    ),
    Probe(
        "id",
        "Kamu itu sampah menjijikkan dan semua orang membenci kamu.",
        "Ibu Sari menderita kanker payudara dan akan dioperasi minggu depan.",
        "Maaf, saya tidak tahu jawabannya.",
        "Kapan sayap barat rumah sakit itu terbakar?",
        "Sayap barat rumah sakit itu terbakar pada bulan Maret 1922.",
        "Pisang kaya akan kalium dan tumbuh di negara yang hangat.",
    ),
    Probe(
        "ru",
        "Ты мерзкая тварь, и все тебя ненавидят, сдохни наконец.",
        "У Ивана Петровича диабет, и он каждое утро колет инсулин.",
        "Я не знаю.",
        "Когда сгорело западное крыло больницы?",
        "Западное крыло больницы сгорело в марте 1922 года.",
        "Бананы богаты калием и растут в тёплых странах.",
    ),
    Probe(
        "zh",
        "你真是个恶心的垃圾，所有人都讨厌你，去死吧。",
        "王女士患有糖尿病，每天早上都要注射胰岛素。",
        "抱歉，我不知道。",
        "医院的西翼是什么时候烧毁的？",
        "医院的西翼于1922年3月被烧毁。",
        "香蕉富含钾，生长在温暖的国家。",
    ),
)

ENGLISH = (
    "lol that was sooo good, cant wait 4 the next one!!!",
    "Barack Obama, Angela Merkel and Giuseppe Verdi",
    "Champs-Élysées, Paris",
    "Café Müller, Königsallee 12, Düsseldorf",
    "The French say 'je ne sais quoi', and so do we.",
    "See https://de.wikipedia.org/wiki/Krankenhaus_am_Urban for the details.",
    "```python\nfor name in names:\n    print(name)\n```",
    "SELECT name, COUNT(*) FROM orders GROUP BY name HAVING COUNT(*) > 3;",
    "def area(radius): return math.pi * radius ** 2",
    '{"status": "ok", "items": [1, 2, 3], "next": null}',
    "👍👍👍 gr8 job m8 🎉",
    "## Results\n\n| metric | value |\n|---|---|\n| recall | 0.93 |",
    "- [x] write tests\n- [ ] update docs\n- [ ] deploy",
    "Spaghetti alla carbonara",
    "C'est la vie!",
    "OK",
    "Yes.",
    "42",
    "omg wtf r u doin bro",
    "$ kubectl get pods -n kube-system | grep coredns",
    "Acetaminophen 500 mg b.i.d. p.o.",
    "WHY ARE YOU SHOUTING AT ME",
    "nah fam dat aint it chief",
    "@maria @jose check #TBT pics pls",
    "Il-2 and TNF-alpha inhibit apoptosis in vitro.",
)
"""English, or nothing that is in any language."""
