"""mnemo_pg 0.1.0"""

from __future__ import annotations

from alembic import op

from mnemo_pg.migrations import drop_schema, run_script

revision = "mnemo_0001"
down_revision = None
branch_labels = ("mnemo_pg",)
depends_on = None


def upgrade() -> None:
    """Install mnemo_pg 0.1.0."""
    run_script(op, "0.1.0")  # type: ignore[arg-type]  # a module that acts as Operations


def downgrade() -> None:
    """Drop it, when told."""
    drop_schema(op)  # type: ignore[arg-type]
