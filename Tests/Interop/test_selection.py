"""What is kept: `select`, `deselect`, `explain`, modes, and `.stignore` edited by hand, with a real Syncthing that has all."""

import json
import os

import agent as cli
import harness
import pytest
from harness import Pair, read, write
from process import wait_until


@pytest.fixture(scope="module")
def pair(module_lab):
    pair = Pair(module_lab, "sel", mode="selective")
    for album in ("first", "second", "third"):
        for number in range(5):
            write(os.path.join(pair.there, "music", album, f"{number}.mp3"), f"{album} {number}".encode() * 1000)
    for name in ("ab", "a/one", "a/two", "a/deep/three", "plain.txt", "docs/x", "docs/y", "docs/sub/z"):
        write(os.path.join(pair.there, name), name.encode())
    os.makedirs(os.path.join(pair.there, "hollow", "empty"))
    pair.scan_there()
    pair.agent.wait_global("sel", 23)
    return pair


@pytest.fixture(autouse=True)
def complete_for_the_node(pair):
    """Whatever is selected, the node sees the agent at 100 % when it is at rest, and has lost nothing itself."""
    before = harness.regular_files(pair.there)
    yield
    if pair.status["state"] in ("idle", "syncing", "scanning"):
        pair.agent.run("wait", "sel", "--timeout", 20)
        pair.wait_at_rest()
    after = harness.regular_files(pair.there)
    assert {path: before[path] for path in before if path not in after} == {}, "the node lost files"


def ignores(pair):
    return (read(os.path.join(pair.here, ".stignore")) or b"").decode().splitlines()


def select(pair, *paths, undo=False, options=()):
    return pair.agent.document("deselect" if undo else "select", *[f"sel:{path}" for path in paths], *options)["folders"][0]


def kept(pair, under=""):
    """What is on this disk of the folder, once the agent is at rest."""
    pair.agent.run("wait", "sel", "--timeout", 20)
    return sorted(harness.walk(os.path.join(pair.here, under)))


def clear(pair):
    """Nothing selected, nothing on this disk."""
    for entry in pair.agent.records("select", "--list", "sel"):
        select(pair, entry["path"], undo=True)
    pair.agent.run("wait", "sel", "--timeout", 20)


def test_nothing_is_selected_at_first(pair):
    assert kept(pair) == []
    assert pair.agent.records("select", "--list", "sel") == []
    status = pair.status
    assert status["mode"] == "selective" and status["global"]["files"] == 23 and status["local"]["files"] == 0
    assert status["need"] == {"files": 0, "directories": 0, "bytes": 0, "deletions": 0}
    entry = pair.agent.records("stat", "sel:plain.txt")[0]
    assert (entry["state"], entry["selected"]) == ("absent", "no")


def test_dry_run_changes_nothing(pair):
    before = ignores(pair)
    outcome = select(pair, "music/first", options=["--dry-run"])
    assert outcome["dryRun"] and outcome["added"] == ["!/music/first"]
    assert (outcome["cost"]["fetchFiles"], outcome["cost"]["fetchBytes"]) == (5, 5 * 7000)
    assert outcome["paths"] == [{"path": "music/first", "exists": True, "kind": "directory", "selected": "explicit",
                                 "exception": False}]
    assert ignores(pair) == before and kept(pair) == []


def test_select_a_directory(pair):
    outcome = select(pair, "music/first")
    assert outcome["added"] == ["!/music/first"] and not outcome["dryRun"]
    pair.agent.run("wait", "sel", "--timeout", 20)
    assert kept(pair, "music") == ["first"] + [f"first/{number}.mp3" for number in range(5)]
    assert harness.snapshot(os.path.join(pair.here, "music/first")) == harness.snapshot(
        os.path.join(pair.there, "music/first"))
    entry = pair.agent.records("stat", "sel:music/first")[0]
    assert entry["selected"] == "explicit"
    entry = pair.agent.records("stat", "sel:music/first/0.mp3")[0]
    assert (entry["state"], entry["selected"]) == ("present", "implicit")
    assert pair.agent.records("stat", "sel:music/second/0.mp3")[0]["state"] == "absent"
    # What comes later below it comes too, and what does not is left out.
    write(os.path.join(pair.there, "music/first/new.mp3"), b"new")
    write(os.path.join(pair.there, "music/second/new.mp3"), b"new")
    pair.scan_there("music")
    wait_until(lambda: read(os.path.join(pair.here, "music/first/new.mp3")) == b"new", what="the new file comes")
    assert not os.path.exists(os.path.join(pair.here, "music/second"))


