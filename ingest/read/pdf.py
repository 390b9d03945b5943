"""stub"""

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document


def read_pdf(data: bytes, source_name: str, max_pages: int = 2000) -> Document:
    raise Unreadable("unsupported_type", "not yet")
