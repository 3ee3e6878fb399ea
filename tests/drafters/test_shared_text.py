"""A draft model with another tokenizer: the same text, guessed through text."""

from collections.abc import Sequence

import pytest
import torch
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from headstart.drafters.plain import PlainDrafter
from headstart.drafters.shared_text import SharedTextDrafter, Spelling
from headstart.engine.engine import Engine
from headstart.models.native import NativeModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from tests.decoding import decode
from tests.tiny_models import FIRST_LETTER, LETTERS, VOCAB, alphabet_model, letter_ids, letters_tokenizer, native

NO_STATE = torch.zeros(1, 1)
PROMPTS = ["abc", "op", "m", "hel"]  # at least 43 letters before the end of the alphabet


def backwards_tokenizer() -> PreTrainedTokenizerBase:
    """A token a letter, the last letter first."""
    vocabulary = {token: i for i, token in enumerate(["<pad>", "<s>", "</s>", *reversed(LETTERS)])}
    backend = Backend(models.WordLevel(vocabulary, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def backwards_pretrained(context: int = 128) -> LlamaForCausalLM:
    """The alphabet in those ids: it says the same, in other words."""
    model = alphabet_model(sharpness=2.0, context=context)
    order = torch.cat([torch.arange(FIRST_LETTER), torch.arange(VOCAB - 1, FIRST_LETTER - 1, -1)])
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(model.model.embed_tokens.weight[order])
        model.lm_head.weight.copy_(model.lm_head.weight[order])
    return model


def backwards_model(context: int = 128) -> NativeModel:
    return native(backwards_pretrained(context))


def drafter(model: NativeModel | None = None, confidence: float = 0.0) -> SharedTextDrafter:
    return SharedTextDrafter(
        model or backwards_model(), backwards_tokenizer(), letters_tokenizer().hf, confidence=confidence, name="draft-model"
    )


def byte_pairs(*merges: tuple[str, str], specials: Sequence[str] = ("<|end|>",)) -> Spelling:
    """Bytes, and the merges of a byte-level vocabulary. \u0120 is a space there."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*specials, *letters, *(first + second for first, second in merges)]
    backend = Backend(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=list(merges)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return Spelling(PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=specials[0]))


class TestSpelling:
    def test_what_ids_add(self) -> None:
        spelling = byte_pairs(("a", "b"), ("\u0120", "ab"))
        before, after = spelling.read("x ab"), spelling.read(" ab!")
        assert spelling.spell_after(before, after) == " ab!"
        assert spelling.spell([0, *before]) == "<|end|>x ab"

    def test_a_new_letter_changes_the_token_before_it(self) -> None:
        """ "xa" is x and a; with b behind it x and ab: one of the two ids stays."""
        spelling = byte_pairs(("a", "b"))
        before = spelling.read("xa")
        same, after = spelling.read_after(before, "b")
        assert (same, spelling.spell(after)) == (1, "ab")
        assert spelling.read_after(before, "c") == (2, spelling.read("c"))

    def test_a_text_that_begins_with_a_space_of_its_own(self) -> None:
        """Vocabularies of Llama 2's kind put a space before a text and strip it from one: an end that begins inside a word is not
        read as it was written, and the next word's is."""
        letters = [*"abcdex", "\u2581"]
        merges = [("a", "b"), ("\u2581", "ab"), ("\u2581", "x")]
        tokens = ["<unk>", *letters, *(first + second for first, second in merges)]
        backend = Backend(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges, unk_token="<unk>"))
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.decoder = decoders.Metaspace()
        spelling = Spelling(PreTrainedTokenizerFast(tokenizer_object=backend))
        ids = spelling.read("abc x ab")
        assert spelling.read_after(ids, "c ab") == (len(ids), spelling.read("abc ab")[1:])
        assert spelling.read_after(ids[1:], "c ab") == (len(ids) - 1, spelling.read("abc ab")[1:])
        assert spelling.spell_after(ids[1:], spelling.read("x ab")) == " x ab"

    def test_a_text_read_in_pieces_is_the_text_read_at_once(self) -> None:
        spelling = byte_pairs(("a", "b"), ("ab", "c"), ("\u0120", "abc"), ("\u00c3", "\u00a9"))
        text = "ab abc abcab caf\u00e9 a" * 3
        ids: list[int] = []
        for letter in text:
            tail = ids[-4:]
            same, after = spelling.read_after(tail, letter)
            ids[len(ids) - len(tail) + same :] = after
        assert ids == spelling.read(text)


class TestDrafting:
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    @pytest.mark.parametrize("together", [False, True])
    def test_equal_texts_and_every_guess_right(self, together: bool, temperature: float) -> None:
        """At sharpness 2 even a draw is the next letter nearly always: five nodes, five tokens a step, 40 after the first."""
        decoder = Engine(native(alphabet_model(sharpness=2.0)), {"none": PlainDrafter(), "draft-model": drafter()}, nodes=5)

        def requests(name: str) -> list[Request]:
            params = SamplingParams(temperature=temperature)
            return [
                Request(prompt_ids=letter_ids(text), drafter=name, max_new_tokens=41, seed=i, params=params)
                for i, text in enumerate(PROMPTS)
            ]

        plain = decode(decoder, requests("none"))
        todo = requests("draft-model")
        outcomes = decode(decoder, todo) if together else [decode(decoder, [request])[0] for request in todo]
        assert [outcome.ids for outcome in outcomes] == [outcome.ids for outcome in plain]
        assert [outcome.stats.steps for outcome in outcomes] == [8] * 4

    def test_wrong_guesses_cost_nothing_but_time(self) -> None:
        """The base model wanders; what the draft model wrote is taken back, and it reads on from the true text."""
        draft = backwards_model()
        decoder = Engine(native(alphabet_model(sharpness=0.5)), {"none": PlainDrafter(), "draft-model": drafter(draft)}, nodes=5)
        params = SamplingParams(temperature=1.0)
        outcomes = [
            decode(
                decoder,
                [Request(prompt_ids=letter_ids(text), drafter=name, max_new_tokens=30, seed=4, params=params) for text in PROMPTS],
            )
            for name in ("none", "draft-model")
        ]
        assert [outcome.ids for outcome in outcomes[0]] == [outcome.ids for outcome in outcomes[1]]
        assert 0 < sum(outcome.stats.accepted_tokens for outcome in outcomes[1]) < sum(o.stats.proposed_tokens for o in outcomes[1])
        assert draft.cache.lengths == []

    def test_it_stops_when_it_is_no_longer_sure_and_at_its_own_end(self) -> None:
        """The next letter has 99.9993 %: 1, 0.99999, ... The alphabet ends with a line break, and then the text."""
        state = RowSampling(params=SamplingParams(), seed=0, prompt_length=1, generated=letter_ids("b"))
        made = drafter(confidence=1.0)
        made.start(0, letter_ids("a"), NO_STATE)
        assert made.propose([0], [state], [Budget(6, 5)]).tokens_BN.tolist() == [letter_ids("bc")]
        ending = drafter()
        ending.start(0, letter_ids("."), NO_STATE)
        state.generated = letter_ids(";")
        assert ending.propose([0], [state], [Budget(6, 5)]).tokens_BN.tolist() == [letter_ids(";-\n")]

    def test_beyond_its_context_it_is_silent(self) -> None:
        """Sixteen positions hold text and guesses: nine and three, thirteen and three, and no more."""
        decoder = Engine(
            native(alphabet_model()), {"none": PlainDrafter(), "draft-model": drafter(backwards_model(context=16))}, nodes=4
        )
        (outcome,) = decode(decoder, [Request(prompt_ids=letter_ids("abcdefgh"), drafter="draft-model", max_new_tokens=14)])
        assert outcome.ids == letter_ids("ijklmnopqrstuv")
        assert [len(block) for block in outcome.blocks] == [1, 4, 4, 1, 1, 1, 1, 1]

    def test_half_a_character(self) -> None:
        """The two bytes of \u00e9 are two ids to the base model: behind the first there is no text to draft from."""
        ours = byte_pairs()
        made = SharedTextDrafter(backwards_model(), backwards_tokenizer(), ours._tokenizer, confidence=0.0)
        made.start(0, ours.read("abc"), NO_STATE)
        state = RowSampling(params=SamplingParams(), seed=0, prompt_length=3, generated=ours.read("\u00e9")[:1])
        assert made.propose([0], [state], [Budget(4, 3)]).nodes == 1
        state.generated += ours.read("\u00e9d")[1:]
        assert ours.spell(made.propose([0], [state], [Budget(4, 3)]).tokens_BN[0].tolist()) == "defg"

    def test_bytes_that_never_become_a_character(self) -> None:
        """First bytes of \u00e9 without end: looked at eight at a time, not all of them each step, and drafting goes on."""
        ours = byte_pairs()
        made = SharedTextDrafter(backwards_model(), backwards_tokenizer(), ours._tokenizer, confidence=0.0)
        made.start(0, ours.read("abc"), NO_STATE)
        state = RowSampling(params=SamplingParams(), seed=0, prompt_length=3)
        waiting = []
        for _ in range(20):
            state.generated += ours.read("\u00e9")[:1]
            made.propose([0], [state], [Budget(4, 3)])
            waiting.append(len(made._texts[0].unspelled))
        assert waiting == [*range(1, 8), 0, *range(1, 8), 0, 1, 2, 3, 4]
        state.generated += ours.read("d")
        assert ours.spell(made.propose([0], [state], [Budget(4, 3)]).tokens_BN[0].tolist()) == "defg"
