"""A question to fused candidates: both searches over what the principal may read, in every collection asked for."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.corpus.snapshot import CollectionIndex
from ingest.corpus.types import FloatVector, Hit, Principal
from service.fuse import fuse
from service.parts import Parts
from service.types import Fused, Question
