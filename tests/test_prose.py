"""Code blocks of pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Amplint

from amplint.documents import Document
from amplint.fixer import Fixer
from amplint.registry import installed

pytestmark = pytest.mark.usefixtures("demo_rules")

MARKDOWN = """\
# bad

bad

```python
x
bad
```

- a list

  ~~~{.py .numberLines}
  lonely

  bad
  ~~~

````md
```text
bad
```
````

```bash
bad
```

``` python title="a"
a fragment that bad leaves out ...
```

```{code-cell} ipython3
:tags: [bad]
```

```python
bad"""

SESSION = """\
```pycon
>>> bad
'bad'
>>> for x in bad:
...     x
...
... # bad
bad
>>>
>>> lonely
```
"""

RST = """\
bad::

    bad

.. code-block:: python
   :linenos:

   x
   bad

   if y:
       lonely

.. code:: bash

   bad

   .. sourcecode:: py

      bad
bad
"""


def fix(filename: str, content: str) -> str:
    read = Document.from_bytes(filename, content.encode())
    assert read.encode() == content.encode()
    rules = installed().rules
    return Fixer([rule for rule in rules if rule.code.startswith("DEMO")], rules).fix(read).document.encode().decode()


def test_blocks_of_markdown() -> None:
    assert fix("a.md", MARKDOWN) == (
        MARKDOWN.replace("python\nx\nbad", "python\nimport company\nx\ngood")
        .replace("  lonely\n\n  bad", "  lonely\n\n  good")
        .replace("```python\nbad", "```python\ngood")
    )


def test_blocks_of_restructured_text() -> None:
    assert fix("a.rst", RST) == RST.replace("   x\n   bad", "   import company\n   x\n   good")


def test_what_was_typed_in_a_session_is_code_and_what_was_answered_is_not() -> None:
    read = Document.from_bytes("a.md", SESSION.encode())
    assert compile(read.text, "a.md", "exec")
    assert str(read.place(read.location(read.text.rindex("lonely")))) == "10:5"
    assert fix("a.md", SESSION) == (
        SESSION.replace(">>> bad", ">>> good").replace("in bad", "in good").replace("# bad", "# good")
    )


def test_a_place_is_one_in_the_file() -> None:
    read = Document.from_bytes("a.md", MARKDOWN.encode())
    assert str(read.place(read.location(read.text.index("lonely")))) == "13:3"
    assert read.source_row(read.location(read.text.index("lonely")).row) == "  lonely"
    for offset in range(len(read.text)):
        location = read.location(offset)
        if location.row in read.rows_beside(location.row):
            assert read.file_place(location) == read.place(location)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_pages_are_looked_into_only_if_asked_for(amplint: Amplint, tmp_path: Path, newline: str) -> None:
    (tmp_path / "a.md").write_bytes(MARKDOWN.replace("\n", newline).encode())
    (tmp_path / "a.rst").write_bytes(RST.replace("\n", newline).encode())
    assert not amplint("--select", "DEMO", "--output-format", "concise").stdout.strip().startswith(b"a.")
    done = amplint("--select", "DEMO001", "--include-docs", "--output-format", "concise")
    assert [line.partition(": ")[0] for line in done.stdout.decode().splitlines() if line.startswith("a.")] == [
        "a.md:7:1",
        "a.md:15:3",
        f"a.md:{len(MARKDOWN.splitlines())}:1",
        "a.rst:9:4",
    ]
    diff = amplint("--select", "DEMO001", "--include-docs", "--diff").stdout.decode()
    assert "--- a.md\n+++ a.md\n" in diff
    assert amplint("--select", "DEMO001", "--include-docs", "--fix").returncode == 0
    fixed = RST.replace("   x\n   bad", "   x\n   good").replace("\n", newline)
    assert (tmp_path / "a.rst").read_bytes() == fixed.encode()