def test_local_files_in_what_is_selected_go_to_the_node_and_others_do_not(pair):
    select(pair, "music/first")
    write(os.path.join(pair.here, "music/second/mine.mp3"), b"not selected")
    write(os.path.join(pair.here, "music/first/mine.mp3"), b"selected")
    wait_until(lambda: read(os.path.join(pair.there, "music/first/mine.mp3")) == b"selected", what="the file arrives")
    assert not os.path.exists(os.path.join(pair.there, "music/second/mine.mp3"))
    listed = [entry["path"] for entry in pair.agent.records("extraneous", "list", "sel")
              if entry["type"] == "file"]
    assert listed == ["music/second/mine.mp3"]
    os.remove(os.path.join(pair.here, "music/second/mine.mp3"))
    os.rmdir(os.path.join(pair.here, "music/second"))


def test_a_parent_subsumes_and_a_sibling_with_the_same_beginning_does_not(pair):
    select(pair, "a/one")
    assert kept(pair, "a") == ["one"]
    outcome = select(pair, "a")
    assert outcome["added"] == ["!/a"] and outcome["removed"] == ["!/a/one"]
    assert kept(pair, "a") == ["deep", "deep/three", "one", "two"]
    assert not os.path.exists(os.path.join(pair.here, "ab"))
    assert select(pair, "a/two")["added"] == [], "selected already"


def test_deselecting_a_part_leaves_the_file_and_the_node_keeps_it(pair):
    select(pair, "docs")
    assert kept(pair, "docs") == ["sub", "sub/z", "x", "y"]
    dry = select(pair, "docs/x", undo=True, options=["--dry-run", "--keep-local"])
    assert dry["cost"]["extraneousFiles"] == 1 and dry["cost"]["extraneousBytes"] == 6
    outcome = select(pair, "docs/x", undo=True, options=["--keep-local"])
    assert outcome["added"] == ["/docs/x"] and outcome["paths"][0]["exception"] is True
    lines = ignores(pair)
    assert lines.index("/docs/x") < lines.index("!/docs") < lines.index("*")
    assert read(os.path.join(pair.here, "docs/x")) == b"docs/x", "it stays where it is"
    assert pair.agent.records("stat", "sel:docs/x")[0]["state"] == "extraneous"
    assert [entry["path"] for entry in pair.agent.records("extraneous", "list", "sel")] == ["docs/x"]
    wait_until(lambda: pair.status["extraneous"] == 1, what="the status counts it")
    # Changed and deleted here, it is nobody else's affair.
    write(os.path.join(pair.here, "docs/x"), b"mine now")
    write(os.path.join(pair.here, "docs/y"), b"changed")
    wait_until(lambda: read(os.path.join(pair.there, "docs/y")) == b"changed", what="the other file arrives")
    os.remove(os.path.join(pair.here, "docs/x"))
    write(os.path.join(pair.here, "docs/y"), b"changed again")
    wait_until(lambda: read(os.path.join(pair.there, "docs/y")) == b"changed again", what="the other file arrives")
    assert read(os.path.join(pair.there, "docs/x")) == b"docs/x"
    # Selected again, it comes back.
    outcome = select(pair, "docs/x")
    assert outcome["removed"] == ["/docs/x"]
    pair.agent.run("wait", "sel", "--timeout", 20)
    assert read(os.path.join(pair.here, "docs/x")) == b"docs/x"
    assert pair.agent.records("extraneous", "list", "sel") == []


