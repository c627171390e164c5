"""What the tests of personal data in any script share: numbers right beside letters, dressed up, or called by name."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

from evaluators.pii.entities import Entity

# What stands between braces is found, whole and alone.
SCRIPTS = {
    "Latin": [
        (Entity.CREDIT_CARD, "Die Kreditkartennummer lautet {4111111111111111}."),
        (Entity.EMAIL, "Écrivez à {jo@example.org}, s'il vous plaît"),
        (Entity.PHONE, "Meine Handynummer ist {0151 23456789}"),
        (Entity.PHONE, "Zadzwoń: nowy telefon {501 234 567}"),
    ],
    "Han": [
        (Entity.CREDIT_CARD, "我的信用卡号是{4111111111111111}，请查收"),
        (Entity.CREDIT_CARD, "银行卡{6222020000000000000}"),
        (Entity.EMAIL, "请发邮件到{jo@example.org}谢谢"),
        (Entity.PHONE, "手机号{13812345678}，请联系"),
        (Entity.PHONE, "我住在北京，{13912345678}是我的"),
        (Entity.PHONE, "座机{010-62345678}"),
        (Entity.NATIONAL_ID, "身份证号{11010519491231002X}"),
        (Entity.NATIONAL_ID, "他的号码是{11010519491231002X}吗"),
        (Entity.NATIONAL_ID, "护照号码：{EA1234567}"),
        (Entity.IP_ADDRESS, "服务器地址{203.0.113.9}已封"),
    ],
    "Kana": [
        (Entity.CREDIT_CARD, "カード番号{4111111111111111}です"),
        (Entity.EMAIL, "メールは{jo@example.org}です"),
        (Entity.PHONE, "電話番号は{03-3224-5000}です"),
        (Entity.PHONE, "携帯{09012345678}まで"),
        (Entity.PHONE, "これは{080-1234-5678}です"),
        (Entity.NATIONAL_ID, "マイナンバーは{1234 5678 9012}です"),
        (Entity.NATIONAL_ID, "運転免許証番号は{301234567890}です"),
        (Entity.IBAN, "口座は{DE89370400440532013000}です"),
    ],
    "Hangul": [
        (Entity.CREDIT_CARD, "카드번호는{4111-1111-1111-1111}입니다"),
        (Entity.EMAIL, "{jo@example.org}으로 보내 주세요"),
        (Entity.PHONE, "전화번호는 {02-312-3456}입니다"),
        (Entity.PHONE, "제 번호는 {01012345678}이에요"),
        (Entity.NATIONAL_ID, "주민등록번호 {900101-1234567}"),
        (Entity.NATIONAL_ID, "여권번호는 {MA1234567}입니다"),
    ],
    "Cyrillic": [
        (Entity.CREDIT_CARD, "номер карты:{4111 1111 1111 1111}"),
        (Entity.EMAIL, "почта {jo@example.org}, пишите"),
        (Entity.EMAIL, "пишите {иван@пример.рус} сегодня"),
        (Entity.PHONE, "Мой телефон {8 912 345 67 89}."),
        (Entity.PHONE, "тел. {123-45-67}"),
        (Entity.NATIONAL_ID, "паспорт {4510 123456}"),
    ],
    "Greek": [
        (Entity.CREDIT_CARD, "Η κάρτα μου είναι {4111111111111111}"),
        (Entity.PHONE, "Τηλέφωνο: {2101234567}"),
        (Entity.EMAIL, "στο{jo@example.org}"),
    ],
    "Arabic": [
        (Entity.CREDIT_CARD, "رقم البطاقة {4111111111111111}"),
        (Entity.CREDIT_CARD, "بطاقتي {٤١١١١١١١١١١١١١١١}"),
        (Entity.PHONE, "رقم الهاتف {0501234567}"),
        (Entity.EMAIL, "راسلني على {jo@example.org}"),
    ],
    "Hebrew": [
        (Entity.CREDIT_CARD, "כרטיס האשראי שלי {4111111111111111}"),
        (Entity.PHONE, "הטלפון שלי {052-123-4567}"),
        (Entity.EMAIL, "כתבו אל {jo@example.org}"),
    ],
    "Devanagari": [
        (Entity.CREDIT_CARD, "मेरा कार्ड नंबर {4111111111111111} है"),
        (Entity.CREDIT_CARD, "कार्ड {४१११ ११११ ११११ ११११} है"),
        (Entity.PHONE, "मेरा मोबाइल {9876543210} है"),
        (Entity.NATIONAL_ID, "आधार {2345 6789 0123}"),
    ],
    "Thai": [
        (Entity.CREDIT_CARD, "บัตรเครดิต{4111111111111111}ค่ะ"),
        (Entity.PHONE, "โทร{0812345678}ค่ะ"),
        (Entity.EMAIL, "อีเมล{jo@example.org}ครับ"),
    ],
}

DRESSED = [
    (Entity.US_SSN, "**{536-90-4399}**"),
    (Entity.US_SSN, "**SSN:** `{536-90-4399}`"),
    (Entity.US_SSN, "_{536-90-4399}_"),
    (Entity.US_SSN, "{536\u201190\u20114399}"),
    (Entity.EMAIL, "__{jo@example.org}__"),
    (Entity.EMAIL, "*{jo@example.org}*"),
    (Entity.EMAIL, "“{jo@example.org}”"),
    (Entity.EMAIL, "{jo\u200b@exam\u200bple.org}"),
    (Entity.EMAIL, "{jo_b@example.org}"),
    (Entity.EMAIL, "{jo [at] example [dot] org}"),
    (Entity.EMAIL, "{jo(at)example.org}"),
    (Entity.EMAIL, "<b>{jo@example.org}</b>"),
    (Entity.CREDIT_CARD, "{4111\u200b1111\u200b1111\u200b1111}"),
    (Entity.CREDIT_CARD, "{4111\u00ad1111\ufeff1111\u20601111}"),
    (Entity.CREDIT_CARD, "{𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏}"),
    (Entity.CREDIT_CARD, "{4111 **1111** 1111 1111}"),
    (Entity.CREDIT_CARD, "| card | {4111 1111 1111 1111} |"),
    (Entity.CREDIT_CARD, "my card: {4111.1111.1111.1111}"),
    (Entity.CREDIT_CARD, "card\t{411111 1111111111}"),
    (Entity.CREDIT_CARD, '"credit_card_number": "{4111111111111111}"'),
    (Entity.PHONE, '"phone_number": "{2125550187}"'),
    (Entity.PHONE, '"phoneNumber": "{2125550187}"'),
    (Entity.PHONE, "**{212-555-0187}**"),
    (Entity.PHONE, "call {2\ufe0f\u20e31\ufe0f\u20e32\ufe0f\u20e35\ufe0f\u20e355-0187}"),
    (Entity.US_SSN, '"ssn": "{536904399}"'),
]

# A word beside the number says what it is, though no issuer gives such numbers out.
NAMED = [
    (Entity.US_SSN, "her ssn is {123-45-6789}"),
    (Entity.US_SSN, "SSN: {078-05-1120}"),
    (Entity.US_SSN, "My social security number is {987654321}."),
    (Entity.US_SSN, "social security no. {666-12-3456}"),
    (Entity.US_SSN, "ITIN {912-70-1234}"),
    (Entity.CREDIT_CARD, "Charge my card {9999999999999995}"),
    (Entity.CREDIT_CARD, "pay with {0604123412341232}"),
    (Entity.CREDIT_CARD, "my credit card number is {1234567812345670}, exp 12/27"),
    (Entity.CREDIT_CARD, "card number {4222222222222}"),
]

SHAPED = [
    (Entity.CREDIT_CARD, "I have lost {3502162941615515}."),
    (Entity.CREDIT_CARD, "It is {3590-7300-9343-7731}"),
    (Entity.CREDIT_CARD, "see {1234 5678 1234 5670}"),
]

NOT_IN_ANY_SCRIPT = [
    "serial 1234 5678 1234 5670",
    "see 1234 5678 1234 5671",
    "see 1234567812345670",
    "カードは16桁です",
    "订单号13812345678已发货",
    "订单号 4111111111111112",
    "価格は1,000,000円です",
    "2026年11月23日に届きます",
    "版本1.2.3.4",
    "バージョン192.168.1.1",
    "전화는 2024-10-12에 했습니다",
    "パスポートの有効期限は2026年11月23日です",
    "護照有效期 20301231",
    "Тел-Авив 1909",
    "В 1999-2004 годах",
    "अध्याय 12 34 56",
    "ปี 2569",
    "ราคา 1500000 บาท",
    "ssn is 000-00-0000",
    "her ssn is ***-**-6789",
    "the code 123-45-6789",
    "tracking number 1234567812345670, paid by card",
    "Charge the device with IMEI 490154203237518",
    "invoice 1234567812345670 was paid",
    "12 * 12 * 12 * 12",
    "`first_name_2` and __init__ and 2**10",
    "meet me at example dot com",
    "110105194912310020",
    "991301-1234567",
    "His identity card expired on 2024-10-12.",
    "national id numbers have 9 digits",
]

# Found by who looks for addresses; what stands between braces is part of what is found.
PLACES = [
    "Ship to {12 Main Street, Apt 4B}, please",
    "{350 Fifth Avenue #2100}",
    "{12 High St., Flat 3}",
    "{500 Oak Ave Suite 210}",
    "She lives in {Unit 4B}.",
    "Send it to {Suite 210}",
    "12 Oak\n{Unit 7}\nElsewhere",
    "My ZIP is {90210}",
    "postcode: {SW1A 1AA}",
    "Postal code {K1A 0B1}",
    "PLZ {10115}",
    "code postal : {75008}",
    "CEP {01310-100}",
    "郵便番号は{100-0001}です",
    "{〒100-0001}".replace("{〒", "〒{"),
    "邮编{100020}",
    "우편번호 {04524}",
    "почтовый индекс {101000}",
    "{Toronto, ON M5V 3L9}",
    "{Sydney NSW 2000}",
    "MG Road, {Bengaluru - 560001}",
    "г. Москва, {ул. Ленина, д. 5}",
    "{Atatürk Caddesi No: 12}, Ankara",
    "{北京市朝阳区建国路88号}",
    "住所は{東京都千代田区丸の内1丁目9番}です",
    "{서울특별시 강남구 테헤란로 123}",
]

NO_PLACES = [
    "Unit 5 of the textbook",
    "the last one #3 can be dropped",
    "from #44 to #1 since he is",
    "Suite 200 songs",
    "The zip file has 12345 entries.",
    "a zip code has 5 digits",
    "Ontario has 14 million people",
    "In Sydney 2000 athletes met",
    "В 1999 году на улице было тепло",
    "2026年に東京市場1位",
    "서울시 3위",
    "The post code is wrong",
]
