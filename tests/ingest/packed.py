"""Zip files written by hand, for what no honest program writes."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo


def zipped(files: Mapping[str, bytes | str], **links: str) -> bytes:
    """An archive of `files`; each of `links` is a symbolic link to its value."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for name, target in links.items():
            entry = ZipInfo(name)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)
    return buffer.getvalue()
