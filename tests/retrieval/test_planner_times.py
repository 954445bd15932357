"""Time words become windows, resolved against a given now in UTC."""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.support.calls import scalar, value
from tests.support.reuse import emptied

# A Wednesday.
NOW = "2026-03-04T10:30:00Z"


@pytest.fixture(scope="module")
def db(module_dsn: str) -> Iterator[psycopg.Connection]:
    """An empty store: no window needs memory."""
    with emptied(module_dsn) as conn:
        yield conn


def window(conn: psycopg.Connection, text: str, now: str = NOW) -> tuple[str, str, str] | None:
    """After, before and label of the plan of a text, midnights without their hour."""
    made = value(conn, "plan_retrieval", text=f"dinner {text}", now=now)
    found = made["temporal"]
    if found is None:
        return None
    return (
        *((found[edge] or "").replace("T00:00:00Z", "") for edge in ("after", "before")),
        found["label"],
    )  # type: ignore[return-value]


WINDOWS = {
    # Days.
    "yesterday": "2026-03-03 2026-03-04", "today": "2026-03-04 2026-03-05",
    "tomorrow": "2026-03-05 2026-03-06", "yesterday evening": "2026-03-03 2026-03-04",
    "tonight": "2026-03-04 2026-03-05T06:00:00Z", "this morning": "2026-03-04 2026-03-05",
    "last night": "2026-03-03 2026-03-04T12:00:00Z",
    "the day before yesterday": "2026-03-02 2026-03-03",
    "the day after tomorrow": "2026-03-06 2026-03-07", "tomorrow night": "2026-03-05 2026-03-06",
    "the other day": "2026-02-18 2026-03-05", "the other night": "2026-02-18 2026-03-05",
    "recently": "2026-02-02 2026-03-05", "lately": "2026-02-02 2026-03-05",
    # So far away.
    "2 days ago": "2026-03-02 2026-03-03", "a day ago": "2026-03-03 2026-03-04",
    "three weeks ago": "2026-02-09 2026-02-16", "a month ago": "2026-02-01 2026-03-01",
    "twelve months ago": "2025-03-01 2025-04-01",
    "an hour ago": "2026-03-04T09:00:00Z 2026-03-04T10:00:00Z",
    "30 minutes ago": "2026-03-04T10:00:00Z 2026-03-04T10:01:00Z",
    "a year ago": "2025-01-01 2026-01-01",
    "a fortnight ago": "2026-02-16 2026-02-23", "two weeks back": "2026-02-16 2026-02-23",
    "a couple of days ago": "2026-03-02 2026-03-03", "a few days ago": "2026-02-27 2026-03-03",
    "several months ago": "2025-10-01 2026-02-01", "9999 days ago": "1998-10-18 1998-10-19",
    "in 3 days": "2026-03-07 2026-03-08", "in a week": "2026-03-09 2026-03-16",
    "in two weeks time": "2026-03-16 2026-03-23", "in one month": "2026-04-01 2026-05-01",
    "5 days from now": "2026-03-09 2026-03-10",
    "in 2 hours": "2026-03-04T12:00:00Z 2026-03-04T13:00:00Z",
    # Up to now, from now on.
    "in the last 3 days": "2026-03-01 2026-03-05",
    "over the past two weeks": "2026-02-18 2026-03-05",
    "the past week": "2026-02-25 2026-03-05", "the past month": "2026-02-04 2026-03-05",
    "the previous 2 hours": "2026-03-04T08:30:00Z 2026-03-04T10:30:00Z",
    "the next 10 days": "2026-03-04 2026-03-15", "in the coming 2 months": "2026-03-04 2026-05-05",
    # Calendar.
    "last week": "2026-02-23 2026-03-02", "this week": "2026-03-02 2026-03-09",
    "next week": "2026-03-09 2026-03-16", "last weekend": "2026-02-28 2026-03-02",
    "this weekend": "2026-03-07 2026-03-09", "next weekend": "2026-03-14 2026-03-16",
    "last month": "2026-02-01 2026-03-01", "the following month": "2026-04-01 2026-05-01",
    "last quarter": "2025-10-01 2026-01-01", "next year": "2027-01-01 2028-01-01",
    "the previous year": "2025-01-01 2026-01-01", "this year": "2026-01-01 2027-01-01",
    # Days of the week.
    "on Monday": "2026-03-09 2026-03-10", "was on Monday": "2026-03-02 2026-03-03",
    "on Wednesday": "2026-03-04 2026-03-05", "was on Wednesday": "2026-02-25 2026-02-26",
    "last Friday": "2026-02-27 2026-02-28", "last Wednesday": "2026-02-25 2026-02-26",
    "this Monday": "2026-03-02 2026-03-03", "next Friday": "2026-03-13 2026-03-14",
    "coming Wednesday": "2026-03-11 2026-03-12", "by Friday": "2026-03-06 2026-03-07",
    "last tues": "2026-03-03 2026-03-04",
    # Months, years, dates.
    "in February": "2026-02-01 2026-03-01", "in March": "2026-03-01 2026-04-01",
    "in April": "2025-04-01 2025-05-01", "will be in April": "2026-04-01 2026-05-01",
    "last March": "2025-03-01 2025-04-01", "next March": "2027-03-01 2027-04-01",
    "this September": "2026-09-01 2026-10-01", "in May 2024": "2024-05-01 2024-06-01",
    "Sept 2023": "2023-09-01 2023-10-01", "during december": "2025-12-01 2026-01-01",
    "2024": "2024-01-01 2025-01-01", "in 1999": "1999-01-01 2000-01-01",
    "2024-02-29": "2024-02-29 2024-03-01", "on 2026-12-31": "2026-12-31 2027-01-01",
    "14 February": "2026-02-14 2026-02-15", "the 14th of February": "2026-02-14 2026-02-15",
    "on March 5": "2025-03-05 2025-03-06", "is going to be on March 5": "2026-03-05 2026-03-06",
    "February 29": "2024-02-29 2024-03-01", "Feb 29th, 2023": None, "2023-02-29": None,
    "will be on February 29": "2028-02-29 2028-03-01", "May 3rd 2020": "2020-05-03 2020-05-04",
    "planned in May": "2026-05-01 2026-06-01", "early February": "2026-02-01 2026-03-01",
    "at the end of February": "2026-02-01 2026-03-01",
    "will be done by June": "2026-06-01 2026-07-01",
    "late May": "2025-05-01 2025-06-01", "in the 1990s": "1990-01-01 2000-01-01",
    "music of the 80s": "1980-01-01 1990-01-01", "a decade ago": "2010-01-01 2020-01-01",
    # Days without a preposition; the weekend; the next but one.
    "Saturday": "2026-03-07 2026-03-08", "did Friday night": "2026-02-27 2026-02-28",
    "on Sunday morning": "2026-03-08 2026-03-09", "Monday's meeting": "2026-03-09 2026-03-10",
    "at the weekend": "2026-03-07 2026-03-09", "did over the weekend": "2026-02-28 2026-03-02",
    "the week before last": "2026-02-16 2026-02-23", "the year after next": "2028-01-01 2029-01-01",
    "the weekend after next": "2026-03-21 2026-03-23", "earlier this week": "2026-03-02 2026-03-09",
    "later today": "2026-03-04 2026-03-05", "in recent weeks": "2026-02-02 2026-03-05",
    # Seasons and feasts.
    "last spring": "2025-03-01 2025-06-01", "this spring": "2026-03-01 2026-06-01",
    "last winter": "2025-12-01 2026-03-01", "next winter": "2026-12-01 2027-03-01",
    "in the summer": "2025-06-01 2025-09-01", "will be in summer": "2026-06-01 2026-09-01",
    "over the autumn of 2023": "2023-09-01 2023-12-01", "last fall": "2025-09-01 2025-12-01",
    "since summer": "2025-06-01 ", "before next autumn": " 2026-09-01",
    "at Christmas": "2026-12-24 2026-12-27", "last Christmas": "2025-12-24 2025-12-27",
    "on Christmas Day 2020": "2020-12-25 2020-12-26", "before Christmas": " 2026-12-24",
    "since Christmas": "2025-12-24 ", "on New Year's Eve": "2026-12-31 2027-01-01",
    "since New Year": "2026-01-01 ", "last Valentine's Day": "2026-02-14 2026-02-15",
    "was at Halloween": "2025-10-31 2025-11-01",
    # Open on one side.
    "since 2024": "2024-01-01 ", "since Monday": "2026-03-02 ", "since yesterday": "2026-03-03 ",
    "since last week": "2026-02-23 ", "since April": "2025-04-01 ",
    "since 3 days ago": "2026-03-01 ", "after last month": "2026-03-01 ",
    "before 2024": " 2024-01-01", "before Friday": " 2026-03-06", "until Friday": " 2026-03-07",
    "till March": " 2026-04-01", "until 2026-03-10": " 2026-03-11", "after 2024": "2025-01-01 ",
    # No time words.
    "every Saturday": None, "each Monday": None, "on a Sunday": None, "spring onions": None,
    "for April": None, "in my 80s": None, "a Christmas present": None, "the weekend paper": None,
    "a new year": None,
    "on Mondays": None, "every day": None, "the best of all time": None, "may I": None,
    "this may be": None, "march on": None, "the week": None, "room 1800 on floor 12": None,
    "PO-2024-1": None, "news.example/2024/": None, "9999 years ago": None, "in 9999 years": None,
    "these days": None, "day": None, "0000-00-00": None, "2026-13-01": None,
}  # fmt: skip


