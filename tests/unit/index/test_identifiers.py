from goose_lsp.index.identifiers import Speller, weigh_identifiers
from tests.vocabularies import joining_tokenizer, marked_tokenizer


def test_near_names_weigh_more_and_keywords_nothing() -> None:
    weights = weigh_identifiers(["far = 1", *["pass"] * 7, "return near + far_too"], ["é_name"])
    assert weights["é_name"] == weights["near"] == weights["far_too"] > weights["far"] > 0
    assert list(weights) == ["near", "far_too", "é_name", "far"]


def test_the_nearest_place_of_a_name_decides() -> None:
    near = weigh_identifiers(["name"], [])
    assert weigh_identifiers(["name", "", "name"], ["", "name"]) == near
    assert weigh_identifiers(["name", ""], ["name", "name"]) == near


def test_a_name_is_spelled_as_the_vocabulary_joins_it() -> None:
    tokenizer = joining_tokenizer()
    spellings = [tokenizer.decode(ids.tolist()) for ids in Speller(tokenizer).spellings("abc")]
    assert spellings == ["abc", " abc"]
    assert len(Speller(marked_tokenizer([])).spellings("abc")) == 1