def test_deselect_frees_what_the_node_holds(pair):
    select(pair, "music/third")
    assert len(kept(pair, "music/third")) == 5
    pair.wait_at_rest()
    pair.disconnect()
    write(os.path.join(pair.here, "music/third/new.mp3"), b"not there yet")
    pair.agent.run("scan", "sel:music/third/new.mp3")
    songs = [f"music/third/{number}.mp3" for number in range(5)]
    stays = [("music/third/new.mp3", "no-other-copy")]
    dry = select(pair, "music/third", undo=True, options=["--dry-run"])["freeing"]
    assert dry["freed"] == songs and [(e["path"], e["reason"]) for e in dry["staying"]] == stays
    assert len(os.listdir(os.path.join(pair.here, "music/third"))) == 6
    done = select(pair, "music/third", undo=True)["freeing"]
    assert done["freed"] == songs and [(e["path"], e["reason"]) for e in done["staying"]] == stays
    assert os.listdir(os.path.join(pair.here, "music/third")) == ["new.mp3"]
    # What only this device has is not given up without a word.
    refused = pair.agent.try_run("deselect", "sel:music/third", "--force")
    assert refused.returncode == 6 and b"music/third/new.mp3" in refused.stderr
    assert os.listdir(os.path.join(pair.here, "music/third")) == ["new.mp3"]
    given = select(pair, "music/third", undo=True, options=["--force", "--yes"])["freeing"]
    assert [e["path"] for e in given["givenUp"]] == ["music/third/new.mp3"]
    assert not os.path.exists(os.path.join(pair.here, "music/third"))
    pair.connect()
    pair.barrier("music/first")
    assert len(os.listdir(os.path.join(pair.there, "music/third"))) == 5, "the node keeps its own"


def test_rm_everywhere_deletes_on_the_node(pair):
    for name in ("rm/here", "rm/only there", "rm/sub/deep"):
        write(os.path.join(pair.there, name), name.encode())
    pair.scan_there("rm")
    wait_until(lambda: pair.agent.try_run("stat", "sel:rm/sub/deep").returncode == 0, what="the names are known")
    select(pair, "rm/here")
    assert kept(pair, "rm") == ["here"]
    unsaid = pair.agent.try_run("rm", "sel:rm")
    assert unsaid.returncode == 64 and b"deselect" in unsaid.stderr
    refused = pair.agent.try_run("rm", "--everywhere", "sel:rm")
    assert refused.returncode == 6 and b"real (3)" in refused.stderr
    assert os.path.exists(os.path.join(pair.there, "rm/only there")) and kept(pair, "rm") == ["here"]
    done = pair.agent.document("rm", "--everywhere", "sel:rm", "--yes")["folders"][0]
    assert (done["files"], done["localFiles"], done["staying"]) == (3, 1, [])
    wait_until(lambda: not os.path.exists(os.path.join(pair.there, "rm")), what="the node deletes its copies")
    assert not os.path.exists(os.path.join(pair.here, "rm"))
    select(pair, "rm/here", undo=True)


def test_deselect_with_keep_local_leaves_all_files_and_they_are_not_fetched_again(pair):
    select(pair, "music/third")
    assert len(kept(pair, "music/third")) == 5
    outcome = select(pair, "music/third", undo=True, options=["--keep-local"])
    assert outcome["removed"] == ["!/music/third"] and outcome["cost"]["extraneousFiles"] == 5
    files = [e["path"] for e in pair.agent.records("extraneous", "list", "sel") if e["type"] == "file"]
    assert files == [f"music/third/{number}.mp3" for number in range(5)]
    for number in range(5):
        os.remove(os.path.join(pair.here, "music/third", f"{number}.mp3"))
    os.rmdir(os.path.join(pair.here, "music/third"))
    pair.agent.run("scan", "sel:")
    pair.barrier("music/first")
    assert len(os.listdir(os.path.join(pair.there, "music/third"))) == 5
    assert pair.agent.records("stat", "sel:music/third/0.mp3")[0]["state"] == "absent"