def test_windows(db: psycopg.Connection) -> None:
    """Every form of time words, on a Wednesday in March."""
    for text, expected in WINDOWS.items():
        found = window(db, text)
        assert (found and " ".join(found[:2])) == expected, text


BOUNDARIES = {
    # Month ends, a leap day, the turn of a year, of a week, and the last instant of a day.
    ("a month ago", "2026-03-31T12:00Z"): "2026-02-01 2026-03-01",
    ("in one month", "2026-01-31T12:00Z"): "2026-02-01 2026-03-01",
    ("the past month", "2026-03-31T12:00Z"): "2026-02-28 2026-04-01",
    ("the past month", "2024-03-31T12:00Z"): "2024-02-29 2024-04-01",
    ("yesterday", "2024-03-01T00:00Z"): "2024-02-29 2024-03-01",
    ("tomorrow", "2024-02-28T23:59:59.999999Z"): "2024-02-29 2024-03-01",
    ("the past year", "2024-02-29T08:00Z"): "2023-02-28 2024-03-01",
    ("a year ago", "2024-02-29T08:00Z"): "2023-01-01 2024-01-01",
    ("yesterday", "2026-01-01T00:00Z"): "2025-12-31 2026-01-01",
    ("last month", "2026-01-15T00:00Z"): "2025-12-01 2026-01-01",
    ("last week", "2026-01-01T00:00Z"): "2025-12-22 2025-12-29",
    ("this week", "2027-01-01T00:00Z"): "2026-12-28 2027-01-04",
    ("next quarter", "2026-12-31T23:59Z"): "2027-01-01 2027-04-01",
    ("in December", "2026-01-01T00:00Z"): "2025-12-01 2026-01-01",
    ("this week", "2026-03-08T23:59:59Z"): "2026-03-02 2026-03-09",
    ("this week", "2026-03-09T00:00:00Z"): "2026-03-09 2026-03-16",
    ("last weekend", "2026-03-08T12:00Z"): "2026-02-28 2026-03-02",
    ("this weekend", "2026-03-08T12:00Z"): "2026-03-07 2026-03-09",
    ("on Sunday", "2026-03-08T12:00Z"): "2026-03-08 2026-03-09",
    ("last Sunday", "2026-03-08T12:00Z"): "2026-03-01 2026-03-02",
    ("next Monday", "2026-03-08T12:00Z"): "2026-03-09 2026-03-10",
    # The offset of the given time and changes of the clock do not matter.
    ("today", "2026-03-29T01:30+02:00"): "2026-03-28 2026-03-29",
    ("today", "2026-03-28T23:30:00-05:00"): "2026-03-29 2026-03-30",
    ("yesterday", "2026-03-29T12:00+02:00"): "2026-03-28 2026-03-29",
    # The years 1 to 9999; beyond them there is no window.
    ("last year", "0002-06-01T00:00Z"): "0001-01-01 0002-01-01",
    ("last year", "0001-06-01T00:00Z"): None,
    ("a year ago", "0044-03-15T00:00Z BC"): None,
    ("this year", "9998-06-01T00:00Z"): "9998-01-01 9999-01-01",
    ("next year", "9999-06-01T00:00Z"): None,
}  # fmt: skip


