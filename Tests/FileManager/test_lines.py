"""What Dolphin's helper is asked and says, a line each, with the agent, clock and timers of `test_view`."""

import json

import pytest
from synctrain_files import lines as module
from synctrain_files.lines import Lines
from synctrain_files.view import PAUSE
from test_view import World


class Talk:
    def __init__(self):
        self.world, self.said, self.chosen = World(), [], []
        self.lines = Lines(self.world.view, self.said.append, self.chosen.append)
        # What the view hears of, the helper looks at again.
        self.world.view._changed = self.lines.look

    def ask(self, **order):
        self.lines.take(json.dumps(order).encode())
        self.world.answer()
        said, self.said[:] = list(self.said), []
        return said


@pytest.fixture
def talk():
    return Talk()


def test_an_emblem_is_said_once_and_again_when_it_is_another_one(talk):
    assert talk.ask(look="/home/f/a/x") == [{"path": "/home/f/a/x", "emblem": "synctrain-absent"}]
    assert talk.ask(look="/home/f/a/x") == []
    talk.world.tree["a"]["x"] = "present"
    for line, _ in talk.world.streams:
        line({"type": "files-changed", "folder": "f"})
    talk.world.wait(PAUSE)
    talk.world.answer()
    assert talk.said == [{"path": "/home/f/a/x", "emblem": "synctrain-here"}]


def test_what_has_no_emblem_is_not_mentioned_until_it_had_one(talk):
    assert talk.ask(look="/home/other") == []
    assert talk.ask(look="/home/f/a/y") == [{"path": "/home/f/a/y", "emblem": "synctrain-here"}]
    for _, ended in talk.world.streams:
        ended()
    talk.world.view._leave()
    talk.world.answer(is_away=True)
    assert talk.said == [{"path": "/home/f/a/y", "emblem": None}]


def test_what_was_hidden_is_said_again(talk):
    assert len(talk.ask(look="/home/f/a/x")) == 1
    assert talk.ask(hide="/home/f/a/x") == []
    assert len(talk.ask(look="/home/f/a/x")) == 1


def test_a_menu_has_items_that_can_be_chosen(talk):
    (menu,) = talk.ask(menu=["/home/f/a/x", "/home/f/a/y"], id=3)
    assert menu["menu"] == 3 and [item["action"] for item in menu["items"]] == ["keep", "free"]
    talk.ask(choose=3, action="free")
    talk.ask(choose=3, action="show")
    talk.ask(choose=4, action="free")
    assert [(item.action, item.references) for item in talk.chosen] == [("free", ("f:a/y",))]
    for number in range(10, 10 + module.MENUS):
        talk.ask(menu=["/home/f/a/x"], id=number)
    talk.ask(choose=3, action="free")
    assert len(talk.chosen) == 1, "an old menu is forgotten"


def test_a_menu_of_what_is_not_known_is_empty(talk):
    assert talk.ask(menu=["/home/f/a/x", "/elsewhere"], id=1) == [{"menu": 1, "items": []}]
    assert talk.ask(menu=[], id=2) == [{"menu": 2, "items": []}]
    assert talk.ask(menu=["/home/f/a/x"] * (module.FILES + 1), id=3) == [{"menu": 3, "items": []}]


@pytest.mark.parametrize("line", [b"", b"{", b"null", b"[1]", b'{"look":1}', b'{"menu":"a","id":1}', b'{"menu":[1],"id":1}', b'{"menu":["a"]}',
                                  b'{"choose":"a"}', b"[" * 100_000, b'{"choose":1,"action":[]}', b"\xff"])
def test_a_line_that_is_no_question_is_skipped(talk, line):
    talk.lines.take(line)
    assert talk.said == [] and talk.chosen == [] and talk.world.asked == []
