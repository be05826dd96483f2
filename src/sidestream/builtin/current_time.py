"""`current_time`: date, time, weekday, week and offset, here or in any zone.

Promises: any IANA zone, common city names, abbreviations and offsets (`UTC+2`); an unknown place is a
`ZoneError` that names near matches. It reads the machine's clock and its time-zone table, nothing else.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from sidestream.tools.tool import tool

__all__ = ["ZoneError", "current_time", "find_zone"]

_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-−])\s*(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_LOCAL = {"", "local", "here", "local time", "now", "my time", "today"}

# What the zone table has no name for: zone → places, abbreviations.
_PLACES: dict[str, str] = {
    "UTC": "utc, gmt, z, zulu, greenwich",
    "America/New_York": "new york city, nyc, boston, washington, washington dc, miami, atlanta, philadelphia,"
    " est, edt, et, eastern, eastern time",
    "America/Chicago": "dallas, houston, austin, texas, minneapolis, cst, cdt, ct, central time",
    "America/Denver": "salt lake city, mst, mdt, mt, mountain time",
    "America/Los_Angeles": "san francisco, la, sf, seattle, san diego, las vegas, portland, california,"
    " silicon valley,"
    " pst, pdt, pt, pacific time",
    "America/Toronto": "ottawa, montreal",
    "America/Sao_Paulo": "brazil, brasilia, rio, rio de janeiro",
    "America/Argentina/Buenos_Aires": "argentina",
    "Europe/London": "uk, england, scotland, manchester, edinburgh, britain, bst",
    "Europe/Paris": "france, lyon, cet, cest",
    "Europe/Berlin": "germany, munich, hamburg, frankfurt, cologne",
    "Europe/Zurich": "switzerland, geneva, bern, basel",
    "Europe/Madrid": "spain, barcelona",
    "Europe/Rome": "italy, milan, naples",
    "Europe/Amsterdam": "netherlands, holland, the hague",
    "Europe/Vienna": "austria",
    "Europe/Lisbon": "portugal",
    "Europe/Warsaw": "poland, krakow",
    "Europe/Athens": "greece, eet, eest",
    "Europe/Stockholm": "sweden",
    "Europe/Oslo": "norway",
    "Europe/Copenhagen": "denmark",
    "Europe/Helsinki": "finland",
    "Europe/Dublin": "ireland",
    "Europe/Brussels": "belgium",
    "Europe/Prague": "czechia, czech republic",
    "Europe/Budapest": "hungary",
    "Europe/Kyiv": "ukraine, kiev",
    "Europe/Moscow": "russia, st petersburg, saint petersburg, msk",
    "Asia/Tokyo": "japan, osaka, kyoto, jst",
    "Asia/Shanghai": "china, beijing, shenzhen, guangzhou",
    "Asia/Kolkata": "india, delhi, new delhi, mumbai, bangalore, bengaluru, chennai, hyderabad, ist, calcutta",
    "Asia/Seoul": "korea, south korea, kst",
    "Asia/Dubai": "uae, abu dhabi",
    "Asia/Jakarta": "indonesia",
    "Asia/Manila": "philippines",
    "Asia/Bangkok": "thailand",
    "Asia/Ho_Chi_Minh": "vietnam, hanoi, saigon",
    "Asia/Karachi": "pakistan, islamabad, lahore",
    "Asia/Riyadh": "saudi arabia",
    "Asia/Jerusalem": "israel",
    "Asia/Tehran": "iran",
    "Asia/Kathmandu": "nepal",
    "Australia/Sydney": "canberra, aest, aedt",
    "Pacific/Auckland": "new zealand, wellington, nzst, nzdt",
    "Pacific/Honolulu": "hawaii",
    "Africa/Johannesburg": "south africa, cape town",
    "Africa/Cairo": "egypt",
    "Africa/Lagos": "nigeria",
    "Africa/Nairobi": "kenya",
}


class ZoneError(ValueError):
    """No such zone; the message names near matches."""


def _folded(name: str) -> str:
    """Without case, accents, underscores and full stops: `São Paulo` is `sao paulo`."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    return " ".join(plain.casefold().replace("_", " ").replace(".", "").split())


@cache
def _zones() -> dict[str, str]:
    """Every name a zone is known by, folded → its IANA name."""
    found: dict[str, str] = {}
    listed = sorted(zone for zone in available_timezones() if not zone.startswith(("posix/", "right/")))
    for zone in listed:
        found[_folded(zone)] = zone
    for zone in listed:
        if "/" in zone and not zone.startswith("Etc/"):
            found.setdefault(_folded(zone.rsplit("/", 1)[1]), zone)
    for zone, places in _PLACES.items():
        for place in places.split(","):
            found[place.strip()] = zone
    return found


def find_zone(name: str) -> tuple[tzinfo, str]:
    """The zone called `name` and what to call it. Raises ZoneError."""
    folded = _folded(name)[:80]
    zones = _zones()
    place = folded.split(",")[0].strip()
    for candidate in (folded, place, place.removesuffix(" time").strip(), place.removeprefix("the ").strip()):
        if candidate in zones:
            return ZoneInfo(zones[candidate]), zones[candidate]
    if match := _OFFSET.fullmatch(folded):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes > 14 * 60:
            raise ZoneError(f"an offset is at most 14 hours, got {name!r}")
        offset = timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes))
        return offset, str(offset)
    near = [zones[key] for key in difflib.get_close_matches(place, zones, n=4, cutoff=0.6)]
    hint = f"near matches: {', '.join(dict.fromkeys(near))}" if near else "give an IANA zone such as Europe/Paris"
    raise ZoneError(f"unknown time zone {name[:60]!r}; {hint}")


EXAMPLES = (
    "What's the time right now?",
    "Do you know what time it is?",
    "What is the date today?",
    "What day is it?",
    "Is it Monday or Tuesday today?",
    "What's the time in London?",
    "What is the local time in New York?",
    "How late is it in Sydney now?",
    "Which week of the year is this?",
    "What month is it at the moment?",
    "Which year is it now?",
    "Give me the clock time please",
    "time zone of Berlin, current hour",
    "today's weekday",
    "the date and time please",
    "Is it past noon in Lima or still morning?",
    "What is the UTC offset of Cairo?",
)


@tool(read_only=True, idempotent=True, repeatable=True, examples=EXAMPLES)
def current_time(zone: str = "") -> str:
    """Tell the current time, date, weekday, week and year, here or in any city or time zone.

    Args:
        zone: A city or IANA time zone, such as Tokyo or Europe/Paris. Leave it out for the local time.
    """
    if _folded(zone) in _LOCAL:
        now, place = datetime.now().astimezone(), "local time"
    else:
        found, place = find_zone(zone)
        now = datetime.now(found)
    offset = now.strftime("%z")
    return (
        f"{now:%A}, {now.day} {now:%B %Y}, {now:%H:%M:%S} ({place}, UTC{offset[:3]}:{offset[3:5]},"
        f" week {now.isocalendar().week})"
    )
