"""A page for each public name, tables of them in their order of importance, and links to them.

A page in ``docs/reference/`` lists names as mkdocstrings' ``::: path``, the most important first.
Here each of them gets a page of its own, and the list becomes a table of names and summaries.
A name in backticks, in any page or docstring, becomes a link to its page.

Hooks of MkDocs, named in ``mkdocs.yml``.
"""

import html
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

LISTED = re.compile(r"^::: ([\w.]+)$(?!\n    )", re.MULTILINE)
LISTS = re.compile(r"(?:^::: [\w.]+$(?!\n    )\n*)+", re.MULTILINE)
# What stands in code blocks, links and headings is not linked.
CODE = re.compile(r"<(pre|a|autoref|h[1-6])\b.*?</\1>|<code>([^<]+)</code>", re.DOTALL)
NAME = re.compile(
    r"(?:(?:rk|regretkit)\.)?(?:[a-z_]+\.)*?(\w+)(?:\.([a-z]\w*))?(?:\(.*\))?", re.DOTALL
)

package: griffe.Module
pages: dict[str, str] = {}
"""The page of each name that is listed, by its path."""
paths: dict[str, str] = {}
"""The path of each of them, by the last part of it."""


def on_config(config: Any) -> None:
    """Put a page for each listed name behind the page that lists it."""
    global package
    package = griffe.load("regretkit", search_paths=["."])
    pages.clear()
    (section,) = (entry for entry in config.nav if "Reference" in entry)
    section["Reference"] = [
        entry_of(listing, Path(config.docs_dir)) for listing in section["Reference"]
    ]
    paths.update({path.rpartition(".")[2]: path for path in pages})


def entry_of(listing: str, docs: Path) -> dict[str, list[str]]:
    """Return the navigation of one page of the reference: itself, and a page for each name."""
    text = (docs / listing).read_text()
    folder = listing.removesuffix(".md")
    spelled: dict[str, str] = {}
    for path in LISTED.findall(text):
        name = path.rpartition(".")[2]
        # Names that differ in case only share a page: some systems have no two such files.
        pages[path] = f"{folder}/{spelled.setdefault(name.lower(), name)}.md"
    title = text.partition("\n")[0].removeprefix("# ")
    return {title: [listing, *(f"{folder}/{name}.md" for name in spelled.values())]}


def on_files(files: Files, config: Any) -> None:
    """Write the pages of the names."""
    contents: dict[str, str] = {}
    for path, page in pages.items():
        title = path.rpartition(".")[2]
        directive = f"::: {path}\n    options:\n      heading_level: 1\n"
        # The search scores long titles as it does short ones: the shortest name comes first.
        words = len(re.findall("[A-Z]+[a-z]*|[a-z]+", title)) + (".contrib." in path)
        tags = f"tags: [{title[:-5]}+]\n" if title.endswith("_plus") else ""  # as CFR+ is typed
        start = f"---\ntitle: {title}\n{tags}search:\n  boost: {1.5 * words**-0.5:.2f}\n---\n"
        contents[page] = contents.get(page, start) + f"\n{directive}"
    for page, content in contents.items():
        files.append(File.generated(config, page, content=content))


def on_nav(nav: Any, **_: Any) -> None:
    """Make the list of a part of the reference the page of its heading in the navigation."""
    for page in nav.pages:
        if page.file.src_uri.startswith("reference/") and page.file.src_uri not in pages.values():
            url = page.file.url  # which is made of the name when it is first asked for
            page.file.name, page.file.url = "index", url


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make a table of each list of names in a page of the reference."""
    source = page.file.src_uri
    if not source.startswith("reference/") or source in pages.values():
        return markdown
    return LISTS.sub(lambda found: table(found[0], posixpath.dirname(source)), markdown)


def table(listed: str, folder: str) -> str:
    """Return the names of one list, each with a link to its page and its summary."""
    rows = []
    for path in LISTED.findall(listed):
        name = breakable(path.rpartition(".")[2])
        page = posixpath.relpath(pages[path], folder)
        rows.append(f"| [<code>{name}</code>]({page}) | {summary(path)} |")
    return "\n".join(["| name | summary |", "|---|---|", *rows]) + "\n\n"


def breakable(name: str) -> str:
    """Return a name that ends its line before a capital, where a screen is narrow."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=_)", "<wbr>", name)


def summary(path: str) -> str:
    """Return the first line of a docstring."""
    docstring = package[path.removeprefix("regretkit.")].docstring
    return docstring.value.partition("\n")[0].replace("|", "\\|") if docstring else ""


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Make links of the public names in backticks, and let long names break between words."""
    # One word in lower case may be a parameter in a docstring, and is a command on that page.
    source = page.file.src_uri
    ambiguous = source in pages.values() or source == "how_to/use_the_command_line.md"

    def linked(found: re.Match[str]) -> str:
        if not found[2]:
            return found[0]
        code, name = html.unescape(found[2]), f"<code>{breakable(found[2])}</code>"
        path = None if ambiguous and code.isalpha() and code.islower() else path_of(code)
        if not path or pages.get(path) == source:
            return name
        return f'<autoref identifier="{path}" optional>{name}</autoref>'

    # The search shows what follows the heading with which a page begins.
    content = re.sub(
        r"^(<div class=\"doc doc-object.*?)(<h1.*?</h1>)", r"\2\1", content, flags=re.DOTALL
    )
    return CODE.sub(linked, content)


def path_of(code: str) -> str | None:
    """Return the path of a name, of an attribute of one, or of one that is called."""
    found = NAME.fullmatch(code)
    if not found or found[1] not in paths:
        return None
    path, member = paths[found[1]], found[2]
    if not member:
        return path
    kind = package[path.removeprefix("regretkit.")]
    if not kind.is_class or member not in kind.all_members:
        return None
    # An attribute stands on the page of the class that defines it.
    for ancestor in [kind, *kind.mro()]:
        if member in ancestor.members and ancestor.name in paths:
            return f"{paths[ancestor.name]}.{member}"
    return path


def on_post_page(output: str, **_: Any) -> str:
    """Leave out the modules where names are defined, which hovering over a type would show."""
    return re.sub(r' title="regretkit\.[\w.]*\b_[\w.]*"', "", output)
