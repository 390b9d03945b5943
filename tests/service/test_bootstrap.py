"""What the settings name is what is put together."""

from pathlib import Path

import pytest

from ingest.corpus.errors import Unavailable
from ingest.corpus.settings import CorpusSettings
from service.bootstrap import open_prompting
from service.settings import ServiceSettings
from tests.contracts.real_models import chat_tokenizer, llm_folder

SMALL, BILINGUAL = "smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"


def test_a_model_folder_brings_its_tokenizer_the_templates_and_the_policy(tmp_path: Path) -> None:
    folder = llm_folder(SMALL)
    corpus = CorpusSettings(home=tmp_path)
    prompting = open_prompting(ServiceSettings(corpus=corpus, llm=str(folder), reserved_output=77))
    assert prompting.chat.version == chat_tokenizer(SMALL).version
    assert prompting.templates.keys() == {"en", "zh"}
    assert prompting.policy.max_new_tokens == 77
    assert prompting.key_secret == (tmp_path / "key_secret").read_bytes()


def test_a_model_that_is_not_pulled_is_named_with_the_command_that_pulls_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=f"citeward models pull {BILINGUAL}"):
        open_prompting(ServiceSettings(corpus=CorpusSettings(home=tmp_path), llm=BILINGUAL))
