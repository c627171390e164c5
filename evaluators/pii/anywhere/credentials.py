"""Secrets: tokens with the prefix of their provider, private keys, JSON web tokens, and what a label calls a password.

Prefixes and lengths are those that providers document:

* AWS: IAM User Guide, "IAM identifiers", unique ID prefixes
* GitHub: "About authentication to GitHub", token formats; GitLab: "Token overview", token prefixes
* Slack: "Tokens"; Stripe: "API keys"; npm: "About access tokens"; PyPI: "API tokens"
* Google: "Manage API keys"; OpenAI and Anthropic: the keys of their consoles
* private keys: RFC 7468; JSON web tokens: RFC 7519, whose header begins with `{"`, in base64 `eyJ`
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluators.base import Span
from evaluators.pii.plain_text import PlainText

# Lengths leave room: an underscore inside a token may be read as emphasis, which is left out.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"
    r"|AIza[A-Za-z0-9_-]{33,36}|GOCSPX-[A-Za-z0-9_-]{24,32}|ya29\.[A-Za-z0-9_-]{30,400}"
    r"|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255}"
    r"|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_.-]{18,255}"
    r"|xox[abeoprs]-(?=[A-Za-z-]{0,30}[0-9])[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{10,250}"
    r"|(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,255}"
    r"|sk-(?:proj|svcacct|admin|None|ant-[a-z0-9]{1,12}|or-v[0-9])-[A-Za-z0-9_-]{20,255}"
    r"|(?:npm|dckr_pat|hf|shp(?:at|ca|pa|ss))_[A-Za-z0-9_-]{27,64}|dop_v1_[0-9a-f]{64}|pypi-AgE[A-Za-z0-9_-]{32,255}"
    r"|SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,46}"
    r"|eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{4,4000}\.[A-Za-z0-9_-]{10,2000}"
    r")(?![A-Za-z0-9])"
    # Classes of style sheets begin like the older keys of OpenAI: a key has no hyphen, but digits.
    r"|(?<![A-Za-z0-9_-])sk-(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,64}(?![A-Za-z0-9-])"
)
# Most texts have none of these, and to look for them takes less time than the patterns.
_PREFIXES = (
    *(
        "AKIA",
        "ASIA",
        "ABIA",
        "ACCA",
        "AIza",
        "GOCSPX-",
        "ya29.",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_",
        "gl",
        "xox",
        "xapp-",
        "k_live_",
        "k_test_",
        "whsec_",
    ),
    *("sk-", "npm_", "dckr_", "hf_", "shp", "dop_", "pypi-", "SG.", "eyJ"),
)
_LABELS_OF_WORDS = (
    *("pass", "pwd", "pswd", "kennwort", "mot de", "contrase", "senha", "wachtwoord", "has", "şifre", "пароль"),
    *("密", "パスワード", "비밀번호"),
)
_LABELS_OF_KEYS = ("key", "token", "secret", "authorization", "bearer")
_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,20000}-----END (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----)?"
)

_SEPARATOR = r"[\"']? {0,3}(?::=|[:=])\s{0,3}"
_LABEL_OF_WORD = (
    r"(?:pass[ _-]?(?:words?|wd|phrases?|code)|(?<![a-z])p(?:wd|swd)|kennwort|passwort|mot de passe|contrase[nñ]a"
    r"|(?<![a-z])senha|wachtwoord|has[lł]o|şifre|пароль|密码|密碼|パスワード|비밀번호)"
)
_LABEL_OF_KEY = (
    r"(?:api[ _-]?(?:key|token|secret)|(?:secret|access|private|account|encryption|signing)[ _-]?(?:access[ _-]?)?key"
    r"|(?:access|auth|bearer|refresh|session|secret|personal access|deploy)[ _-]?token|client[ _-]?secret"
    r"|app[ _-]?secret)"
)
_VALUE = r"([\"'“]?)([^\s\"'“”<>]{4,64})"
_PASSWORD = re.compile(rf"(?i){_LABEL_OF_WORD}{_SEPARATOR}{_VALUE}")
_PASSWORD_IN_A_SENTENCE = re.compile(
    rf"(?i){_LABEL_OF_WORD}(?: (?:is|was|lautet|ist|est|es|é)[ :]{{1,3}}|[は는은是为為] ?){_VALUE}"
    r"(?=[\"'”.,;!?)]{0,3}(?:$|\s(?:and|but|or|for|please|thanks|to|on|if|so)\b|\n"
    r"|(?<=[.,;!?)\"'”])\s)|[\u3040-\ud7af。])"
)
_LABELLED_TOKEN = re.compile(
    rf"(?i)(?:{_LABEL_OF_KEY}(?:{_SEPARATOR}| is[ :]{{1,3}})|authorization{_SEPARATOR}(?:bearer|basic|token) "
    r"|\bbearer )"
    r"[\"']?([a-z0-9_+/=.~-]{16,512})"
)

# A name of a variable, a call, a placeholder or a mask stands for a password and is none.
_NO_PASSWORD = re.compile(
    r"(?i)[<{\[(*•]|\$[{(a-z_]|%[({a-z]|[a-z_][\w.]*[(\[]|(?:[a-z_]\w*\.)+[a-z_]\w*\W?$|(?:your|my|the|new|old|user)[_-]"
    r"|(.)\1{3,}\W?$|x{3,}|https?:|(?:sha|md5|base|bcrypt|argon|pbkdf|utf|rfc|iso|step|page|section)[ _-]?[0-9]+\b"
)
_PUNCTUATION = ".,;:!?)]}'\"”"
_COUNTED = re.compile(
    r"(?i)[ -]{1,2}(?:char|letter|digit|minute|day|hour|attempt|time|word|symbol|bit|month|hash|encr|or more)"
)
_PARTS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_NUMBERED = re.compile(r"[0-9]{1,3}(?:-[0-9]{1,3})?|(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]|[0-9]{1,2}:[0-9]{2}")
_MIN_PARTS, _MIN_DISTINCT = 2, 10
_SHORTEST, _SHORTEST_IN_WORDS = 4, 6


def secrets_in(reading: PlainText) -> Iterator[Span]:
    """Yield tokens, private keys and labelled passwords; of the latter the value alone."""
    text = reading.words
    for match in _TOKEN.finditer(text) if any(prefix in text for prefix in _PREFIXES) else ():
        # A placeholder repeats a letter: "ghp_xxxxxxxx".
        if len(set(match[0])) >= _MIN_DISTINCT:
            yield match.start(), match.start() + len(match[0].rstrip(".-_"))
    yield from (match.span() for match in _KEY.finditer(text))
    lowered = text.lower()
    if any(word in lowered for word in _LABELS_OF_WORDS):
        yield from _find_passwords(text)
    for match in _LABELLED_TOKEN.finditer(text) if any(word in lowered for word in _LABELS_OF_KEYS) else ():
        value = match[1].rstrip(".=")
        if _mixes_letters_and_digits(value) and not _NO_PASSWORD.match(value):
            yield match.start(1), match.start(1) + len(value)


def _find_passwords(text: str) -> Iterator[Span]:
    for pattern in (_PASSWORD, _PASSWORD_IN_A_SENTENCE):
        for match in pattern.finditer(text):
            value = match[2] if match[1] else match[2].rstrip(_PUNCTUATION)
            end = match.start(2) + len(value)
            if _is_password(value, is_quoted=bool(match[1])) and not _COUNTED.match(text, end):
                yield match.start(2), end


def _is_password(value: str, *, is_quoted: bool) -> bool:
    """Return whether a value has the mixture that words of a sentence do not: digits, signs or capitals inside."""
    if len(value) < _SHORTEST or _NO_PASSWORD.match(value) or _NUMBERED.fullmatch(value):
        return False
    if value.isalpha() or re.fullmatch(r"[^\W\d_]+(?:[-'\u2019/_.][^\W\d_]+)*", value):
        # "PassWord" and "aBcDeF" have capitals inside; "required", "Required" and "READ-ONLY" are words.
        return bool(re.search(r"[a-z][A-Z]", value)) and len(value) >= _SHORTEST_IN_WORDS and not is_quoted
    return len(_PARTS.findall(value)) >= _MIN_PARTS or value.isdigit()


def _mixes_letters_and_digits(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
