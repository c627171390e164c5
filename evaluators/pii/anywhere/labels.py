"""Words that announce a number, in the languages of nine scripts.

Scripts without spaces lack word boundaries, so their words match anywhere; others match only at the start of a word.
Stems cover the inflected forms of a word.
"""

# Look-alike characters are what stands here.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from evaluators.base import Span

WITHIN = 40
"""Characters before a number in which a label announces it."""
BEHIND = 20
"""Characters behind a number in which a label does."""


def _labels(spaced: str, unspaced: str = "") -> re.Pattern[str]:
    """Join words that begin at a word border, and words of scripts without spaces."""
    parts = [rf"\b(?:{'|'.join(spaced.split())})", *unspaced.split()]
    return re.compile("|".join(parts).replace("~", r"\W{0,3}"), re.IGNORECASE)


CARD = _labels(
    r"(?:credit|debit)\w*|cards?(?:number)?\b|cc\b|visa\b|master~card|maestro|amex|american~express|discover\b|diners"
    r"|jcb\b|union~pay|pan\b|pay(?:ing|s|ment\w*|able)?\b|paid\b|charg(?:e|ed|es|ing)\b|billing|purchas\w+|cvv|cvc"
    r"|\w{0,16}kart(?:en?)?(?:nummer|ennummer)?\b|cartes?\b|tarjetas?\b|cart(?:ão|ões|ao)\b|cart[ae]\b|\w{0,8}kaart\w{0,6}"
    r"|kartı\w{0,4}|kart(?:a|y|ę)\b|thẻ\b|карт\w{0,6}|оплат\w{1,6}|κάρτα\w{0,2}|πληρωμ\w{1,3}",
    "بطاق فيزا الدفع כרטיס אשראי कार्ड भुगतान 卡 カード クレジット 支付 付款 支払 카드 결제 บัตร ชำระ",
)
# A number with one of these labels is not a card, although every tenth passes the check digit.
NOT_CARD = re.compile(
    r"(?i)(?:\b(?:orders?|invoice|tracking|imei|iccid|isbn|ean|upc|barcode|ref(?:erence)?|ticket|transaction|parcel"
    r"|serial|meter|case|booking|receipt|timestamp)\b|订单|訂單|单号|單號|运单|注文|伝票|주문|송장)[^0-9\n]{0,16}$"
)
PHONE = _labels(
    r"phone(?:s|~numbers?|~no)?\b|handy\w{0,8}|\w{0,12}telefon\w{0,10}|mobil(?:nummer|telefon|nr)\w{0,4}|festnetz\w{0,8}"
    r"|rückruf\w{0,8}|portable\b|appel(?:ez|er)\b|joindre\b|ll[aá]m(?:a|ar|ame|e|enos)\b|celular\b|telem[oó]vel|lig(?:ue|ar)\b"
    r"|chiam\w{1,5}|telefoon\w{0,8}|kom[oó]rk\w{0,3}|cep\b|telepon|sđt|điện~thoại|тел\b|телефон\w{0,3}|моб\w{0,9}|звон\w{1,6}"
    r"|позвон\w{1,5}|τηλ\w{0,9}|κινητ\w{1,3}|καλέστε",
    "هاتف جوال موبايل تلفون اتصل رقمي טלפון נייד פלאפון התקשר חייג טל[.:] फोन फ\u093cोन \u095eोन मोबाइल दूरभाष कॉल"
    " 电话 電話 手机 手機 致电 致電 拨打 撥打 联系 聯絡 座机 传真 傳真 热线 携帯 ケータイ 連絡先 ファックス"
    " 전화 휴대폰 핸드폰 연락 팩스 โทร มือถือ เบอร์",
)
# Labels of numbers other than telephones, unless a word for a telephone comes in between.
NOT_PHONE = re.compile(
    r"(?i)(?:\b(?:orders?|invoice|tracking|parcel|account|customer|member|ticket|reference|serial|imei|qq|id"
    r"|заказ\w{0,3}|сч[её]т\w{0,2})\b\W{0,3}(?:no|nr|number|id|code)?"
    r"|(?:订单|訂單|编|編|學|学|工|快递|运单|注文|伝票|会員|주문|송장|계좌|账|帳|口座)(?:单|單)?(?:号|號|番号|번호)?[码碼]?[是はの는은]?"
    r"|单号|單號)\W{0,4}$"
)
SSN = _labels(
    r"ssns?\b|social~security|ss~(?:#|no\b|number)|social~insurance|itin\b|seguro~social|taxpayer~id\w*",
    "社会安全号 社安号 社會安全 社会保障番号 사회보장번호",
)
PASSPORT = _labels(
    r"passports?(?:number)?\b|passeport|pasaporte|passaporte|passaporto|reisepass\w{0,8}|paspoort|paszport\w{0,3}"
    r"|pasaport|hộ~chiếu|паспорт\w{0,3}|διαβατ\w{2,8}",
    "جواز דרכון पासपोर्ट 护照 護照 パスポート 旅券 여권 หนังสือเดินทาง",
)
IDENTITY = _labels(
    r"national~(?:id|identity|insurance)\w*|identity~(?:card|number|no)\b|id~card\b|resident~(?:id|registration)\w*"
    r"|citizen~id\w*|personal~id\b|my~number~card|nhs~(?:number|no)\b|aadhaa?r|personalausweis\w{0,8}|ausweisnummer|steuer~id\w*"
    r"|sozialversicherungs\w*|sécurité~sociale|carte~d'identité|dni\b|nie\b|codice~fiscale|cpf\b|personnummer|pesel\b"
    r"|bsn\b|kimlik\b|cccd\b|cmnd\b|căn~cước|снилс|удостоверени\w{1,2}|ταυτότητ\w{1,3}",
    "هوية תעודת~זהות आधार 身份证 身份證 身分證 身分证 证件号 證件"
    " マイナンバー 個人番号 免許証 驾驶证 駕駛證 驾照 駕照 주민등록 주민번호"
    " 운전면허 외국인등록 บัตรประชาชน เลขประจำตัว",
)
NINO = _labels(r"nino\b|national~insurance\w*|ni~(?:number|no|#)|insurance~(?:number|no)\b|n\.i\.")
SOCIAL_INSURANCE = _labels(
    r"social~insurance\w*|sin~(?:number|no|num|#|card)|assurance~sociale|numéro~d'assurance|nas~(?:number|no|numéro)"
)
# The word "sin" is no label, nor is the sine of a formula.
SIN = re.compile(r"(?<![A-Za-z])(?:SIN|NAS|S\.I\.N\.)(?=[ :#=])")
BIRTH = _labels(
    r"date~of~birth|birth~?dates?|birth~?days?|dob\b|d\.o\.b|born\b|geboren|geburts(?:datum|tag)|geb\.|née?~le|date~de~naissance"
    r"|fecha~de~nacimiento|nacid[oa]~el|nascimento|nascid[oa]~em|data~di~nascita|nat[oa]~il|geboorte\w{0,6}|födelse\w{0,8}"
    r"|fødsels\w{0,6}|urodzeni\w{0,2}|urodzon\w{1,2}|doğum\w{0,4}|narozen\w{0,3}|ngày~sinh|дата~рождения|родил\w{2,4}|ημερομηνία~γέννησης",
    "生年月日 誕生日 出生日期 出生于 生日 생년월일 생일 تاريخ~الميلاد תאריך~לידה जन्म วันเกิด",
)
SORT_CODE = _labels(r"sort~?codes?\b|s/c\b|banking~code")
BANK_ACCOUNT = _labels(
    r"(?:bank~)?acc(?:oun)?t?s?~(?:number|no|num|nr|#)|a/c~?(?:number|no|#)?|account\b|acct\b|kontonummer|konto~nr"
)
NAMED_BANK_ACCOUNT = _labels(r"bank~acc(?:oun)?t?(?:~(?:number|no|#))?|kontonummer|konto-?nr")
MEDICAL_RECORD = _labels(
    r"mrn\b|(?:medical|health|hospital|patient)~(?:record|chart|file)?~?(?:number|no|num|id|identifier|#)|patientennummer|medical~record"
)
PLATE = _labels(
    r"(?:licen[cs]e|number|registration|vehicle|car|index|reg|tag)~plates?~?(?:number|no|#)?|plate~(?:number|no|#)"
    r"|(?:vehicle|car|van)~?reg(?:istration)?~?(?:number|no|mark|#)?|vrm\b|vrn\b|reg\.?~?(?:mark|plate)"
    r"|kfz~\w{0,12}|(?:auto)?kennzeichen|nummernschild|plaque~d'immatriculation|immatricul\w{2,8}|matr[íi]cula|placa\b|targa\b"
    r"|kenteken\w{0,7}",
    "车牌号 車牌號 车牌 車牌 ナンバープレート 번호판",
)
VEHICLE = _labels(r"cars?\b|vans?\b|vehicles?|truck|lorry|motorbike|driv(?:er|ing|es?)\b|parked|plates?\b")
VERSION = re.compile(r"(?i)(?:версі?[ияї]\w?|έκδοση|إصدار|גרסה|संस्करण|phiên bản|版本|バージョン|버전|เวอร์ชัน)[ :.]{0,3}$")
HAN, KANA, HANGUL = "\u4e00-\u9fff\u3400-\u4dbf", "\u3040-\u30ff", "\uac00-\ud7af\u3130-\u318f"


