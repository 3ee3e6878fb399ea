"""From text to token ids and back: one face for the fast and the slow tokenizers of transformers."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from headstart.errors import PromptError
from headstart.text.chat import ChatTemplate, Messages

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Tokenizer:
    """A tokenizer of transformers. Texts come in, ids go out, and the other way round; it knows nothing of a model."""

    def __init__(self, hf_tokenizer: "PreTrainedTokenizerBase") -> None:
        self.hf = hf_tokenizer
        self.template = ChatTemplate(hf_tokenizer)

    @property
    def vocab_size(self) -> int:
        """Number of tokens, the added ones included. A model's LM head can have more rows."""
        return len(self.hf)

    @property
    def has_chat_template(self) -> bool:
        return self.template.exists

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """The ids of a text. Special tokens written out in it are read as such.

        ``add_special_tokens``: put those in that the model expects around a text (a BOS, for many).

        Raises:
            PromptError: it holds surrogates, which are no characters.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise PromptError(
                f"the prompt holds half a character at place {error.start} ({text[error.start]!r}), as bytes do that are not UTF-8;"
                " give text in UTF-8"
            ) from error
        # verbose=False: a text longer than the context is for the engine to judge, not for a warning here
        return list(self.hf(text, add_special_tokens=add_special_tokens, verbose=False)["input_ids"])

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids, exactly as the tokens spell it (no clean-up of spaces)."""
        text = self.hf.decode(list(ids), skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False)
        return cast(str, text)

    def chat_ids(self, messages: Messages, add_generation_prompt: bool = True) -> list[int]:
        """The ids of a conversation, written by the model's chat template, up to where the answer starts.

        No special token is added to those that the template writes: there is never a second BOS.

        Raises:
            PromptError: malformed messages.
            ChatTemplateError: there is no template, or it refuses the messages.
        """
        return self.encode(self.template.render(messages, add_generation_prompt=add_generation_prompt), add_special_tokens=False)

    def user_turn_prefix_ids(self, start: str = "") -> list[int]:
        """The ids of the template up to the user's text and of ``start``, the beginning of that text.

        A model that goes on from here writes (the rest of) a question itself.

        Raises:
            ChatTemplateError: see :meth:`chat_ids`.
        """
        prefix = self.template.before_user_text()
        if not start:
            prefix = prefix.rstrip(" ")  # in most vocabularies a space belongs to the word after it, which is still to come
        return self.encode(prefix + start, add_special_tokens=False)

    @cached_property
    def end_of_turn_ids(self) -> frozenset[int]:
        """The id that the template puts after an answer (``<|im_end|>``, ``<|eot_id|>``, ...); empty where it puts none."""
        after = self.template.after_answer()
        for token in self.encode(after, add_special_tokens=False) if after.strip() else []:
            if token in self.added_ids:
                return frozenset({token})
            if self.decode([token]).strip():
                break  # plain text follows an answer: no id of its own ends a turn
        return frozenset()

    @cached_property
    def eos_ids(self) -> frozenset[int]:
        """The tokenizer's own end-of-text id, if it has one. The model's configuration can know more."""
        eos = self.hf.eos_token_id
        return frozenset() if eos is None else frozenset({eos} if isinstance(eos, int) else eos)

    @cached_property
    def added_ids(self) -> frozenset[int]:
        """Ids that stand beside the learned vocabulary, the special ones among them."""
        return frozenset(self.hf.added_tokens_decoder) | frozenset(self.hf.all_special_ids)

    @cached_property
    def silent_ids(self) -> frozenset[int]:
        """Special ids: those that decoding leaves out."""
        if self._backend is None:
            return frozenset(self.hf.all_special_ids)
        return frozenset(token_id for token_id, token in self._backend.get_added_tokens_decoder().items() if token.special)

    @cached_property
    def byte_ids(self) -> dict[int, int]:
        """Byte value by id, for a vocabulary that spells rare characters in tokens ``<0x00>`` to ``<0xFF>``.

        Empty where the decoder does not join them into characters. Such a decoder gives a run of these tokens up as a whole,
        one U+FFFD per byte, when any part of it is not UTF-8.
        """
        backend = self._backend
        if backend is None or backend.decoder is None or not _has_byte_fallback(json.loads(backend.decoder.__getstate__())):
            return {}
        found = ((backend.token_to_id(f"<0x{byte:02X}>"), byte) for byte in range(256))
        return {token: byte for token, byte in found if token is not None}

    @property
    def _backend(self) -> Any:
        return getattr(self.hf, "backend_tokenizer", None)


def _has_byte_fallback(decoder: dict[str, object]) -> bool:
    if decoder["type"] == "Sequence":
        return any(_has_byte_fallback(part) for part in cast(list[dict[str, object]], decoder["decoders"]))
    return decoder["type"] == "ByteFallback"
