"""Sentences with and without structured personal data, in thirteen languages: numbers are drawn, sentences are fixed.

No public set has such data in these scripts. The sentences were written apart from the tests' and from the rules. So were
those around names of people by origin, whose names are the half of `training/origins.py` that no head was trained on.
"""

# Look-alike characters are what stands here.
# ruff: noqa: RUF001

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

from evaluators.pii.numbers import is_luhn
from training.origins import HELD_OUT, NO_NAMES, ORIGINS, fill_frame, select_side

CARD, PHONE, EMAIL = "card", "phone", "email"

# A region for its telephones, then a sentence for each kind, then sentences around harmless numbers.
LANGUAGES: dict[str, tuple[str, str, str, str, tuple[str, ...]]] = {
    "English": ("US", "The card on file is {}.", "You can reach her on {}", "We wrote to {} twice.",
                ("Order {} left the warehouse.", "The reading was {} at noon.")),
    "German": ("DE", "Bitte belasten Sie meine Karte {}.", "Meine Telefonnummer lautet {}", "Schreib an {}, bitte.",
               ("Die Bestellung {} ist unterwegs.", "Der Zähler steht bei {}.")),
    "French": ("FR", "Le paiement par carte {} a échoué.", "Mon téléphone est le {}", "Son adresse est {}, je crois.",
               ("La commande {} est partie.", "Le compteur indique {}.")),
    "Spanish": ("ES", "Mi tarjeta es la {}.", "Llámame al {}", "Escribe a {} hoy.",
                ("El pedido {} ya salió.", "El contador marca {}.")),
    "Chinese": ("CN", "请从我的银行卡{}扣款。", "打我手机{}就行", "发到{}就可以了",
                ("订单{}已经发货。", "读数是{}左右。")),
    "Japanese": ("JP", "クレジットカード{}でお願いします。", "携帯は{}です", "{}宛に送ってください",
                 ("注文{}は発送済みです。", "数値は{}でした。")),
    "Korean": ("KR", "제 카드는 {}입니다.", "휴대폰 {}으로 주세요", "{}로 보내 주세요",
               ("주문 {}이 발송되었습니다.", "수치는 {}였습니다.")),
    "Russian": ("RU", "Спишите с карты {}.", "Звоните по телефону {}", "Пишите на {} сегодня.",
                ("Заказ {} отправлен.", "Показание было {}.")),
    "Greek": ("GR", "Χρεώστε την κάρτα {}.", "Το κινητό μου είναι {}", "Γράψε στο {} σήμερα.",
              ("Η παραγγελία {} έφυγε.", "Η ένδειξη ήταν {}.")),
    "Arabic": ("SA", "رقم بطاقتي {}", "جوالي {}", "اكتب إلى {} اليوم", ("الطلب {} في الطريق", "القراءة {} الآن")),
    "Hebrew": ("IL", "תחייב את הכרטיס {}", "הנייד שלי {}", "תכתוב אל {} היום", ("ההזמנה {} נשלחה", "הקריאה {} עכשיו")),
    "Hindi": ("IN", "मेरा कार्ड {} है", "मेरा फ़ोन {} है", "{} पर लिखें", ("ऑर्डर {} भेजा गया", "रीडिंग {} थी")),
    "Thai": ("TH", "ตัดบัตรเครดิต{}ได้เลย", "มือถือ{}นะ", "ส่งมาที่{}ได้", ("คำสั่งซื้อ{}ส่งแล้ว", "ค่าคือ{}พอดี")),
}  # fmt: skip
NAMES_OF_ORIGIN = 30
"""Names of an origin that are drawn for each sentence."""
NAMED = (
    "{full} told the committee that the plan was too expensive.",
    "Please forward the contract to {full} before Friday.",
    "The claim of {full}, a retired driver, was paid out in full.",
    "According to our records, the policy is held by {full}.",
    "Kind regards,\n\n{full}\nCustomer Care",
    "Attendees: {full}, two auditors and the chair.",
    "I'm {full}, and my card was declined this morning.",
    "Mr {family} has asked for a copy of the invoice.",
    "Yes, {given} picked up the parcel yesterday evening.",
    "You can reach out to {given}, who knows the customer best.",
)
NAMELESS = {
    "place": (
        "We opened a second warehouse in {} last year.",
        "The weather in {} was mild.",
        "Ships leave {} twice a week.",
    ),
    "dish": ("Guests liked the {} most of all.", "{} can be eaten cold.", "The menu has {} on Thursdays."),
    "firm": (
        "{} cut its forecast for the year.",
        "He used to work for {} as an engineer.",
        "The patent is owned by {}.",
    ),
    "language": ("Subtitles in {} are available.", "{} is taught in many schools.", "My {} is not very good."),
    "feast": ("The bank is closed on {}.", "Tickets sell out before {}.", "{} is a public holiday here."),
    "thing": (
        "The {} report is due tomorrow.",
        "Click {} to go on.",
        "Restart {} and try again.",
        "{} was updated yesterday.",
    ),
}
DRESSES = ("{}", "**{}**", "`{}`", "“{}”", "({})", "_{}_")


