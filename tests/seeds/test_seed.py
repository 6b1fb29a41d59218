"""Seeds: what the user gives as a start becomes rows of the two vocabularies, or one line that says what to do."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexError, CoverageWarning, InputError
from bilex.seeds.seed import Seed, SeedLike, find_seed
from bilex.vectors.embeddings import Embeddings


def language(*words: str) -> Embeddings:
    return Embeddings(words, np.ones((len(words), 2), np.float32))


SOURCE = language("the", "1999", "taxi", "Paris", "²", "12a", "१२", "2000", "1 000")
TARGET = language("taxi", "2000", "paris", "1999", "²", "le", "12a", "१२", "7", "1 000")


def words_of(seed: Seed) -> list[tuple[str, str]]:
    return [(SOURCE.words[s], TARGET.words[t]) for s, t in zip(seed.source, seed.target, strict=True)]


def test_identical_strings_are_all_words_spelt_the_same_in_the_sources_order() -> None:
    seed = find_seed("identical", SOURCE, TARGET)
    assert words_of(seed) == [(word, word) for word in ("1999", "taxi", "²", "12a", "१२", "2000", "1 000")]
    assert (seed.name, seed.given) == ("identical", 7)


def test_numerals_are_ascii_digits_and_nothing_else() -> None:
    """The paper's [0-9]+ in full: no superscripts, no other scripts' digits, no mixture."""
    seed = find_seed("numerals", SOURCE, TARGET)
    assert words_of(seed) == [("1999", "1999"), ("2000", "2000")]
    assert seed.name == "numerals"


def test_a_dictionary_keeps_the_pairs_both_sides_know_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "seed.txt"
    path.write_text("taxi taxi\nthe le\nthe nonesuch\nnonesuch le\nthe le\nthe taxi\n")
    seed = find_seed(path, SOURCE, TARGET)
    assert words_of(seed) == [("the", "taxi"), ("the", "le"), ("taxi", "taxi")]
    assert (seed.name, seed.given, len(seed)) == (str(path), 5, 3)


def test_a_file_of_that_name_does_not_hide_the_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "identical").write_text("the le\n")
    monkeypatch.chdir(tmp_path)
    assert find_seed("identical", SOURCE, TARGET).name == "identical"
    assert words_of(find_seed("./identical", SOURCE, TARGET)) == [("the", "le")]


def test_pairs_of_words_in_any_order_give_the_same_seed() -> None:
    pairs = [("taxi", "taxi"), ("the", "le"), ("1999", "1999")]
    forth, back = find_seed(pairs, SOURCE, TARGET), find_seed(iter(pairs[::-1]), SOURCE, TARGET)
    assert words_of(forth) == words_of(back) == [("the", "le"), ("1999", "1999"), ("taxi", "taxi")]


@pytest.mark.parametrize(
    ("seed", "source", "message"),
    [
        ("identical", language("nothing", "alike"), "share no words; give a dictionary"),
        ("numerals", language("taxi"), "share no numerals; try --seed identical or a dictionary"),
        ([("le", "the")], SOURCE, "the other way round"),
        ([("The", "LE")], SOURCE, "in lower case 1 would be"),
        ([("ca\u0301sa", "x")], language("c\xe1sa"), "none of the 1 seed pairs"),
        (["ab", "cd"], SOURCE, "is not a pair of words"),
        ("identcal", SOURCE, "--seed identical"),
        ([], SOURCE, "none of the 0 seed pairs"),
    ],
)
def test_a_seed_without_a_pair_is_an_error_that_says_what_to_do(
    seed: SeedLike, source: Embeddings, message: str
) -> None:
    with pytest.raises(BilexError, match=message):
        find_seed(seed, source, TARGET)


def test_a_dictionary_without_a_known_pair_names_the_file_and_shows_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "seed.txt"
    path.write_text("le the\nThe Le\n")
    with pytest.raises(InputError, match=r"seed\.txt: none of its 2 pairs .*'le the'.*; the other way round"):
        find_seed(str(path), SOURCE, TARGET)


def test_a_dictionary_that_is_hardly_known_gets_a_warning_and_a_hint() -> None:
    unknown = [(f"x{number}", f"y{number}") for number in range(20)]
    for pairs, hint in (
        ([("the", "le"), *unknown], "only 1 of its 21 pairs"),
        ([("taxi", "taxi"), ("le", "the"), ("nuit", "night"), ("maison", "house")], "the other way round"),
        ([("the", "le"), ("night", "nuit"), ("taxi", unicodedata.normalize("NFD", "été"))], "in Unicode's NFC 3"),
    ):
        with pytest.warns(CoverageWarning, match=hint):
            find_seed(pairs, language("the", "taxi", "night", "house"), language("le", "taxi", "nuit", "maison", "été"))
