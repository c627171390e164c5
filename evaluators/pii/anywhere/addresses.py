"""Postal addresses: the earlier rules, units, postcodes that are called so, and eight more countries."""

# Look-alike characters are what stands here.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluators.base import Span
from evaluators.pii.addresses import find_addresses as find_first_addresses
from evaluators.pii.anywhere.labels import stretches
from evaluators.pii.plain_text import PlainText

_NUMBER = re.compile(r"[0-9]+")
_AROUND = 80

_HAN = "\u4e00-\u9fff"
_JAPANESE = f"{_HAN}\u3040-\u30ff"

_UNIT_NAME = r"(?:apt|apartment|unit|suite|ste|flat|penthouse)"
_UNIT = re.compile(
    rf"(?i)(?:(?<=, )|(?<=\n)){_UNIT_NAME}\.? ?#?[0-9]{{1,5}}[a-z]?(?![\w%]|[.:/-][0-9]| of\b)"
    r"|\b(?:liv(?:es?|ing)|stay(?:s|ing)?|resid(?:es?|ing)|moved|home|address|deliver(?:ed)?|ship(?:ped)?|send|sent|mail)"
    rf"(?: it| them| is| are)?(?: in| at| to| into|:)? (?:the )?({_UNIT_NAME}\.? ?#?[0-9]{{1,5}}[a-z]?)(?![\w%])"
)
# Belongs to the street that it follows.
_UNIT_BEHIND = re.compile(rf"(?i),? ?(?:(?:{_UNIT_NAME}|floor|fl)\.? ?#?|#) ?[0-9]{{1,5}}[a-z]?(?![\w%])")
_CODE = (
    r"(?:[A-Za-z][0-9][A-Za-z] ?[0-9][A-Za-z][0-9]|[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}"
    r"|[A-Za-z][0-9]{2} ?[A-Z0-9]{4}"
    r"|[0-9]{4} ?[A-Z]{2}|[0-9]{5}(?:-[0-9]{3,4})?|[0-9]{3}[ -][0-9]{2,4}|[0-9]{2}-[0-9]{3}|[0-9]{4}|[0-9]{6}|[0-9]{7})"
    r"(?![A-Za-z0-9]|[.,-][0-9])"
)
_POSTCODE = re.compile(
    r"(?:(?i:\b(?:zip(?: ?codes?)?|post ?codes?|postal ?codes?|eircode|pin ?code|plz|postleitzahl|postnummer"
    r"|code postal|c[oó]digo postal|codice postale|kod pocztowy|posta kodu|почтовый индекс|индекс))|\b(?:CEP|CAP)\b"
    r"|邮编|邮政编码|郵遞區號|郵便番号|우편번호|الرمز البريدي|מיקוד|पिन कोड|รหัสไปรษณีย์|ταχυδρομικός κώδικας)"
    r"(?:(?i: number| no\.?| is| are|ist|est|es|é)|[ :：=#\"'は是은는]){0,4}" + f"({_CODE})"
    r"|〒 ?([0-9]{3}-?[0-9]{4})(?![0-9])"
)
_PLACE = r"[^\W\d_a-z][^\W\d_]{1,24}"
_COUNTRIES = tuple(
    re.compile(pattern)
    for pattern in (
        # Canada, Australia, India: a province or a large city and its postcode.
        rf"{_PLACE},? (?:ON|QC|BC|AB|MB|NB|NS|NL|PE|SK|YT|NT|NU|Ontario|Qu[eé]bec|British Columbia|Alberta),? "
        r"[ABCEGHJ-NPRSTVXY][0-9][ABCEGHJ-NPRSTV-Z] ?[0-9][ABCEGHJ-NPRSTV-Z][0-9]\b",
        rf"{_PLACE},? (?:NSW|VIC|Vic|QLD|Qld|SA|WA|TAS|Tas|ACT|NT),? [0-9]{{4}}(?![\w-]|[.,][0-9])",
        r"(?:Mumbai|Delhi|Bengaluru|Bangalore|Chennai|Kolkata|Hyderabad|Pune|Ahmedabad|Jaipur|Lucknow|Kochi|Noida|Gurgaon"
        r"|Gurugram|Indore|Bhopal|Nagpur|Surat|Patna|Coimbatore)(?:,? [A-Z][a-z]{2,15}){0,2}[ ,-]{1,3}"
        r"[1-9][0-9]{2} ?[0-9]{3}\b",
        # Russia, Turkey: a word for a street, its name and a house.
        r"(?<!\w)(?:ул\.|улица|улице|просп\.|пр-т|проспект|пер\.|переулок|ш\.|шоссе|наб\.|набережная|бульвар|б-р) ?"
        r"[А-ЯЁ0-9][\wё.-]{1,24}(?: [А-ЯЁ][\wё.-]{1,24}){0,2},? (?:д\.? ?|дом )?[0-9]{1,4}",
        r"(?:[A-ZÇĞİÖŞÜ][\w']{1,20} ){1,3}(?:Caddesi|Cad\.|Cd\.|Sokak|Sokağı|Sok\.|Sk\.|Bulvarı|Mahallesi|Mah\.)"
        r",? (?:No ?[.:]? ?)?[0-9]{1,4}\b",
        # China, Japan, Korea: from the large to the small, without spaces or with them.
        rf"[{_HAN}]{{2,8}}(?:省|市|区|區|县|縣|镇|鎮)[{_HAN}]{{1,14}}(?:路|街|道|巷|弄|胡同|村|段)[0-9]{{1,5}}(?:号|號|弄|巷)",
        rf"[{_JAPANESE}]{{1,12}}[市区町村郡][{_JAPANESE}]{{1,12}}[0-9]{{1,4}}(?:丁目|番地?|-[0-9]{{1,4}})(?:[0-9番号地-]{{0,9}})",
        r"[가-힣]{1,8}(?:시|도|군|구) (?:[가-힣]{1,8}(?:시|군|구|읍|면) ){0,2}[가-힣0-9]{1,12}(?:로|길|동) ?"
        r"[0-9]{1,4}(?:-[0-9]{1,4})?",
    )
)


def addresses_in(reading: PlainText) -> Iterator[Span]:
    """Yield postal addresses, or the part of one that shows it; spans may overlap."""
    text = reading.words
    for start, end in find_first_addresses(text):
        unit = _UNIT_BEHIND.match(text, end)
        yield start, unit.end() if unit else end
    # Every match contains a number, and searching the complete text would take as long as all other kinds together.
    for start, end in stretches([match.span() for match in _NUMBER.finditer(text)], _AROUND, _AROUND):
        for pattern in (_UNIT, _POSTCODE, *_COUNTRIES):
            for match in pattern.finditer(text, start, end):
                yield match.span(match.lastindex or 0)
