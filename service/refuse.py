"""The words of a refusal, by code and language. A refusal is a result, not an error."""

from __future__ import annotations

from service.types import AnswerLanguage, Refusal, RefusalCode

TEXTS: dict[RefusalCode, dict[AnswerLanguage, str]] = {
    "no_evidence": {
        "en": "None of the documents that you may read says anything about this.",
        "zh": "在您有权查阅的文档中，没有找到与此问题相关的内容。",
    },
    "insufficient_evidence": {
        "en": "Documents on this subject were found, but they do not hold the answer.",
        "zh": "找到了相关文档，但其中的内容不足以回答这个问题。",
    },
    "conflicting_evidence": {
        "en": "The documents contradict each other on this, so no answer is given.",
        "zh": "相关文档之间互相矛盾，因此无法给出答案。",
    },
    "unsupported_answer": {
        "en": "An answer was drafted, but the documents do not support it, so it is withheld.",
        "zh": "已草拟答案，但文档内容无法支持，因此不予显示。",
    },
    "question_unclear": {
        "en": "The question is not clear enough to search for. Please say what it is about.",
        "zh": "问题不够明确，无法检索。请说明您想了解的具体内容。",
    },
}


def refuse(code: RefusalCode, language: AnswerLanguage) -> Refusal:
    return Refusal(code, TEXTS[code][language])
