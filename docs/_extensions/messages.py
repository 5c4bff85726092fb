"""The page "Every message": the errors and warnings of the package, by room."""

import said
from docutils import nodes
from docutils.parsers.rst import Directive

TITLES = {
    "cli": "The commands",
    "data": "Files, samples and folds",
    "estimators": "Classifiers",
    "export": "ONNX graphs",
    "extras": "Packages that are missing",
    "hidden": "Hidden positives",
    "prior": "The share of positives",
    "review": "Reviews",
    "storage": "Model folders",
    "table": "Tables",
}


class EveryMessage(Directive):
    """All messages, a section for each room of the code, an anchor for each message."""

    def run(self):
        """Read the source."""
        rooms = {}
        for module, kind, text in said.messages():
            if said.told(text):
                rooms.setdefault(module.split("/")[0], {})[" ".join(text.split())] = kind
        return [self.section(room, found) for room, found in sorted(rooms.items())]

    def section(self, room, found):
        """Return the messages of a room."""
        """Return the messages of a room."""
        section = nodes.section(ids=[f"messages-{room}"])
        section += nodes.title(text=TITLES.get(room, room.capitalize()))
        listed = nodes.bullet_list()
        for number, (text, kind) in enumerate(sorted(found.items()), 1):
            item = nodes.list_item(ids=[f"messages-{room}-{number}"])
            item += nodes.paragraph(text=text if kind == "error" else f"Warning: {text}")
            listed += item
        section += listed
        return section


def setup(app):
    """Register the directive."""
    app.add_directive("every-message", EveryMessage)
    return {"parallel_read_safe": True}
