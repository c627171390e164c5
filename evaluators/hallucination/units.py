"""Units as they are written, each with what it measures and how much of that it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `kind` is what it measures, `size` how many of the kind's first unit it is."""

    name: str
    kind: str
    size: Decimal


# Each line: the kind, then units with their size in the first one, and the ways to write each.
_TABLE = """
length | m 1 metre meter | mm .001 millimetre millimeter | cm .01 centimetre centimeter | km 1000 kilometre kilometer \
kms | inch .0254 | foot .3048 feet ft | yard .9144 yd | mile 1609.344 mi | nautical-mile 1852 nmi
mass | g 1 gram gramme | mg .001 milligram | kg 1000 kilogram kilo kgs | tonne 1000000 ton | lb 453.59237 lbs \
| ounce 28.349523125 oz
time | s 1 second sec secs | ms .001 millisecond | minute 60 min mins | hour 3600 hr hrs h | day 86400 | week 604800 | \
fortnight 1209600
months | month 1 mo | year 12 yr yrs | decade 120 | century 1200 centuries
volume | l 1 litre liter | ml .001 millilitre milliliter | gallon 3.785411784 | pint .473176473
area | m2 1 square-metre square-meter sqm | km2 1000000 square-kilometre square-kilometer sqkm | hectare 10000 ha | \
acre 4046.8564224 | square-mile 2589988.110336 | square-foot .09290304 square-feet
speed | km/h 1 kmh kph | mph 1.609344 | knot 1.852 | m/s 3.6
data | byte 1 | kb 1000 kilobyte | mb 1000000 megabyte | gb 1000000000 gigabyte | tb 1000000000000 terabyte
power | w 1 watt | kw 1000 kilowatt | mw 1000000 megawatt | gw 1000000000 gigawatt
energy | kwh 1 | mwh 1000 | gwh 1000000
celsius | c 1 celsius degree-celsius
fahrenheit | f 1 fahrenheit degree-fahrenheit
share | percent 1 % | percentage-point 1
dollar | dollar 1 $ usd us$ | cent .01
euro | euro 1 \u20ac eur
sterling | pound 1 \u00a3 gbp
yen | yen 1 \u00a5 jpy
rupee | rupee 1 \u20b9 inr
franc | franc 1 chf
"""


def _units() -> dict[str, Unit]:
    units_by_name: dict[str, Unit] = {}
    for line in _TABLE.strip().split("\n"):
        kind, *units = (part.strip() for part in line.split("|"))
        for name, size, *spellings in map(str.split, units):
            unit = Unit(name.replace("-", " "), kind, Decimal(size))
            for spelling in (name, *spellings):
                units_by_name[spelling.replace("-", " ")] = unit
                units_by_name.setdefault(_plural(spelling.replace("-", " ")), unit)
    return units_by_name


def _plural(spelling: str) -> str:
    return spelling + ("es" if spelling.endswith("ch") else "s")


UNITS = _units()
_BY_LENGTH = sorted((name for name in UNITS if name[0].isalpha()), key=len, reverse=True)
UNIT_AFTER = re.compile(
    rf"[\s-]{{0,2}}(?:(?P<sign>%|\u20ac|\u00b0\s?[CF]\b)|(?P<name>{'|'.join(map(re.escape, _BY_LENGTH))})(?![\w/]))",
    re.IGNORECASE,
)
"""A unit right behind a number."""
# A single letter after a number is a unit only if it follows directly: "5 s" and "5 m" are read, "5 A" is not.
_WRITTEN_SMALL = frozenset("mgslhw")


def unit_after(text: str, place: int) -> tuple[Unit | None, int]:
    """Return the unit at a position after a number and the end of that unit, or None and the position itself."""
    match = UNIT_AFTER.match(text, place, min(len(text), place + 24))
    if match is None:
        return None, place
    symbol = (match["sign"] or match["name"]).replace("\u00b0", "").strip()
    if len(symbol) == 1 and symbol.isalpha() and match["name"] and symbol not in _WRITTEN_SMALL:
        return None, place
    return UNITS[symbol.lower()], match.end()