def test_boundaries(db: psycopg.Connection) -> None:
    for (text, now), expected in BOUNDARIES.items():
        found = window(db, text, now)
        assert (found and " ".join(found[:2])) == expected, (text, now)


def test_labels_and_topics(db: psycopg.Connection) -> None:
    """The label has the words; they are no topics, but for names of days and months."""
    for text, label, topics in (
        ("how was dinner last week", "last week", ["dinner"]),
        ("dinner on Saturday", "on saturday", ["dinner", "saturday"]),
        ("dinner since the 14th of February, 2024", "since the 14th of february 2024",
         ["dinner", "february"]),
        ("dinner a couple of weeks ago, and yesterday", "a couple of weeks ago",
         ["dinner", "yesterday"]),
        ("last week", "last week", ["last week"]),
        ("what happened in 2024?", "in 2024", ["in 2024"]),
        ("Tomorrow?", "tomorrow", ["tomorrow"]),
    ):  # fmt: skip
        made = value(db, "plan_retrieval", text=text, now=NOW)
        assert (made["temporal"]["label"], made["topics"]) == (label, topics), text
        assert made["requires_memory"] is True


def test_the_first_time_words_count(db: psycopg.Connection) -> None:
    for text, label in (
        ("yesterday or last week", "yesterday"), ("last week or yesterday", "last week"),
        ("the day before yesterday", "the day before yesterday"),
        ("since last week", "since last week"), ("5 March 2024", "5 march 2024"),
    ):  # fmt: skip
        found = window(db, text)
        assert found is not None
        assert found[2] == label


