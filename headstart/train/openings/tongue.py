"""Sentences of one language: whole clauses, and subjects and predicates that combine into clauses."""

from dataclasses import dataclass

_SHAPES = (
    "{clause}.",
    "{clause}{tail}.",
    "{clause}{tail}.",
    "{clause}{tail}. {clause2}.",
    "{clause}. {clause2}{tail}.",
    "{clause}{tail}. {clause2}{tail2}.",
    "{clause}{tail}. {clause2}. {clause3}{tail2}.",
)


@dataclass(frozen=True, kw_only=True)
class Tongue:
    """Material to write in one language. Slots for places and months carry its name: {place_german}."""

    name: str
    """The language, in English."""
    clauses: tuple[str, ...]
    """Main clauses without a full stop."""
    subjects: tuple[str, ...]
    """Third person singular."""
    predicates: tuple[str, ...]
    """Go with any subject."""
    tails: tuple[str, ...]
    """May follow any clause; each brings its comma."""
    places: tuple[str, ...]
    months: tuple[str, ...]

    def words(self) -> dict[str, tuple[str, ...]]:
        """The word lists behind the slots {text_german}, {clause_german} and {tail_german}, here for German."""
        key = self.name.lower()
        # Combined clauses come as often as ready ones. Three spellings, so that one text can hold three different ones.
        combined = tuple(f"{{subject_{key}{number}}} {{predicate_{key}{number}}}" for number in ("", "2", "3"))
        return {
            f"place_{key}": self.places,
            f"month_{key}": self.months,
            f"subject_{key}": self.subjects,
            f"predicate_{key}": self.predicates,
            f"tail_{key}": self.tails,
            f"clause_{key}": self.clauses + combined * (len(self.clauses) // len(combined)),
            f"text_{key}": tuple(shape.replace("clause", f"clause_{key}").replace("tail", f"tail_{key}") for shape in _SHAPES),
        }
