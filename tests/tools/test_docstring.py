import pytest

from sidestream.tools.docstring import documented

ROWS: list[tuple[str | None, str, dict[str, str]]] = [
    (None, "", {}),
    ("", "", {}),
    ("Does it.", "Does it.", {}),
    ("Does it.\n\nMore of it.", "Does it.\n\nMore of it.", {}),
    ("Weather. Args: a: its name.", "Weather.", {"a": "its name."}),
    ("Weather. Args: a: its name. b: how many.", "Weather.", {"a": "its name.", "b": "how many."}),
    ("Args: a: its name.", "", {"a": "its name."}),
    ("Weather.\nArgs: a: its name.", "Weather.", {"a": "its name."}),
    ("Weather.\n\nArgs:\n    a: its name.\n    b: how many.", "Weather.", {"a": "its name.", "b": "how many."}),
    ("Weather.\n\nArgs:\n    a (str, optional): its name.", "Weather.", {"a": "its name."}),
    ("Weather.\n\nArgs:\n    a: its name,\n        in any language.\n    b:\n        how many.", "Weather.",
     {"a": "its name, in any language.", "b": "how many."}),
    ("Weather.\n\nArguments:\n  a: x\n\nReturns:\n  b: text", "Weather.", {"a": "x"}),
    ("Weather.\n\nReturns:\n    a: text\n\nArgs:\n    a: its name", "Weather.", {"a": "its name"}),
    ("Weather.\n\nRaises:\n    ValueError: a: if so", "Weather.", {}),
    ("Weather.\n\nArgs:\n    a: its name\n\nNote:\n    b: not this", "Weather.", {"a": "its name"}),
    ("Weather.\n\nNote: slow.\n\nArgs:\n    a: x", "Weather.\n\nNote: slow.", {"a": "x"}),
    ("Weather.\n\nExample:\n    weather(1)\n", "Weather.\n\nExample:\n    weather(1)", {}),
    ("Weather.\n\nArgs:\n    a: one of these: x, y\n    *b: rest\n    **c: more", "Weather.",
     {"a": "one of these: x, y", "b": "rest", "c": "more"}),
    ("Weather.\n\nArgs:\n    a: see\n        http://x/y: that", "Weather.", {"a": "see http://x/y: that"}),
    ("Weather.\n\nArgs:\n    nobody: is no parameter", "Weather.", {}),
    ("Parses args: no section here.", "Parses args: no section here.", {}),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "text", "parameters"), ROWS)
def test_a_docstring_says_what_the_function_and_its_parameters_are(doc, text, parameters):
    assert documented(doc, ["a", "b", "c"]) == (text, parameters)
    if doc is not None and "\n" in doc:
        indented = doc.replace("\n", "\n        ")
        assert documented(indented, ["a", "b", "c"]) == (text, parameters)
