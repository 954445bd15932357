"""Commands about embedding models, and how commands take embeddings."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from mnemo_pg.cli import output
from mnemo_pg.cli.session import USAGE, CommandError, Dsn, Json, client, options
from mnemo_pg.types import VectorDistance


def parsed_vector(text: str) -> list[float]:
    """Numbers of the command line, as [0.1,0.2]."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(n, (int, float)) for n in found):
        raise typer.BadParameter("no vector: write [0.1,0.2,0.3]")
    return [float(number) for number in found]


Embedding = Annotated[
    Any,
    typer.Option("--embedding", parser=parsed_vector, metavar="[N,...]", help="Its embedding."),
]
EmbeddingModel = Annotated[
    str | None, typer.Option("--model", help="Model of --embedding. Default: the only one.")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("enable-vectors")(enable)
    app.command("disable-vectors")(disable)
    app.command("refresh-models")(refresh)


def enable(
    context: typer.Context,
    model: Model,
    dimensions: Annotated[
        int, typer.Argument(metavar="DIMENSIONS", help="Numbers in a vector, 1 to 16000.")
    ],
    distance: Annotated[
        VectorDistance, typer.Option(help="How far apart two vectors are.")
    ] = VectorDistance.COSINE,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Let memories have embeddings of a model. Needs pgvector in the database, and level admin.

    The same again changes nothing.
    """
    chosen = options(context, dsn, as_json)
    with client(chosen) as m:
        m.enable_vectors(model, dimensions, distance=distance)
    if chosen.json:
        output.print_json({"model": model, "dimensions": dimensions, "distance": distance.value})
    else:
        output.say(f"embeddings of {model}: {dimensions} dimensions, distance {distance.value}")


def disable(
    context: typer.Context,
    model: Model,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """Drop a model with all its vectors; memories stay. Needs level admin."""
    chosen = options(context, dsn, as_json)
    if not yes:
        if not sys.stdin.isatty():
            raise CommandError("vectors that are dropped do not come back: say --yes", USAGE)
        typer.confirm(f"drop every vector of {model}?", abort=True)
    with client(chosen) as m:
        dropped = m.disable_vectors(model)
    if chosen.json:
        output.print_json({"model": model, "dropped": dropped})
    else:
        output.say(f"dropped {dropped:,} vectors of {model}")


def refresh(context: typer.Context, dsn: Dsn = None, as_json: Json = False) -> None:
    """Make the functions and missing indexes of every model anew, after an update. Needs level
    admin."""
    chosen = options(context, dsn, as_json)
    with client(chosen) as m:
        models = m.refresh_models()
    if chosen.json:
        output.print_json({"models": models})
    else:
        output.say(f"{models} models are up to date")
