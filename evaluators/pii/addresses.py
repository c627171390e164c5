"""Postal addresses: house numbers with a word for a street, PO boxes, postcodes after a place, and labelled addresses.

Every pattern repeats a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluators.base import Span

_NAME = (
    r"(?:[^\W\d_a-z][\w'\u2019.-]{0,24}|[0-9]{1,3}(?:st|nd|rd|th)"
    r"|of|de|der|den|van|von|the|la|le|du|des|do|da|dos|das|del|della|di)"
)
_HOUSE = r"(?<![\w.,$€£#/:-])[0-9]{1,5}[A-Za-z]?(?:[ -/][0-9]{1,5}[A-Za-z]?)?,? "
_NUMBER = r"[0-9]{1,5}[A-Za-z]?(?![\w%]|[.,:/-][0-9])"
_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR"
    "|PA|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|DC|PR"
)

_BEFORE_STREET = re.compile(
    _HOUSE + rf"(?:{_NAME} ){{1,4}}?"
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Boulevard|Blvd|Crescent|Parkway|Pkwy|Highway|Hwy|Terrace|Grove|Gardens|Mews"
    r"|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Way|Close|Circle|Cir|Trail|Row|Walk|Alley|út|utca|[Ss]treet|[Rr]oad)\b\.?"
)
_LEADING = re.compile(
    _HOUSE + r"(?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Bb]d|[Aa]llée|[Pp]lace|[Ii]mpasse|[Cc]hemin|[Qq]uai|[Rr]oute|[Cc]ours)"
    rf"(?: (?:de|du|des|la|le|les|l['\u2019]|d['\u2019]))*(?: ?{_NAME}){{1,4}}"
)
_TRAILING = re.compile(
    r"(?<!\w)(?:Calle|C/|Avenida|Avda\.?|Av\.|Paseo|Plaza|Via|Viale|Corso|Piazza|Rua|Travessa|Praça|Carrer|Ulica|ul\.|Strada)"
    rf"(?: {_NAME}){{1,5}},? (?:n[º°.] ?)?{_NUMBER}"
)
_COMPOUND = re.compile(
    r"(?<![\w-])(?:[^\W\d_]{3,24}(?:str(?:a(?:ss|ß|s)e|\.)|stasse|gasse|weg|allee|alléen|platz|straat|laan|plein|dijk|gracht"
    r"|vägen|gatan|gata|vegen|veien|vägen|vej|(?<!bri)(?<!ene)gade|bakken|katu|vangen|gränd)"
    r"|[^\W\d_a-z][^\W\d_]{2,24} (?:Strasse|Straße|Stra(?:ss|ß)e|Weg|Allee|Platz|Gasse|Straat|utca|út)) " + _NUMBER
)
_BOX = re.compile(
    r"(?i)\bp\. ?o\. ?box [0-9]{1,6}\b|\bpo box [0-9]{1,6}\b|\b(?:psc|unit) [0-9]{1,5},? box [0-9]{1,5}\b"
    r"|\b[fad]po a[aep] [0-9]{5}\b"
)
_FLAT = re.compile(r"(?i)\b(?:apt|apartment)\.? #?[0-9]{1,4}[a-z]?\b|(?<=[,\n0-9] )suite [0-9]{2,4}\b")
_POSTCODE = re.compile(
    rf"[^\W\d_a-z][^\W\d_]{{2,24}},? (?:(?:{_STATES}) [0-9]{{5}}(?:-[0-9]{{4}})?"
    r"|(?:GIR 0AA|[A-PR-UWYZ][A-HK-Y]?[0-9][0-9A-Z]? [0-9][ABD-HJLNP-UW-Z]{2}))(?![\w-])"
)
_STREET_IN_ANY_CASE = r"(?:[^\W\d_]{2,24} ){1,3}(?i:street|road|avenue|lane|drive|st|rd|ave)\b"
_ANNOUNCED = re.compile(
    r"(?i:\baddress(?:es)?\b[^.?!\n]{0,30}?(?: is| to|:| at| with| are:?)|\blives? at|\blocated at|\barrived at"
    r"|\b(?:sent|return|taxi|delivered|shipped|office is|meet me) (?:to|at))\s{1,8}"
    rf"((?:{_NUMBER} )?(?:{_NAME} ){{1,4}}{_NUMBER}|{_NUMBER} (?:[0-9]{{1,5}} )?(?:{_NAME}|{_STREET_IN_ANY_CASE}))"
    r"|(?i:\b(?:zip|postal) ?code(?: is|:)? )([0-9]{5}(?:-[0-9]{4})?)(?![\w-])"
)
_CORNER = re.compile(
    r"(?i)\bcorner of [^.?!\n]{2,40} and [^.?!,\n]{2,30}?(?:[0-9]{1,4}\b|\b(?:street|st|road|rd|avenue|ave)\b)"
)
_PATTERNS = (_BEFORE_STREET, _LEADING, _TRAILING, _COMPOUND, _BOX, _FLAT, _POSTCODE, _CORNER)

# "In 1929 Wall Street fell", "nine of 9 Supreme Court judges", "a 3 Way Street".
_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}s?,? ")
_NO_HOUSE = re.compile(
    r"(?:Supreme|High|District|County|Circuit|Federal|Appeals?|Tennis|Hard|USB|Flash|Disk|First|Second|Third|Milky|Top"
    r"|Best|One|Two|Three|Four|Half|Long|Only|All) (?:Court|Drive|Place|Way|Row|Walk|Close)\b"
)
_NO_STREET = re.compile(
    r"(?i)(?:.* )?(?:gate|terminal|room|table|platform|track|hall|booth|level|exit|pier|page|step|line|version|chapter"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|about|around) ?\d.*"
)


def find_addresses(text: str) -> Iterator[Span]:
    """Yield postal addresses, or the part of one that shows it; spans may overlap."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if not _YEAR.match(match[0]) and not _NO_HOUSE.search(match[0]):
                yield match.span()
    for match in _ANNOUNCED.finditer(text):
        if not _NO_STREET.fullmatch(match[match.lastindex or 0]):
            yield match.span(match.lastindex or 0)