def drawn(n_of_each: int, seed: int = 0) -> Iterator[tuple[str, str, bool]]:
    """Yield language, sentence and whether it holds personal data, as many with as without."""
    rng = random.Random(seed)
    for language, (region, *sentences, harmless) in LANGUAGES.items():
        for _ in range(n_of_each):
            for sentence, value in zip(sentences, (_card(rng), _phone(rng, region), _email(rng)), strict=True):
                yield language, sentence.format(_dressed(rng, value)), True
                yield language, rng.choice(harmless).format(_dressed(rng, _other(rng))), False


def named_by_origin(seed: int = 0) -> dict[str, list[str]]:
    """Each origin with sentences that name somebody: ten sentences, each with thirty names; none was trained on."""
    rng = random.Random(seed)
    return {
        label: [fill_frame(frame, origin, HELD_OUT, rng)[0] for _ in range(NAMES_OF_ORIGIN) for frame in NAMED]
        for label, origin in ORIGINS.items()
    }


def nameless_words(seed: int = 0) -> list[str]:
    """Sentences with foreign words that are no names, in a random order."""
    words = [(kind, word) for kind, listed in NO_NAMES.items() for word in select_side(listed, HELD_OUT)]
    sentences = [frame.format(word) for kind, word in words for frame in NAMELESS[kind]]
    return random.Random(seed).sample(sentences, len(sentences))


def wilson(hits: int, n: int) -> tuple[float, float, float]:
    """Return a share and its 95 % interval."""
    if not n:
        return 0.0, 0.0, 1.0
    z, share = 1.959964, hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return round(share, 4), round(max(middle - half, 0.0), 4), round(min(middle + half, 1.0), 4)


def measured(finds: Callable[[str], Sequence[object]], rows: Sequence[tuple[str, bool]]) -> dict[str, object]:
    """Return F1, recall and the share of harmless texts that fail, the latter two with intervals."""
    found = [(holds, bool(finds(text))) for text, holds in rows]
    hits, n_holding = found.count((True, True)), sum(holds for holds, _ in found)
    alarms = found.count((False, True))
    f1 = 2 * hits / max(2 * hits + alarms + n_holding - hits, 1)
    return {
        "n": len(found), "f1": round(f1, 4), "recall": wilson(hits, n_holding),
        "false_alarms": wilson(alarms, len(found) - n_holding),
    }  # fmt: skip


def _dressed(rng: random.Random, value: str) -> str:
    return rng.choice(DRESSES).format(value) if rng.random() < 0.3 else value


def _digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choices("0123456789", k=n))


def _card(rng: random.Random) -> str:
    number = rng.choice(("4", "51", "55", "2223", "6011", "35", "9", "1")) + _digits(rng, 15)
    number = next(made for last in "0123456789" if is_luhn(made := number[:15] + last))
    parts = [number[start : start + 4] for start in range(0, 16, 4)]
    return rng.choice(("", " ", "-")).join(parts)


def _phone(rng: random.Random, region: str) -> str:
    import phonenumbers

    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    assert example is not None
    number = phonenumbers.PhoneNumber(
        country_code=example.country_code,
        national_number=int(str(example.national_number)[:-4] + str(rng.randint(1000, 9999))),
    )
    forms = (phonenumbers.PhoneNumberFormat.NATIONAL, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return phonenumbers.format_number(number, rng.choice(forms))


def _email(rng: random.Random) -> str:
    name = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9)))
    return (
        f"{name}{rng.choice(('', '.x', '_y', '7'))}@{rng.choice(('example.org', 'mail.example.com', 'example.co.uk'))}"
    )


def _other(rng: random.Random) -> str:
    makers = (
        lambda: _digits(rng, rng.choice((5, 8, 10, 13, 16))),
        lambda: f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        lambda: f"{rng.randint(1, 999)},{rng.randint(0, 999):03}.{rng.randint(0, 99):02}",
        lambda: f"{rng.randint(1, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 20)}",
        lambda: f"{rng.randint(1, 99)}%",
    )
    return rng.choice(makers)()