def test_now_is_now_unless_it_is_given(db: psycopg.Connection) -> None:
    with db.transaction():
        made = value(db, "plan_retrieval", text="dinner today")["temporal"]
        today = scalar(db, "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')")
        assert made["after"] == f"{today}T00:00:00Z"
        assert value(db, "plan_retrieval", text="dinner today", now=None)["temporal"] == made


def test_random_days(db: psycopg.Connection) -> None:
    """Windows of days, weeks and months on random days, against Python's calendar."""
    chooser = random.Random(8)
    for _ in range(25):
        now = datetime(chooser.randint(1990, 2090), 1, 1, tzinfo=UTC) + timedelta(
            seconds=chooser.randrange(366 * 86_400)
        )
        day = now.replace(hour=0, minute=0, second=0)
        number = chooser.randint(1, 400)
        weekday = chooser.randrange(7)
        name = calendar.day_name[weekday]
        week = day - timedelta(days=day.weekday())
        expected = {
            f"{number} days ago": day - timedelta(days=number),
            f"in {number} days": day + timedelta(days=number),
            f"{number} weeks ago": week - timedelta(weeks=number),
            f"last {name}": day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1),
            f"on {name}": day + timedelta(days=(weekday - day.weekday()) % 7),
            f"next {name}": week + timedelta(days=7 + weekday),
            "last month": (day.replace(day=1) - timedelta(days=1)).replace(day=1),
        }
        for text, after in expected.items():
            found = window(db, text, now.isoformat())
            assert found is not None
            assert found[0] == after.date().isoformat(), (text, now)
