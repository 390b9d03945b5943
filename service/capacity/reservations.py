"""The ledger of KV room as rows, so that all processes of the service share one, on SQLite and on PostgreSQL.

A command such as `citeward ask` is such a process, too, which is why there is no other ledger for one alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from sqlalchemy import BigInteger, Float, Integer, String, delete, insert, select, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from ingest.corpus.database import Database, in_batches
from ingest.corpus.tables import Base
from service.capacity.ledger import Ledger, Ticket

ONE_AT_A_TIME = 7_305_091_834  # any number: a ledger is read, changed and written by one after the other


class ReservationRow(Base):
    """A ticket; there are as many as requests that wait or are answered."""

    __tablename__ = "kv_reservations"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    engine: Mapped[str] = mapped_column(String(300))  # its address
    tenant: Mapped[str] = mapped_column(String(64))  # the salt of its tenant
    priority: Mapped[str] = mapped_column(String(16))
    blocks: Mapped[int] = mapped_column(Integer)
    until: Mapped[float] = mapped_column(Float(53))  # seconds since the epoch
    turn: Mapped[int] = mapped_column(BigInteger)
    number: Mapped[int] = mapped_column(BigInteger)
    granted: Mapped[bool]


class TurnRow(Base):
    """The turn last served of one class of requests."""

    __tablename__ = "kv_turns"

    engine: Mapped[str] = mapped_column(String(300), primary_key=True)
    priority: Mapped[str] = mapped_column(String(16), primary_key=True)
    turn: Mapped[int] = mapped_column(BigInteger)


@contextmanager
def changing_ledger(database: Database, engine: str) -> Iterator[Ledger]:
    """The ledger of the engine at this address, kept as the block leaves it; no other process is in between.

    :raises Unavailable: as of `Database.writing`; nothing was changed.
    """
    with database.writing() as session:
        if not database.is_sqlite:  # SQLite has one writer anyway
            session.execute(text(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})"))
        ledger = _read(session, engine)
        before = Ledger(dict(ledger.tickets), dict(ledger.served))
        yield ledger
        _write(session, engine, before, ledger)


def read_ledger(database: Database, engine: str) -> Ledger:
    """As it stands; what ran out is still in it until somebody settles."""
    with database.reading() as session:
        return _read(session, engine)


def _read(session: Session, engine: str) -> Ledger:
    columns = [getattr(ReservationRow, name) for name in Ticket.__dataclass_fields__]
    rows = session.execute(select(*columns).where(ReservationRow.engine == engine))
    turns = session.execute(select(TurnRow.priority, TurnRow.turn).where(TurnRow.engine == engine))
    return Ledger(
        {row.id: Ticket(**row._asdict()) for row in rows}, {row.priority: row.turn for row in turns}
    )


def _write(session: Session, engine: str, before: Ledger, after: Ledger) -> None:
    """What differs, and nothing where nothing does: then nothing has to reach the disk."""
    new = [one for one in after.tickets.values() if before.tickets.get(one.id) != one]
    stale = [one for one, ticket in before.tickets.items() if after.tickets.get(one) != ticket]
    for ids in in_batches(stale):
        session.execute(delete(ReservationRow).where(ReservationRow.id.in_(ids)))
    if new:
        session.execute(insert(ReservationRow), [{"engine": engine, **asdict(one)} for one in new])
    for priority, turn in after.served.items():
        if before.served.get(priority) != turn:
            session.merge(TurnRow(engine=engine, priority=priority, turn=turn))
