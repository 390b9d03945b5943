"""Does a passage carry a statement? A language model is asked, and says yes or no with how likely each was.

Only ever behind the judge by words and meaning, see `both`. Whatever goes wrong, it could not tell.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from string import Template
from typing import ClassVar

from ingest.corpus.errors import ModelFailed, OverBudget
from ingest.corpus.script import HAN, OTHER, script_of
from service.checking.judge import told_at_once
from service.neutral import inert
from service.releases.ledger import released_words
from service.seams import ChatTokenizer, Chooser, Support
from service.types import Message

LOG = logging.getLogger("citeward.judge")
PROMPT = "judge.v1"
LANGUAGES = {OTHER: "en", HAN: "zh"}
YES, NO = "yes", "no"
JUDGE_TOKENS = 2048  # of a whole question: some five passages with their statement
ANSWER_TOKENS = 16  # more than an answer can have, with what ends it
SURE = 700.0  # of a difference of logarithms; beyond it the probability is 0 or 1


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """The texts of one released file; what is put into them is named $so."""

    version: str  # name, language, and 12 hex digits over the file
    system: str
    user: str


def load_judge_prompts(name: str = PROMPT) -> dict[int, JudgePrompt]:
    """One a script of statements. Errors as of `released_text`."""
    return {script: _parse(f"{name}.{language}") for script, language in LANGUAGES.items()}


def _parse(name: str) -> JudgePrompt:
    version, parts = released_words("judging", name)
    return JudgePrompt(version=version, **parts)


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """Meets `Judge`. Threads may share it."""

    chooser: Chooser
    chat: ChatTokenizer
    secret: bytes = field(repr=False)  # what boundaries are made with
    salt: str = ""  # of the tenant whose passages are read, see `Chooser`
    prompts: Mapping[int, JudgePrompt] = field(default_factory=load_judge_prompts)
    threshold: ClassVar[float] = 0.5  # more likely than not

    @property
    def version(self) -> str:
        return "+".join([*(one.version for one in self.prompts.values()), self.chooser.version])

    def support(self, premise: str, claim: str) -> Support:
        try:
            return self.told(premise, claim)
        except (ModelFailed, OverBudget) as error:
            return _unknown(error.code, error.why, error.what)
        except Exception as error:  # a tokenizer's library has its own for whatever it may be
            return _unknown("judge_failed", type(error).__name__)

    def told(self, premise: str, claim: str) -> Support:
        """With the whole premise as the place, as nothing is told of where in it. Errors as of `ask`."""
        if (told := told_at_once(premise, claim)) is not None:
            return told
        score = self.ask(premise, claim)
        reason = f"A language model finds with a probability of {score:.0%} that the passage says so."
        return Support(score, 0, len(premise), reason)

    def ask(self, premise: str, claim: str) -> float:
        """How likely yes was, of yes and no.

        :raises OverBudget: if the two are longer than is asked about; nothing is cut.
        :raises ModelFailed: if there is no answer.
        """
        likely = self.chooser.choose(self._messages(premise, claim), (YES, NO), self.salt)
        return 1 / (1 + exp(max(min(likely[NO] - likely[YES], SURE), -SURE)))

    def _messages(self, premise: str, claim: str) -> Sequence[Message]:
        prompt, boundary = self.prompts[script_of(claim)], self._boundary(premise)
        controls = self.chat.control_tokens
        messages = _filled(prompt, boundary, inert(premise, controls), inert(claim, controls))
        ids = self.chat.ids(messages)
        if len(ids) > JUDGE_TOKENS:
            raise OverBudget(
                f"Passage and statement are a question of {len(ids):,} tokens.",
                why=f"A judge is asked about {JUDGE_TOKENS:,} at most.",
                next_step="Cite fewer passages in one statement.",
            )
        expected = self._controls(self.chat.ids(_filled(prompt, boundary, "?", "?")))
        if (found := self._controls(ids)) != expected:
            raise RuntimeError(f"The question holds control tokens that its prompt does not: {found}.")
        return messages

    def _boundary(self, premise: str) -> str:
        """Who writes a passage cannot guess it; the same each time, as the same is to be asked each time."""
        return hmac.new(self.secret, f"judged: {premise}".encode(), hashlib.sha256).hexdigest()[:16]

    def _controls(self, ids: Sequence[int]) -> Counter[int]:
        known = set(self.chat.control_tokens.values())
        return Counter(one for one in ids if one in known)


def _filled(prompt: JudgePrompt, boundary: str, passage: str, statement: str) -> tuple[Message, ...]:
    user = Template(prompt.user).substitute(boundary=boundary, passage=passage, statement=statement)
    return Message("system", prompt.system), Message("user", user)


def _unknown(code: str, detail: str, why: str = "") -> Support:
    LOG.warning(json.dumps({"event": "judge", "code": code, "detail": detail}))
    return Support(None, 0, 0, f"The judge could not tell. {why}".strip())