def test_deselected_files_with_a_newer_version_on_the_node_stay_as_they_are(pair):
    select(pair, "plain.txt")
    pair.agent.run("wait", "sel", "--timeout", 20)
    select(pair, "plain.txt", undo=True, options=["--keep-local"])
    write(os.path.join(pair.there, "plain.txt"), b"newer")
    pair.scan_there("plain.txt")
    pair.barrier("music/first")
    assert read(os.path.join(pair.here, "plain.txt")) == b"plain.txt"
    os.remove(os.path.join(pair.there, "plain.txt"))
    pair.scan_there("plain.txt")
    pair.barrier("music/first")
    assert read(os.path.join(pair.here, "plain.txt")) == b"plain.txt", "a deletion elsewhere does not touch it"
    write(os.path.join(pair.there, "plain.txt"), b"again")
    pair.scan_there("plain.txt")
    os.remove(os.path.join(pair.here, "plain.txt"))


def test_what_does_not_exist_yet(pair):
    result = pair.agent.run("select", "sel:later/file")
    assert b"later/file" in result.stdout + result.stderr
    said = select(pair, "later/dir")["paths"][0]
    assert (said["path"], said["exists"], said["selected"]) == ("later/dir", False, "explicit")
    listed = {entry["path"]: entry["exists"] for entry in pair.agent.records("select", "--list", "sel")}
    assert listed["later/file"] is False and listed["later/dir"] is False
    for name in ("later/file", "later/dir/x", "later/unselected"):
        write(os.path.join(pair.there, name), name.encode())
    pair.scan_there("later")
    wait_until(lambda: read(os.path.join(pair.here, "later/file")) and read(os.path.join(pair.here, "later/dir/x")),
               what="they come when they appear")
    assert kept(pair, "later") == ["dir", "dir/x", "file"]


def test_empty_directories_come_when_selected(pair):
    select(pair, "hollow")
    assert kept(pair, "hollow") == ["empty"]


def test_explain(pair):
    select(pair, "docs")
    select(pair, "docs/sub", undo=True)
    answers = {e["path"]: e for e in pair.agent.records(
        "explain", "sel:docs/y", "sel:docs/sub/z", "sel:ab", "sel:a/one", "sel:music", "sel:.stignore", "sel:no/such")}
    assert answers["docs/y"]["selected"] == "implicit" and answers["docs/y"]["line"]["text"] == "!/docs"
    assert answers["docs/y"]["matchedPath"] == "docs" and answers["docs/y"]["reason"] == "line"
    assert answers["docs/sub/z"]["selected"] == "no" and answers["docs/sub/z"]["line"]["text"] == "/docs/sub"
    assert answers["ab"]["line"]["text"] == "*"
    assert answers["music"]["parentOfSelected"] is True
    assert answers[".stignore"]["reason"] == "internal-name"
    assert answers["no/such"]["exists"] is False
    lines = ignores(pair)
    for answer in answers.values():
        if answer["reason"] == "line":
            assert lines[answer["line"]["number"] - 1] == answer["line"]["text"]
    select(pair, "docs/sub")


NAMES = ["star*", "question?", "class[x]", "brace{a,b}", "back\\slash", "!bang", "!!", "#hash", "#include x",
         " leading", "trailing ", "  ", "two  spaces", "naïve café", "日本語", "🚆", "(?d)dee", "(?i)Eye", "//comment",
         "a,b", "[!n]", "\\*", "{", "}", "[", "]", "dot.", "...", "-dash", "'quote\"", "tab\tinside", "^", "*", "?",
         "**", "star**", "$HOME", "~", "%41"]
NAMES = [name.replace("//comment", "comment") for name in NAMES]


