import ControlAPI
import Testing

@testable import synctrain

struct RoleCommandTests {
    static let change = RefusedChange(
        folder: "docs", path: "a.txt", device: "AAAAAAA-B", name: "nas", change: .changed, kind: "file", size: 2048,
        modified: nil, current: .init(size: 12, modified: nil, isHere: false))

    static func scene(count: Int64 = 1, replacements: Int64 = 0, deletions: Int64 = 0, staying: Bool = false) -> Scene {
        var outcome = RefusalOutcome(folder: "docs", action: .accept, isDryRun: false)
        (outcome.count, outcome.replacements, outcome.deletions) = (count, replacements, deletions)
        outcome.names = ["a.txt"]
        if staying {
            outcome.staying = [StayingName(path: "b", size: 1, reason: "not-here", message: "Select it.")]
        }
        return Scene(control: ScriptedControl(folders: FolderScript(refused: [change], refusals: [outcome])))
    }

    @Test func refusedChangesAreListed() async {
        let shown = await Self.scene().run("refused", "list")
        #expect(shown.code == 0)
        #expect(
            shown.output.hasPrefix("docs:a.txt  changed to 2.0 KiB of ")
                && shown.output.contains("by nas; the folder has 12 B"))
        #expect(shown.output.contains(", not here"))
        let json = await Self.scene().run("refused", "list", "docs", "--json")
        #expect(json.output.contains(#""type":"refused""#) && json.output.contains(#""here":false"#))
    }

    /// What loses nothing is not asked.
    @Test(arguments: [
        ("accept", Int64(0), Int64(0), false), ("accept", 1, 0, true), ("accept", 0, 1, true), ("revert", 0, 0, true),
    ])
    func settlingAsksBeforeALoss(_ verb: String, _ replacements: Int64, _ deletions: Int64, _ asks: Bool) async {
        let scene = Self.scene(replacements: replacements, deletions: deletions)
        #expect(await scene.run("refused", verb, "docs:a.txt").code == (asks ? 6 : 0))
        #expect(
            scene.control?.asked
                == ["\(verb) docs:a.txt all true"] + (asks ? [] : ["\(verb) docs:a.txt all false"]))
        let agreed = Self.scene(replacements: replacements, deletions: deletions)
        #expect(await agreed.run("refused", verb, "docs:a.txt", "--device", "nas", "--yes").code == 0)
        #expect(agreed.control?.asked.last == "\(verb) docs:a.txt nas false")
    }

    @Test func whatStaysIsNamedAndEndsOtherThanWithNought() async {
        let some = await Self.scene(staying: true).run("refused", "revert", "docs", "--yes")
        #expect(some.code == 2 && some.output.contains("stays: docs:b  not-here: Select it.\n"))
        #expect(await Self.scene(count: 0, staying: true).run("refused", "revert", "docs", "--yes").code == 1)
        #expect(await Self.scene().run("refused", "revert", "docs", "--dry-run").output.contains("  docs:a.txt\n"))
    }

    @Test func invitationsAreMadeListedAndWithdrawn() async {
        let scene = Scene()
        let made = await scene.run("invite", "docs", "--as", "read", "--for", "12h")
        #expect(made.code == 0 && made.output == "synctrain-AQ\n")
        #expect(made.errors.contains("with role read") && made.errors.contains("--revoke 3"))
        #expect(await scene.run("invite", "--list").output.contains("  used  "))
        #expect(await scene.run("invite", "--revoke", "3").code == 0)
        #expect(scene.control?.asked == ["invite docs read 43200", "invitations", "revoke 3"])
        for wrong in [
            [], ["docs", "--list"], ["docs", "--for", "31d"], ["docs", "--for", "soon"], ["docs", "--as", "x"],
        ] {
            #expect(await Scene().run(["invite"] + wrong).code == 64)
        }
    }

    @Test(arguments: [("y", 0, 2), ("n", 6, 1), (nil, 6, 1)] as [(String?, Int32, Int)])
    func aFolderThatIsHereIsSharedOnlyIfAPersonSaysSo(_ answer: String?, _ code: Int32, _ calls: Int) async {
        var scene = Scene()
        if let answer {
            scene.terminal = Terminal(
                isInputTTY: true, isOutputTTY: false, isErrorTTY: true, width: 80, readLine: { answer })
        }
        let result = await scene.run("join", "synctrain-here", "/d")
        #expect(result.code == code && result.errors.contains("docs is here. Share it?"))
        #expect(scene.control?.asked == Array(repeating: "join synctrain-here /d false selective", count: calls))
        let agreed = Scene()
        #expect(await agreed.run("join", "synctrain-here", "/d", "--yes").code == 0)
        #expect(agreed.control?.asked.count == 1)
    }

    @Test func notesAreKeysAndValuesOrOneText() async {
        let scene = Scene()
        let shown = await scene.run("note", "docs:a", "title=a = b", "rating=5", "--remove", "old")
        #expect(shown.code == 0 && shown.output.contains("rating  5      nas"))
        #expect(shown.errors.contains("synctrain select docs:.synctrain"))
        _ = await scene.run("note", "docs:a", "a text, a = b")
        _ = await scene.run("note", "docs:a")
        #expect(
            scene.control?.asked == [
                #"note docs:a ["rating=5", "title=a = b"] -["old"]"#, #"note docs:a ["note=a text, a = b"] -[]"#,
                "notes docs:a",
            ])
        #expect(await Scene().run("note", "docs:a", "two", "words").code == 64)
    }

    @Test func joiningSaysWhere() async {
        let scene = Scene()
        let joined = await scene.run("join", "synctrain-AQ")
        #expect(joined.code == 0 && joined.output == "docs is shared with nas, as read, in /work dir\n")
        _ = await scene.run("join", "synctrain-AQ", "d", "--mode", "full")
        #expect(
            scene.control?.asked
                == ["join synctrain-AQ /work dir true selective", "join synctrain-AQ /work dir/d false full"])
    }
}
