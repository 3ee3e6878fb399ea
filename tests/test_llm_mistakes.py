"""What a caller can get wrong is said in a sentence, and leaves nothing behind."""

from typing import Any

import pytest
import torch

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import CapacityError, ChatTemplateError, HeadsError, InvalidParameterError, PromptError, TreeError
from headstart.llm import LLM, load
from headstart.trees.shape import TreeShape
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import CONTEXT, VOCAB, alphabet_heads, alphabet_model, letter_ids, native, noise_heads, tiny


@pytest.fixture
def llm() -> LLM:
    return tiny_llm()


class TestMistakes:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"temperature": -0.1}, "temperature is -0.1; expected 0"),
            ({"temperature": float("nan")}, "temperature is nan"),
            ({"top_p": 0.0}, r"top_p is 0.0; expected a number in \(0, 1\]"),
            ({"top_p": 1.1}, "top_p is 1.1"),
            ({"top_k": 0}, "top_k is 0; expected None"),
            ({"min_p": 1.0}, r"min_p is 1.0; expected a number in \[0, 1\)"),
            ({"min_p": -0.1}, "min_p is -0.1"),
            ({"max_new_tokens": 0}, "max_new_tokens is 0; expected at least 1"),
            ({"min_new_tokens": -1}, "min_new_tokens is -1; expected at least 0"),
            ({"nodes": 0}, "nodes is 0; expected at least 1"),
            ({"threads": 0}, "threads is 0"),
            ({"max_context": 0}, "max_context is 0"),
            ({"max_rows": 0}, "max_rows is 0"),
            ({"cache_tokens": 0}, "cache_tokens is 0"),
            ({"stop": ""}, "a stop string is empty"),
            ({"stop": ["a", ""]}, "a stop string is empty"),
            ({"nodes": 2.5}, r"nodes is 2.5; expected a whole number"),
            ({"max_new_tokens": "9"}, r"max_new_tokens is '9'; expected a whole number"),
            ({"max_new_tokens": True}, "max_new_tokens is True; expected a whole number"),
            ({"min_new_tokens": "1"}, "min_new_tokens is '1'; expected a whole number"),
            ({"top_logprobs": 1.5}, "top_logprobs is 1.5; expected a whole number"),
            ({"logprobs": "yes"}, "logprobs is 'yes'; expected True or False"),
            ({"ignore_eos": 1}, "ignore_eos is 1; expected True or False"),
            ({"temperature": "hot"}, "temperature is 'hot'; expected a number"),
            ({"temperature": None}, "temperature is None; expected a number"),
            ({"top_k": 2.5}, r"top_k is 2.5; expected None \(all tokens\) or a whole number"),
            ({"top_p": "0.9"}, "top_p is '0.9'; expected a number"),
            ({"presence_penalty": [1]}, r"presence_penalty is \[1\]; expected a number"),
            ({"logit_bias": [1]}, r"logit_bias is \[1\]; expected numbers by token id"),
            ({"logit_bias": {1: "x"}}, "logit_bias of id 1 is 'x'; expected a number"),
            ({"logit_bias": {None: 1.0}}, "logit_bias names None; expected token ids"),
            ({"bad_words": 3}, "bad_words is 3; expected a word, or a list"),
            ({"bad_words": [3]}, "bad_words holds 3; expected a word, or a list"),
            ({"allowed_token_ids": 5}, "allowed_token_ids holds 5; expected a list of token ids"),
            ({"logits_processors": 3}, "logits_processors is 3; expected a list"),
            ({"stop": 3}, "stop is 3; expected a string or a list of strings"),
            ({"stop": ["a", 3]}, "stop holds 3; expected a string or a list of strings"),
            ({"stop_ids": 3}, "stop_ids is 3; expected a list of token ids"),
            ({"stop_ids": [1.5]}, "stop_ids holds 1.5; expected a list of token ids"),
            ({"seed": "a"}, "seed is 'a'; expected a whole number, a list of them, or None"),
            ({"seed": 1.5}, "seed is 1.5; expected a whole number"),
            ({"seed": [1, "b"]}, "seed holds 'b'; expected a whole number"),
            ({"acceptance": None}, "acceptance is None; expected a rule's name"),
            ({"epsilon": "x"}, "epsilon is 'x'; expected a number"),
            ({"replacement": 1}, "replacement is 1; expected True or False"),
            ({"replacement": True}, "replacement is no parameter of the acceptance 'exact'.* acceptance='rejection'"),
            ({"draft_temperature": "x"}, "draft_temperature is 'x'; expected a number"),
            ({"draft_temperature": 0.0, "drafter": "medusa"}, "draft_temperature is 0.0; expected a number above 0, or None"),
            ({"draft_temperature": 1.0, "drafter": "ngram"}, r"draft_temperature needs .* 'ngram' does not; expected one of \['m"),
            ({"acceptance": "rejection"}, r"the acceptance 'rejection' needs a drafter that draws .* expected one of \['medusa"),
            ({"drafter": 3}, "drafter is 3; expected a drafter's name"),
            ({"drafter": "eagle"}, r"drafter 'eagle' is not available; expected one of \['combined', 'medusa', "),
            ({"max_tokens": 5}, r"unknown options \['max_tokens'\]; expected some of \['max_new_tokens'"),
        ],
    )
    def test_option(self, llm: LLM, options: dict[str, Any], message: str) -> None:
        for call in (llm.generate, llm.chat, llm.stream):
            with pytest.raises(InvalidParameterError, match=message):
                call("a", **options)
        assert not busy(llm)

    @pytest.mark.parametrize(
        ("prompt", "message"),
        [
            ("", "the prompt is empty"),
            ([[]], "the prompt is empty"),
            ("a" * CONTEXT, f"the prompt has {CONTEXT} tokens and the context {CONTEXT}"),
            ([3, VOCAB], f"ids outside 0 to {VOCAB - 1}"),
            ([-1], "ids outside"),
        ],
    )
    def test_prompt(self, llm: LLM, prompt: Any, message: str) -> None:
        with pytest.raises(PromptError, match=message):
            llm.generate(prompt)
        assert not busy(llm)

    def test_one_bad_prompt_in_a_list(self, llm: LLM) -> None:
        with pytest.raises(PromptError, match="the prompt is empty"):
            llm.generate(["a", ""])
        with pytest.raises(PromptError, match=f"the prompt has {CONTEXT} tokens"):
            llm.generate(["a", "a" * CONTEXT])
        assert not busy(llm)  # the good one is not left behind

    @pytest.mark.parametrize(
        ("last", "options", "message"),
        [
            ("", {"max_rows": 1}, r"prompts\[2\]: the prompt is empty"),
            ("a" * CONTEXT, {"max_rows": 1}, rf"prompts\[2\]: the prompt has {CONTEXT} tokens"),
            ([VOCAB], {"max_rows": 1}, r"prompts\[2\]: .*ids outside"),
            ("a" * 12, {"cache_tokens": 15}, r"prompts\[2\]: a prompt of 12 tokens takes up to 18 pos.* cache_tokens is 15"),
            ("a" * 20, {"max_rows": 1}, r"needs 34 cache slots; cache_tokens is 30"),  # 20 + 6 and a tree of 8: the model's own
            ("a", {"seed": [1, 2]}, "2 seeds for 3 prompts; expected one seed per prompt"),
            ("a", {"seed": [1, 2, 3, 4]}, "4 seeds for 3 prompts"),
        ],
    )
    def test_a_list_is_checked_before_anything_is_decoded(
        self, last: Any, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        llm = tiny_llm(cache_tokens=30)

        def prefill(*_: object) -> None:
            raise AssertionError("a prompt was read")

        monkeypatch.setattr(llm.model, "prefill", prefill)
        with pytest.raises((PromptError, CapacityError, InvalidParameterError), match=message):
            llm.generate(["a", "b", last], max_new_tokens=6, nodes=8, **options)
        assert not busy(llm)

    def test_a_text_that_never_fits(self) -> None:
        llm = tiny_llm(cache_tokens=20)
        with pytest.raises(CapacityError, match=r"cache_tokens is 20.*max_new_tokens"):
            llm.generate("a", max_new_tokens=30)
        assert llm.generate("a", max_new_tokens=5).text == "bcdef"

    def test_without_a_tokenizer(self) -> None:
        llm = tiny_llm(tokenizer=False)
        out = llm.generate(letter_ids("a"), max_new_tokens=3)
        assert (out.text, out.token_ids) == ("", tuple(letter_ids("bcd")))
        with pytest.raises(PromptError, match="without a tokenizer; give the prompt as a list of token ids"):
            llm.generate("a")
        with pytest.raises(ChatTemplateError, match="without a tokenizer"):
            llm.chat("a")
        with pytest.raises(InvalidParameterError, match="stop strings need a tokenizer"):
            llm.generate(letter_ids("a"), stop="x")
        assert not busy(llm)

    def test_without_a_chat_template(self, llm: LLM) -> None:
        assert llm.tokenizer is not None
        llm.tokenizer.hf.chat_template = None
        with pytest.raises(ChatTemplateError, match=r"no chat template.*generate\(\)"):
            llm.chat("a")

    def test_without_heads(self) -> None:
        llm = tiny_llm(heads=False)
        assert llm.drafter == "ngram"
        with pytest.raises(InvalidParameterError, match=r"drafter 'medusa' is not available.*name them with heads="):
            llm.generate("a", drafter="medusa")
        with pytest.raises(InvalidParameterError, match="drafter 'medusa' is not available"):
            LLM(llm.model, llm.tokenizer, drafter="medusa")

    def test_heads_of_another_model(self) -> None:
        model = native(tiny("llama"))
        with pytest.raises(
            HeadsError, match=r"hidden size of 32.*trained for another base model with 64; use the heads of this model"
        ):
            LLM(model, None, heads=alphabet_heads(native(alphabet_model())))

    def test_a_tree_deeper_than_the_heads(self) -> None:
        model = native(tiny("llama"))
        with pytest.raises((TreeError, HeadsError), match=r"5 deep.*3 heads"):
            LLM(model, None, heads=HeadsDirectory(noise_heads(model), TreeShape.chain(5)))

    def test_load_checks_its_numbers(self) -> None:
        for name in ("nodes", "threads", "max_context", "max_rows"):
            with pytest.raises(InvalidParameterError, match=f"{name} is 0; expected at least 1"):
                load(tiny("llama"), **{name: 0})
            with pytest.raises(InvalidParameterError, match=rf"{name} is 2\.5; expected a whole number"):
                load(tiny("llama"), **{name: 2.5})


class TestFailures:
    def test_one_text_raises_and_a_list_reports(self, llm: LLM) -> None:
        assert llm.heads is not None

        def boom(*_: Any, **__: Any) -> torch.Tensor:
            raise RuntimeError("the heads failed")

        llm.heads.heads.forward = boom  # type: ignore[method-assign]
        with pytest.raises(RuntimeError, match="the heads failed"):
            llm.generate("a", max_new_tokens=5)
        with pytest.raises(RuntimeError, match="the heads failed"):
            list(llm.stream("a", max_new_tokens=5))
        outs = llm.generate(["a", "b"], max_new_tokens=5)
        assert [(out.finish_reason, str(out.error), out.text) for out in outs] == [
            ("error", "the heads failed", "b"),
            ("error", "the heads failed", "c"),
        ]
        assert llm.generate("a", max_new_tokens=5, drafter="none").text == "bcdef"
        assert not busy(llm)
