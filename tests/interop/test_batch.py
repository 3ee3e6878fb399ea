"""What comes out of a call of ``generate``, at its end and while it is written."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    PreTrainedModel,
    StoppingCriteriaList,
    TextIteratorStreamer,
)

from headstart.errors import InvalidParameterError
from headstart.interop.custom_generate import custom_generate
from tests.interop.calls import PROMPTS, batch, both, letters, ours_alone
from tests.tiny_models import letter_ids, letters_tokenizer, tiny


class TestOutput:
    @pytest.mark.parametrize("wanted", [{}, {"output_scores": True}, {"output_logits": True, "output_scores": True}])
    def test_scores_and_logits(self, wanted: dict[str, bool], noisy_heads: Path) -> None:
        fast = custom_generate("combined", heads=noisy_heads)
        options = {"return_dict_in_generate": True, "repetition_penalty": 2.0, "eos_token_id": None, **wanted}
        plain, ours = both(tiny("llama"), fast, batch([prompt[:4] for prompt in PROMPTS if len(prompt) >= 4]), **options)
        assert type(ours) is type(plain)
        assert ours.sequences.tolist() == plain.sequences.tolist()
        for name in ("scores", "logits"):
            mine, theirs = getattr(ours, name), getattr(plain, name)
            assert (mine is None) == (theirs is None) == (f"output_{name}" not in wanted)
            assert mine is None or torch.allclose(torch.stack(mine), torch.stack(theirs), atol=1e-5)
        if "output_scores" in wanted:
            args = [[out.sequences, out.scores, None, True] for out in (plain, ours)]
            scores = [tiny("llama").compute_transition_scores(*each) for each in args]
            assert torch.allclose(scores[1], scores[0], atol=1e-4)
            ours.scores[0].add_(1)  # a tensor like any other

    def test_rows_that_end_earlier(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        """Row 0 ends with its second token; from there on its scores are zeros, and row 1 has its own."""
        options = {"return_dict_in_generate": True, "output_scores": True, "eos_token_id": letter_ids("f")}
        plain, ours = both(alphabet, custom_generate("medusa", heads=right_heads), letters("d", "a"), **options)
        assert ours.sequences.tolist() == plain.sequences.tolist() == [[*letter_ids("def"), 0, 0, 0], letter_ids("abcdef")]
        assert len(ours.scores) == len(plain.scores) == 5
        for place in range(5):
            assert torch.allclose(ours.scores[place][1], plain.scores[place][1], atol=1e-5)
        assert torch.allclose(ours.scores[1][0], plain.scores[1][0], atol=1e-5)
        assert ours.scores[2][0].abs().max() == 0

    def test_scores_reach_the_criteria(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        class Sixth:
            def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
                right = scores[-1].argmax(-1) == input_ids[:, -1]
                return right & (len(scores) == 6)

        options = {"return_dict_in_generate": True, "output_scores": True, "stopping_criteria": StoppingCriteriaList([Sixth()])}
        plain, ours = both(alphabet, custom_generate("medusa", heads=right_heads), letters("a", "pq"), **options)
        assert ours.sequences.tolist() == plain.sequences.tolist()
        assert ours.sequences.shape == (2, 8)


class TestStreamer:
    def test_tokens_one_by_one(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        class Log:
            def __init__(self) -> None:
                self.put_ids: list[list[int]] = []
                self.ends = 0

            def put(self, value: torch.Tensor) -> None:
                self.put_ids.append(value.flatten().tolist())

            def end(self) -> None:
                self.ends += 1

        logs = [Log(), Log()]
        options = {"eos_token_id": letter_ids("f"), "pad_token_id": 0, "max_new_tokens": 20, "do_sample": False}
        alphabet.generate(**letters("ab"), streamer=logs[0], **options)
        alphabet.generate(**letters("ab"), streamer=logs[1], custom_generate=custom_generate(heads=right_heads), **options)
        assert logs[1].put_ids == logs[0].put_ids == [letter_ids("ab"), *([token] for token in letter_ids("cdef"))]
        assert (logs[1].ends, logs[0].ends) == (1, 1)

    def test_text_in_another_thread(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        streamer = TextIteratorStreamer(letters_tokenizer().hf, skip_prompt=True, timeout=60)
        fast = custom_generate(heads=right_heads)
        thread = threading.Thread(
            target=ours_alone, args=(alphabet, fast, letters("a")), kwargs={"streamer": streamer, "max_new_tokens": 9}
        )
        thread.start()
        assert "".join(streamer) == "bcdefghij"
        thread.join()

    def test_one_text_only(self, alphabet: PreTrainedModel) -> None:
        class Silent:
            def put(self, value: torch.Tensor) -> None: ...
            def end(self) -> None: ...

        with pytest.raises(InvalidParameterError, match="a streamer takes one text, and this batch has 2 rows"):
            ours_alone(alphabet, custom_generate(heads=None), letters("a", "b"), streamer=Silent())
