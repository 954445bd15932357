"""${message}"""

from alembic import op

from mnemo_pg.migrations import drop_schema, run_script

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    raise NotImplementedError("name the built script: run_script(op, ...)")


def downgrade() -> None:
    drop_schema(op)