def test_special_characters_round_trip_through_syncthing(pair):
    """Every second name is selected, one of them as a directory; a real Syncthing, given the same file, keeps the same."""
    for name in NAMES:
        for shape in (name, name + "~decoy", f"directory of {name}/inside"):
            write(os.path.join(pair.there, "special", shape), shape.encode())
    pair.scan_there("special")
    wait_until(lambda: pair.agent.try_run("stat", f"sel:special/{NAMES[-1]}").returncode == 0, what="the names are known")
    wanted = NAMES[::2] + [f"directory of {name}" for name in NAMES[1::2]]
    select(pair, *[f"special/{name}" for name in wanted])
    expected = sorted(NAMES[::2] + [f"directory of {n}/inside" for n in NAMES[1::2]])
    files = [path for path in kept(pair, "special") if os.path.isfile(os.path.join(pair.here, "special", path))]
    assert sorted(files) == expected
    assert syncthing_keeps(pair, "special") == expected
    # And out again, one by one, until nothing is left.
    select(pair, *[f"special/{name}" for name in wanted], undo=True)
    assert not any("special" in line for line in ignores(pair))
    listed = sorted(e["path"].removeprefix("special/") for e in pair.agent.records("extraneous", "list", "sel")
                    if e["type"] == "file")
    assert [name for name in listed if name in expected] == listed


def test_exceptions_with_special_characters_round_trip(pair):
    select(pair, "special")
    out = NAMES[::3]
    select(pair, *[f"special/{name}" for name in out], undo=True)
    expected = sorted(set(harness.regular_files(os.path.join(pair.there, "special"))) - set(out))
    assert syncthing_keeps(pair, "special") == expected
    for name in out:
        assert pair.agent.records("explain", f"sel:special/{name}")[0]["selected"] == "no", name
    select(pair, "special", undo=True)
    assert not any("special" in line for line in ignores(pair))


def syncthing_keeps(pair, under):
    """The files below a directory of the node's tree that a Syncthing with the agent's `.stignore` has in its index."""
    folder = f"judge-{os.urandom(4).hex()}"
    root = pair.lab.path(folder)
    for path in harness.regular_files(os.path.join(pair.there, under)):
        write(os.path.join(root, under, path), b"")
    with open(os.path.join(pair.here, ".stignore"), "rb") as file:
        write(os.path.join(root, ".stignore"), file.read())
    pair.node.set_folder(folder, root)
    pair.node.wait_scanned(folder, 1)
    tree = pair.node.get("/rest/db/browse", folder=folder)
    pair.node.call("DELETE", f"/rest/config/folders/{folder}")
    found = []

    def collect(entries, prefix):
        for entry in entries:
            path = prefix + entry["name"]
            if entry["type"] == "FILE_INFO_TYPE_FILE":
                found.append(path)
            collect(entry.get("children") or [], path + "/")
    collect(tree, "")
    return sorted(path.removeprefix(under + "/") for path in found)


def test_names_that_no_line_can_express(pair):
    result = pair.agent.try_run("select", "sel:new\nline", "--json")
    assert result.returncode == cli.FAILED
    error = cli.records(result.stderr)[-1]
    assert error["code"] == "inexpressible-path"


def test_lines_written_by_hand(pair):
    """They take effect when the file is saved, are left alone by commands, and an overruled path is refused."""
    clear(pair)
    path = os.path.join(pair.here, ".stignore")
    write(path, b"// my own remark\n(?d)*.tmp\n\n!/docs\n*\n")
    wait_until(lambda: read(os.path.join(pair.here, "docs/sub/z")), what="the saved line takes effect")
    write(os.path.join(pair.here, "docs/waste.tmp"), b"tmp")
    write(os.path.join(pair.here, "docs/own"), b"own")
    wait_until(lambda: read(os.path.join(pair.there, "docs/own")), what="the file arrives")
    assert not os.path.exists(os.path.join(pair.there, "docs/waste.tmp"))
    select(pair, "a")
    lines = ignores(pair)
    assert lines[:2] == ["// my own remark", "(?d)*.tmp"] and "!/docs" in lines and lines[-1] == "*"
    result = pair.agent.try_run("select", "sel:docs/waste.tmp", "--json")
    assert result.returncode == cli.FAILED and cli.records(result.stderr)[-1]["code"] == "overruled"
    os.remove(os.path.join(pair.here, "docs/waste.tmp"))
    # Replaced by another file, as editors do.
    write(path + ".new", b"!/music/second\n*\n")
    os.rename(path + ".new", path)
    wait_until(lambda: read(os.path.join(pair.here, "music/second/0.mp3")), what="the replaced file takes effect")


