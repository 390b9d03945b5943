"""stub"""

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document


def read_docx(data: bytes, source_name: str) -> Document:
    raise Unreadable("unsupported_type", "not yet")
