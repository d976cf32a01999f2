"""The search of the site without a browser: BM25 over search_index.json, with the weights of Material for MkDocs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

TITLE_WEIGHT = 10.0
PREFIX_WEIGHT = 0.5
"""The weight of a word that only begins with a word of the question, as the search adds a star to each word."""
K1, B = 1.2, 0.75
_STOP = re.compile(r"an?|and|are|as|at|be|by|can|does?|for|from|how|i|in|is|it|not|of|on|or|the|that|to|was|with")
_TAG = re.compile(r"<[^>]+>")
_WORD = re.compile(r"[a-z0-9]+")


def words_of(text: str) -> list[str]:
    """The words of a text, without tags and endings."""
    words = _WORD.findall(_TAG.sub(" ", text).lower())
    return [
        re.sub(r"(ies|ied)$", "y", re.sub(r"(?<=[a-z]{3})(ing|ed|es|s|e)$", "", w))
        for w in words
        if not _STOP.fullmatch(w)
    ]


class Search:
    """The sections of the site, ranked for a question."""

    def __init__(self, index: Mapping[str, Any]) -> None:
        self.sections: Sequence[Mapping[str, Any]] = index["docs"]
        self.fields = [(Counter(words_of(s["title"])), Counter(words_of(s["text"]))) for s in self.sections]
        self.lengths = [max(1, sum(text.values())) for _, text in self.fields]
        self.mean = sum(self.lengths) / len(self.lengths)
        known = Counter(word for title, text in self.fields for word in {*title, *text})
        self.rarity = {word: math.log(1 + (len(self.fields) - n + 0.5) / (n + 0.5)) for word, n in known.items()}

    def pages(self, question: str) -> list[str]:
        """The addresses of all pages that have a word of the question, the best first."""
        best: dict[str, float] = {}
        asked = [
            [(self.rarity[known] * (1.0 if known == word else PREFIX_WEIGHT), known) for known in self._like(word)]
            for word in words_of(question)
        ]
        for section, (title, text), length in zip(self.sections, self.fields, self.lengths, strict=True):
            score = sum(
                max((weight * self._value(known, title, text, length) for weight, known in one), default=0.0)
                for one in asked
            )
            page = section["location"].partition("#")[0].removesuffix(".html")
            best[page] = max(best.get(page, 0.0), score * section.get("boost", 1))
        return sorted((page for page, score in best.items() if score), key=lambda page: -best[page])

    def _like(self, word: str) -> list[str]:
        return [known for known in self.rarity if known.startswith(word)]

    def _value(self, word: str, title: Counter[str], text: Counter[str], length: int) -> float:
        many = text[word]
        return TITLE_WEIGHT * (word in title) + many * (K1 + 1) / (many + K1 * (1 - B + B * length / self.mean))
