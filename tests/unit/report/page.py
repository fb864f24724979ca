"""A page as a browser reads it."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """A page as a browser would parse it. Parsing fails at a tag that is not closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened_addresses: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.opened_addresses == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.opened_addresses.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.opened_addresses.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.opened_addresses[-1] if self.opened_addresses else "", data))

    def list_values(self, name: str) -> list[str]:
        return [value for attribute, value in self.attributes if attribute == name]

    @property
    def text(self) -> str:
        return " ".join(" ".join(data for tag, data in self.texts if tag != "style").split())