def test_an_included_file(pair):
    write(os.path.join(pair.here, ".stignore"), b"#include my-ignores\n!/music\n*\n")
    # Not what is said of the empty file that it is for a moment.
    pair.agent.wait_state("sel", "selection-error", saying="my-ignores")
    write(os.path.join(pair.here, "my-ignores"), b"*.mp3\n")
    pair.agent.wait_state("sel", "idle")
    answer = pair.agent.records("explain", "sel:music/third/0.mp3")[0]
    assert answer["selected"] == "no" and answer["line"] == {"text": "*.mp3", "file": "my-ignores", "number": 1}


@pytest.mark.parametrize("content, line", [(b"!/docs\n/a[b\n*\n", 2), (b"!/docs\n*\n!\n", 3)])
def test_a_broken_file_stops_the_folder_until_it_is_repaired(pair, content, line):
    path = os.path.join(pair.here, ".stignore")
    write(path, b"!/docs\n*\n")
    pair.agent.run("wait", "sel", "--timeout", 20)
    write(path, content)
    # Not what is said of the empty file that it is for a moment.
    pair.agent.wait_state("sel", "selection-error", saying=f".stignore:{line}")
    # Nothing goes either way.
    write(os.path.join(pair.here, "docs/broken"), content)
    write(os.path.join(pair.there, "docs/broken there"), content)
    pair.scan_there("docs")
    assert pair.agent.try_run("scan", "sel:").returncode == cli.FAILED
    result = pair.agent.try_run("select", "sel:a", "--json")
    assert result.returncode == cli.FAILED and cli.records(result.stderr)[-1]["code"] == "selection-unusable"
    assert pair.agent.try_run("wait", "sel", "--timeout", 5).returncode == cli.FAILED
    assert read(path) == content
    assert read(os.path.join(pair.there, "docs/broken")) != content
    assert read(os.path.join(pair.here, "docs/broken there")) != content
    write(path, b"!/docs\n*\n")
    wait_until(lambda: read(os.path.join(pair.there, "docs/broken")) == content
               and read(os.path.join(pair.here, "docs/broken there")) == content, what="both go on")
    assert pair.status["state"] != "selection-error"


def test_modes_both_ways(pair):
    write(os.path.join(pair.here, ".stignore"), b"(?d).DS_Store\n!/docs\n*\n")
    pair.agent.run("wait", "sel", "--timeout", 20)
    wait_until(lambda: "(?d).DS_Store" in ignores(pair), what="the file is there")
    dry = pair.agent.document("folder", "mode", "sel", "full", "--dry-run")["folders"][0]
    assert dry["dryRun"] and "*" in dry["removed"] and dry["cost"]["fetchFiles"] > 0
    assert pair.status["mode"] == "selective"
    pair.agent.run("folder", "mode", "sel", "full")
    assert pair.status["mode"] == "full"
    assert "(?d).DS_Store" in ignores(pair) and "*" not in ignores(pair)
    pair.agent.run("wait", "sel", "--timeout", 30)
    for name in ("ab", "my-ignores"):
        write(os.path.join(pair.here, name), b"full")
    pair.wait_same()
    write(os.path.join(pair.here, "docs/.DS_Store"), b"ignored everywhere")
    pair.agent.run("folder", "mode", "sel", "selective")
    assert pair.status["mode"] == "selective"
    assert "(?d).DS_Store" in ignores(pair) and ignores(pair)[-1] == "*"
    pair.agent.run("wait", "sel", "--timeout", 20)
    assert os.path.exists(os.path.join(pair.here, "ab")), "what is on this disk stays"
    assert pair.agent.records("stat", "sel:ab")[0]["state"] == "extraneous"
    assert not os.path.exists(os.path.join(pair.there, "docs/.DS_Store"))


