"""The loop of retrieval on SQLAlchemy's sources."""

from __future__ import annotations

# The same tests as for psycopg's connections, with the fixtures of this folder.
from tests.client.test_retrieval_loop import (  # noqa: F401
    dsn,
    test_arguments_arrive,
    test_plan_and_retrieve,
    test_recall_or_retrieve,
)
