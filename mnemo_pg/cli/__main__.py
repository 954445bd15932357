"""`python -m mnemo_pg.cli` is `mnemo-pg`."""

from mnemo_pg.cli import main

main()