def test_paths_as_they_are_written(pair):
    """Absolute and relative paths mean the same; wrong ones have their exit codes."""
    assert pair.agent.run("select", os.path.join(pair.here, "a"), "--dry-run").returncode == 0
    assert pair.agent.run("select", "a", "--dry-run", cwd=pair.here).returncode == 0
    assert pair.agent.try_run("select", "nowhere:a").returncode == cli.NO_SUCH
    assert pair.agent.try_run("select", "/etc/passwd").returncode == cli.NO_SUCH
    assert pair.agent.try_run("select").returncode == cli.USAGE
    assert pair.agent.try_run("select", "sel:../x").returncode in (cli.NO_SUCH, cli.FAILED, cli.USAGE)
    assert pair.agent.try_run("select", "sel:").returncode in (cli.FAILED, cli.USAGE)


def test_a_lost_selection_does_not_select_everything(pair):
    """As when an editor empties the file before it writes it anew."""
    clear(pair)
    path = os.path.join(pair.here, ".stignore")
    theirs, ours = os.path.join(pair.here, "written there"), os.path.join(pair.there, "written here")
    write(os.path.join(pair.there, "written there"), b"not asked for")
    pair.scan_there("written there")
    write(path, b"")
    state = pair.agent.wait_state("sel", "selection-error")
    assert "folder mode sel selective" in state["message"] and "folder mode sel full" in state["message"]
    doctor = json.loads(pair.agent.try_run("doctor", "--json").stdout)
    [finding] = [finding for finding in doctor["findings"] if finding["code"] == "folder"]
    assert finding["command"].endswith(" folder mode sel selective")
    write(os.path.join(pair.here, "written here"), b"kept to oneself")
    assert pair.agent.try_run("scan", "sel:").returncode == cli.FAILED
    pair.agent.run("folder", "mode", "sel", "selective")
    assert ignores(pair)[-1] == "*" and pair.status["mode"] == "selective"
    pair.agent.run("wait", "sel", "--timeout", 20)
    pair.agent.run("scan", "sel:")
    assert not os.path.exists(theirs) and not os.path.exists(ours)
    os.remove(path)
    pair.agent.wait_state("sel", "selection-error")
    dry = pair.agent.document("folder", "mode", "sel", "full", "--dry-run")["folders"][0]
    done = pair.agent.document("folder", "mode", "sel", "full")["folders"][0]
    assert dry["cost"] == done["cost"] and done["cost"]["fetchFiles"] > 0
    assert pair.status["mode"] == "full"
    pair.agent.run("wait", "sel", "--timeout", 30)
    wait_until(lambda: read(theirs) and read(ours), what="everything goes both ways")


def test_lines_that_syncthing_reads_differently_are_hints(lab):
    agent, path = lab.agent(), lab.directory("hints")
    write(os.path.join(path, ".stignore"), "// ?é is a comment\nm?nd\n*.o\n".encode())
    agent.run("folder", "add", "hints", path, "--mode", "full")
    [hint] = agent.folder("hints")["hints"]
    assert hint.startswith(".stignore line 2 (`m?nd`) matches differently on Syncthing before 1.20.3")
    assert b"hint: .stignore line 2" in agent.run("status").stdout
    assert agent.folder("hints")["state"] in ("starting", "scanning", "idle")
    write(os.path.join(path, ".stignore"), b"foo{bar\n")
    agent.try_run("scan", "hints:")
    assert "\\{" in agent.wait_state("hints", "selection-error")["message"]
    assert agent.folder("hints")["hints"] == []
