"""README.md and every page of docs/ say what happens: their commands and snippets run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import pages
from optarena.cli import COMMANDS, REFUSED, _app
from pages import MissingExtra, all_pages, blocks, in_sentences, renew, run_page, same
from test_public_commands import exported_tables


@pytest.mark.parametrize("page", all_pages())
@pytest.mark.slow
def test_a_page_runs_as_it_is_printed(page, tmp_path):
    try:
        wrong = run_page(page, tmp_path)
    except MissingExtra as missing:
        pytest.skip(str(missing))
    assert not wrong, "\n\n".join(map(str, wrong))


def test_commands_in_sentences_have_options_that_exist():
    """They may lack what a sentence leaves out; values are checked as far as the command line checks them."""
    seen, wrong = 0, []
    for page, (name, *words) in in_sentences():
        assert name in COMMANDS or name in ("--help", "--version"), f"{page}: optarena {name}"
        if name not in COMMANDS or name == "bayesmark" or "--help" in words:
            continue
        command = typer.main.get_command(_app(name))
        try:
            getattr(command, "commands", {name: command})[name].make_context(name, words)
        except REFUSED as error:
            left_out = "requires an argument" in str(error) or type(error).__name__ == "MissingParameter"
            wrong += [] if left_out else [f"{page}: optarena {name} {' '.join(words)}: {error}"]
        seen += 1
    assert wrong == []
    assert seen > 30


@pytest.mark.parametrize(
    ("printed", "found", "equal"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "…"], ["a", "b", "c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["…", "b"], ["a", "b", "c"], False),
        (["took … s"], ["took 1.5 s"], True),
        (["took … s"], ["took 1.5 min"], False),
    ],
)
def test_dots_stand_for_lines_or_for_text(printed, found, equal):
    assert same(printed, found) == equal


PAGE = """
```console
$ x=3
$ echo $x   # a comment
3
$ echo \\
    $((x + 1))
5
$ false
$ echo optarena: no; false
optarena: no
$ echo optarena: no
optarena: no
$ make nothing
$ pip install 'optarena[nothing]'
```

```python title="mine.py"
value = 2
```

```python
from mine import value

value  # 2
value + 1  # 4: or not
print("hello")
```

```text
hello
```

![What no command draws](nothing.svg)
"""


def test_what_differs_is_told_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "Makefile").write_text("all:\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "run").mkdir()
    wrong = [str(place).splitlines()[0] for place in run_page("page.md", tmp_path / "run")]
    assert wrong == [
        "page.md:7: echo \\",
        "page.md:9: exit 1 of false",
        "page.md:12: exit 0 of echo optarena: no",
        "page.md:14: the Makefile has no target nothing",
        "page.md:15: there is no extra nothing",
        "page.md:23: the snippet fails:",
        "page.md:30: the snippet prints",
        "page.md:34: nothing writes nothing.svg",
    ]


EXAMPLE = """
```console
$ printf '<path d="M0.04,1L1.26,1L2,1L2,5.55"/>' > drawn.svg
$ echo 2
```

```text
1
```

![Drawn](drawn.svg)
"""


def test_an_example_of_output_is_not_compared_but_renewed_and_so_are_pictures(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    (tmp_path / "page.md").write_text(EXAMPLE)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    for name, run in (("run", run_page), ("renew", renew)):
        (tmp_path / name).mkdir()
        assert run("page.md", tmp_path / name) == []
    assert (tmp_path / "page.md").read_text() == EXAMPLE.replace("\n1\n", "\n2\n")
    assert (tmp_path / "drawn.svg").read_text() == '<path d="M0,1L2,1L2,5.5"/>'


def test_a_missing_extra_ends_a_page_wherever_its_line_is_broken(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    said = "optarena: Mine is not installed: pip install\\n  \\047optarena[mine]\\047"
    (tmp_path / "page.md").write_text(f"```console\n$ printf '{said}'; false\n```\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "run").mkdir()
    with pytest.raises(MissingExtra, match=r"^Mine is not installed: pip install 'optarena\[mine\]'$"):
        run_page("page.md", tmp_path / "run")


def test_the_blocks_of_a_page_are_found_with_their_files():
    found = list(blocks(PAGE))
    assert [(block.kind, block.file) for block in found] == [
        ("console", ""),
        ("python", "mine.py"),
        ("python", ""),
        ("text", ""),
    ]
    assert [typed.printed for typed in found[0].commands()][:3] == [[], ["3"], ["5"]]
    assert "README.md" in all_pages()
    assert Path(pages.__file__).parent.name == "tests"


def test_every_column_of_every_table_is_in_the_reference(tmp_path):
    text = (pages.ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([\w…]+)`", text))
    parts = [(name.partition(": "), table) for name, table in exported_tables(tmp_path).items()]
    tables = [(of[2] or of[0], table) for of, table in parts if not of[0].startswith(("compare", "csv"))]
    assert len(tables) > 20
    for name, table in tables:
        assert f"**`{name}`**" in text or name == "studies"
        assert [column for column in table.columns if column not in told and not re.search("_[lu]b$", column)] == []


NO_SCORES = {
    "1.10": "a mode, which keeps another tool's rules",
    "2.14": "a mode",
    "4.12": "a mode",
    "4.9": "a check of other scores",
    "4.11": "what proofs count in other scores",
    "6.1": "what a round is: 6.3 has the example",
    "6.2": "a proof: 6.3 has the example",
}


def sections_of_scores():
    """The numbered sections of docs/scores.md from 1 on that have no sections of their own, with their text."""
    text = (pages.ROOT / "docs" / "scores.md").read_text(encoding="utf-8").partition("## References")[0]
    parts = re.split(r"^#{2,3} (\d+(?:\.\d+)?)\.? .*$", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {
        number: body
        for number, body in found.items()
        if not number.startswith("0") and not any(other.startswith(f"{number}.") for other in found)
    }


def test_every_score_has_an_example_that_runs_and_says_when_it_misleads():
    found = sections_of_scores()
    assert len(found) > 60
    assert NO_SCORES.keys() < found.keys()
    scores = {number: body for number, body in found.items() if number not in NO_SCORES}
    assert [number for number, body in scores.items() if "**Example.**\n\n```python" not in body] == []
    assert [number for number, body in scores.items() if "**When it misleads.**" not in body] == []