_SENTENCE_END = re.compile(r"[。！？।؟]|[^\W\d_]{4}[.!?]\s|\n\s*\n")
_CLAUSE_END = re.compile(r"[.。!！?？।؟;\n]")


_LONGEST_LABEL = 24


def stretches(spans: Sequence[Span], before: int, behind: int) -> list[Span]:
    """Return what lies around spans that are in order, as stretches that share nothing."""
    around: list[Span] = []
    for start, end in spans:
        first, last = max(start - before, 0), end + behind
        if around and first <= around[-1][1]:
            first, last = around[-1][0], max(around.pop()[1], last)
        around.append((first, last))
    return around


class AnnouncedSpans:
    """The positions of a label near numbers, computed once because a text can contain thousands of numbers."""

    def __init__(self, label: re.Pattern[str], text: str, numbers: Sequence[Span]) -> None:
        self._text = text
        near = stretches(numbers, WITHIN, BEHIND + _LONGEST_LABEL)
        spans = [match.span() for start, end in near for match in label.finditer(text, start, end)]
        self._starts, self._ends = [start for start, _ in spans], [end for _, end in spans]

    def is_near(self, start: int, end: int) -> bool:
        """Return whether a label precedes a number in its sentence or follows it closely."""
        before, behind = self.end_before(start), bisect_left(self._starts, end)
        if before is not None and not _SENTENCE_END.search(self._text, before, start):
            return True
        if behind == len(self._starts) or self._starts[behind] > end + BEHIND:
            return False
        return not _CLAUSE_END.search(self._text, end, self._starts[behind])

    def end_before(self, start: int, within: int = WITHIN) -> int | None:
        """Return where the last label before a place ends; None where none is as near as that."""
        last = bisect_right(self._ends, start) - 1
        return self._ends[last] if last >= 0 and self._ends[last] >= start - within else None
