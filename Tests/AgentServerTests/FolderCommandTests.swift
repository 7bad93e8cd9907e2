import ControlAPI
import Foundation
import Testing

@testable import synctrain

struct SelectionCommandTests {
    static let selected = SelectionOutcome(
        folder: "docs", mode: "selective", isDryRun: false, added: ["!/photos", "!/b\\*"],
        removed: ["!/photos/\u{1b}2024"],
        paths: [
            .init(path: "photos", exists: true, kind: .directory, selected: .explicit),
            .init(path: "b*", exists: false, selected: .explicit),
        ], cost: .init(fetchFiles: 12, fetchBytes: 1 << 20, adoptedFiles: 1, adoptedBytes: 10))

    static let deselected = SelectionOutcome(
        folder: "docs", mode: "selective", isDryRun: false, added: ["/photos/private"], removed: [],
        paths: [.init(path: "photos/private", exists: true, kind: .directory, selected: .no, isException: true)],
        cost: .init(sparedFiles: 3, sparedBytes: 2048, extraneousFiles: 2, extraneousBytes: 1024))

    private func scene(_ outcomes: SelectionOutcome...) -> Scene {
        Scene(control: ScriptedControl(folders: FolderScript(outcomes: outcomes)))
    }

    @Test func selectingSaysWhatItWroteAndWhatItCosts() async {
        var scene = scene(Self.selected)
        scene.terminal.isOutputTTY = true
        let result = await scene.run("select", "docs:photos", "b*", "--color", "never")
        #expect(result.code == 0)
        #expect(result.errors.isEmpty)
        #expect(
            result.output == """
                docs: .stignore has changed
                  - !/photos/\\x1b2024
                  + !/photos
                  + !/b\\\\*
                docs:b* is not in the index yet; this takes effect when it appears
                docs:b* is taken as a name, not as a pattern; patterns can be written into .stignore
                to fetch: 12 files, 1.0 MiB
                already here, kept from now on: 1 file, 10 B

                """)
        #expect(scene.control?.asked == ["select docs:photos b* false"])
    }

    @Test func deselectingSaysWhatItDoesNotChange() async {
        let path = SelectionOutcome.Path(path: "phtos", exists: false, selected: .no)
        let scene = scene(
            SelectionOutcome(
                folder: "docs", mode: "selective", isDryRun: false, added: [], removed: [], paths: [path],
                stillSelected: 2))
        let result = await scene.run("deselect", "docs:phtos")
        #expect(
            result.output == """
                docs: .stignore stays as it is
                docs:phtos is not in the index and was not selected; check the name
                2 files below stay selected: lines of .stignore that you wrote say so; `synctrain explain` shows which

                """)
    }

    @Test func deselectingSaysThatFilesStay() async {
        let scene = scene(Self.deselected)
        let result = await scene.run("deselect", "docs:photos/private", "--dry-run", "--keep-local")
        #expect(result.code == 0)
        #expect(
            result.output == """
                docs: .stignore would change
                  + /photos/private
                docs:photos/private is excluded from the selected directory that contains it
                no longer to fetch: 3 files, 2.0 KiB
                extraneous from now on: 2 files, 1.0 KiB; they stay on this disk: `synctrain extraneous list docs`

                """)
        #expect(scene.control?.asked == ["deselect docs:photos/private true keep"])
    }

    private static var freed: SelectionOutcome {
        var outcome = deselected
        var freeing = FreeingOutcome()
        (freeing.freedFiles, freeing.freedBytes, freeing.freed) = (2, 2048, ["photos/private/a", "photos/private/b\n"])
        (freeing.stayingFiles, freeing.stayingBytes) = (2, 5)
        freeing.staying = [
            StayingName(path: "photos/private/new", size: 5, reason: "no-other-copy", message: "Wait.")
        ]
        outcome.freeing = freeing
        return outcome
    }

    @Test func freeingSaysWhatWentAndWhatStays() async throws {
        let scene = scene(Self.freed)
        #expect(
            await scene.run("deselect", "docs:photos/private").output == """
                docs: .stignore has changed
                  + /photos/private
                docs:photos/private is excluded from the selected directory that contains it
                no longer to fetch: 3 files, 2.0 KiB
                freed: 2 files, 2.0 KiB
                stays on this disk: 2 files, 5 B
                       5 B  docs:photos/private/new  no-other-copy: Wait.
                  and 1 more

                """)
        let dry = await scene.run("deselect", "docs:photos/private", "--dry-run")
        #expect(dry.output.contains("would be freed: 2 files, 2.0 KiB\n  docs:photos/private/a\n"))
        #expect(dry.output.contains("would stay on this disk: 2 files, 5 B\n"))
        let json = await scene.run("deselect", "docs:photos/private", "--json")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        let folder = try #require((object["folders"] as? [[String: Any]])?.first)
        let freeing = try #require(folder["freeing"] as? [String: Any])
        #expect(freeing["freedBytes"] as? Int == 2048)
        #expect((freeing["staying"] as? [[String: Any]])?.first?["reason"] as? String == "no-other-copy")
        #expect(
            scene.control?.asked == [
                "deselect docs:photos/private false free", "deselect docs:photos/private true free",
                "deselect docs:photos/private false free",
            ])
    }

    @Test func forceNamesWhatItGivesUpAndAsks() async {
        var outcome = Self.freed
        outcome.freeing?.givenUpFiles = 1
        outcome.freeing?.givenUpBytes = 5
        outcome.freeing?.givenUp = [
            StayingName(path: "photos/private/new", size: 5, reason: "no-other-copy", message: "Wait.")
        ]
        let unasked = scene(outcome)
        let refused = await unasked.run("deselect", "docs:photos/private", "--force")
        #expect(refused.code == 6)
        #expect(refused.output.isEmpty)
        #expect(refused.errors.contains("docs:photos/private/new  5 B  no-other-copy\n"))
        #expect(refused.errors.contains("1 file, 5 B, may exist only on this device"))
        #expect(unasked.control?.asked == ["deselect docs:photos/private true force"], "nothing was done")
        var asked = scene(outcome)
        asked.terminal = Terminal(
            isInputTTY: true, isOutputTTY: false, isErrorTTY: true, width: 80, readLine: { "n" })
        #expect(await asked.run("deselect", "docs:photos/private", "--force").code == 6)
        #expect(asked.control?.asked == ["deselect docs:photos/private true force"])
        let agreed = await scene(outcome).run("deselect", "docs:photos/private", "--force", "--yes")
        #expect(agreed.code == 0)
        #expect(agreed.output.contains("deleted: 1 file, 5 B\n"))
        #expect(await scene(outcome).run("deselect", "a", "--force", "--keep-local").code == 64)
    }

    @Test func deletingEverywhereIsSaidAndAsked() async {
        var outcome = RemovalOutcome(folder: "docs", isDryRun: false)
        (outcome.files, outcome.bytes, outcome.directories, outcome.localFiles) = (3, 2048, 1, 1)
        outcome.names = ["a/1", "a/2", "a/3", "a"]
        outcome.holders = [
            .init(id: "AAAAAAA-B", name: "nas", isConnected: true, files: 3),
            .init(id: "CCCCCCC-D", name: "", isConnected: false, files: 1),
        ]
        func scene() -> Scene { Scene(control: ScriptedControl(folders: FolderScript(removals: [outcome]))) }
        let unsaid = scene()
        let wrong = await unsaid.run("rm", "docs:a")
        #expect(wrong.code == 64)
        #expect(wrong.errors.contains("synctrain deselect") && wrong.errors.contains("rm --everywhere"))
        #expect(unsaid.control?.asked == [])
        let asked = scene()
        let refused = await asked.run("rm", "--everywhere", "docs:a")
        #expect(refused.code == 6)
        #expect(refused.errors.contains("They are on: this device (1), nas (3), CCCCCCC (1, not connected)."))
        #expect(asked.control?.asked == ["remove docs:a true"])
        let agreed = scene()
        let done = await agreed.run("rm", "--everywhere", "docs:a", "--yes")
        #expect(done.code == 0)
        #expect(
            done.output == """
                docs: 3 files and 1 directory, 2.0 KiB, 1 of them here, deleted; the other devices follow once they are connected
                  held by nas (3)
                  held by CCCCCCC (1, not connected)

                """)
        #expect(agreed.control?.asked == ["remove docs:a true", "remove docs:a false"])
        outcome.staying = [StayingName(path: "a/9", size: 1, reason: "changed-here", message: "Scan.")]
        let dry = await scene().run("rm", "--everywhere", "docs:a", "--dry-run")
        #expect(dry.code == 2)
        #expect(dry.output.contains("  docs:a/1\n") && dry.output.contains("stays: docs:a/9  changed-here: Scan.\n"))
    }

    @Test func settlingExtraneousFilesAsksBeforeALoss() async {
        var outcome = ResolutionOutcome(folder: "docs", action: .delete, isDryRun: false)
        (outcome.files, outcome.bytes, outcome.names) = (2, 7, ["a", "b"])
        (outcome.lostFiles, outcome.lostBytes) = (1, 5)
        outcome.lost = [StayingName(path: "a", size: 5, reason: "no-other-copy", message: "Gone.")]
        func scene() -> Scene { Scene(control: ScriptedControl(folders: FolderScript(resolutions: [outcome]))) }
        for arguments in [[], ["--delete", "--select"], ["--keep", "none"], ["--keep", "mine", "--ignore"]] {
            #expect(await scene().run(["extraneous", "resolve", "docs:a"] + arguments).code == 64)
        }
        for arguments in [["--delete"], ["--keep", "theirs"]] {
            let asked = scene()
            let refused = await asked.run(["extraneous", "resolve", "docs:a"] + arguments)
            #expect(refused.code == 6)
            #expect(refused.errors.contains("docs:a  5 B  no-other-copy\n"))
            #expect(asked.control?.asked.count == 1, "nothing was done")
            #expect(asked.control?.asked.first?.hasSuffix("- true") == true)
        }
        let kept = scene()
        #expect(await kept.run("extraneous", "resolve", "docs:a", "--keep", "both").code == 0)
        #expect(kept.control?.asked == ["resolve docs:a keep-both - false"], "what loses nothing asks nothing")
        let moved = scene()
        #expect(
            await moved.run("extraneous", "resolve", "docs:a", "--move-to", "/out").output
                == "docs: 2 files, 7 B moved\n")
        #expect(moved.control?.asked == ["resolve docs:a move-to /out true", "resolve docs:a move-to /out false"])
        (outcome.lostFiles, outcome.lost) = (0, [])
        #expect(await scene().run("extraneous", "resolve", "docs:a", "--delete").code == 0)
        outcome.deletedElsewhere = ["was/a"]
        for arguments in [["--delete"], ["--ignore"], ["--move-to", "/out"]] {
            let asked = scene()
            let refused = await asked.run(["extraneous", "resolve", "docs:a"] + arguments)
            #expect(refused.code == 6 && refused.errors.contains("docs:was/a  is deleted on all devices\n"))
            #expect(refused.errors.contains("run `synctrain deselect` on that path first"))
            #expect(asked.control?.asked.count == 1, "nothing was done")
        }
        outcome.deletedElsewhere = nil
        outcome.staying = [StayingName(path: "c", size: 1, reason: "in-use", message: "Close it.")]
        #expect(await scene().run("extraneous", "resolve", "docs:a", "--delete").code == 2)
    }

    @Test(arguments: [
        ("5G", "30d", 5 << 30, 2_592_000), ("500MB", "12h", 500_000_000, 43_200), ("2GiB", "4w", 2 << 30, 2_419_200),
        ("4096", "0s", 4096, 0),
    ])
    func freeingUntilReadsSizesAndAges(until: String, older: String, bytes: Int64, seconds: Int64) async {
        let enough = SpaceAnswer.Folder(
            outcome: SelectionOutcome(folder: "docs", mode: "full", isDryRun: false, added: [], removed: []),
            available: 10 << 30, missing: 0)
        let scene = Scene(control: ScriptedControl(folders: FolderScript(freed: [enough])))
        let result = await scene.run("free", "--until", until, "--older", older)
        #expect(result.output == "docs: 10 GiB free\n")
        #expect(
            scene.control?.asked == ["free all \(bytes) \(seconds) true", "free all \(bytes) \(seconds) false"])
        for arguments in [["--until", "much"], ["--until", "5G", "--older", "old"], []] {
            #expect(await scene.run(["free"] + arguments).code == 64)
        }
    }

    @Test func freeingTooLittleSaysWhatIsMissing() async {
        var part = SpaceAnswer.Folder(outcome: Self.freed, available: 1 << 30, missing: 3 << 20)
        part.outcome.folder = "docs"
        let scene = Scene(control: ScriptedControl(folders: FolderScript(freed: [part])))
        let refused = await scene.run("free", "docs", "--until", "5G")
        #expect(refused.code == 6)
        #expect(refused.errors.contains("is not enough; 3.0 MiB more would be needed"))
        #expect(scene.control?.asked == ["free docs 5368709120 0 true"], "nothing was done")
        let result = await scene.run("free", "docs", "--until", "5G", "--yes")
        #expect(result.code == 1)
        #expect(result.output.contains("freed: 2 files, 2.0 KiB\n"))
        #expect(result.errors.contains("docs: 3.0 MiB short"))
    }

    @Test func nothingNewSaysSo() async {
        let same = SelectionOutcome(folder: "docs", mode: "selective", isDryRun: false, added: [], removed: [])
        #expect(await scene(same).run("select", "docs:a").output == "docs: .stignore stays as it is\n")
    }

    @Test func everyFolderHasItsPart() async throws {
        var other = Self.deselected
        other.folder = "music"
        let result = await scene(Self.selected, other).run("select", "a", "b", "--json", "--dry-run")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(object["schema"] as? Int == 1)
        let folders = try #require(object["folders"] as? [[String: Any]])
        #expect(folders.map { $0["folder"] as? String } == ["docs", "music"])
        #expect(folders.map { $0["dryRun"] as? Bool } == [true, true])
        #expect(folders[0]["added"] as? [String] == ["!/photos", "!/b\\*"])
        let paths = try #require(folders[1]["paths"] as? [[String: Any]])
        #expect(paths[0]["exception"] as? Bool == true)
        #expect(paths[0]["selected"] as? String == "no")
        let cost = try #require(folders[0]["cost"] as? [String: Int])
        #expect(cost["fetchFiles"] == 12)
        #expect(cost["fetchBytes"] == 1 << 20)
    }

    @Test(
        arguments: [
            ("inexpressible-path", 1), ("overruled", 1), ("selection-unusable", 1), ("invalid-request", 64),
            ("no-such-path", 4), ("no-agent", 3), ("too-large", 1),
        ] as [(String, Int32)])
    func refusalsHaveTheirCodes(code: String, exit: Int32) async {
        let error = ControlError(ControlError.Code(rawValue: code), "Because.")
        let scene = Scene(control: ScriptedControl(failure: error))
        let commands = [
            ["select", "a"], ["deselect", "a"], ["select", "--list"], ["explain", "a"],
            ["folder", "mode", "f", "full"],
            ["folder", "override", "f", "--yes"], ["folder", "repair", "f"], ["scan"], ["extraneous", "list"], ["need"],
            ["wait"], ["fetch"],
        ]
        for command in commands {
            let result = await scene.run(command)
            #expect(result.code == exit, "\(command)")
            #expect(result.errors == "synctrain: Because.\n")
            #expect(result.output.isEmpty)
        }
    }

    @Test func theSelectionIsListed() async {
        let control = ScriptedControl(
            folders: FolderScript(selected: [
                SelectedPath(folder: "docs", path: "photos", exists: true, kind: .directory),
                SelectedPath(folder: "docs", path: "a\nb", exists: false),
            ]))
        let scene = Scene(control: control)
        #expect(await scene.run("select", "--list").output == "docs:photos/\ndocs:a\nb  (not there yet)\n")
        #expect(await scene.run("select", "--list", "docs", "-0").output == "docs:photos\0docs:a\nb\0")
        #expect(
            await scene.run("select", "--list", "docs", "--json").output
                == #"{"exists":true,"folder":"docs","kind":"directory","path":"photos","type":"selected"}"# + "\n"
                + #"{"exists":false,"folder":"docs","path":"a\nb","type":"selected"}"# + "\n")
        #expect(control.asked == ["selection all", "selection docs", "selection docs"])
    }

    @Test func aModeIsSetAndTold() async {
        let scene = scene(Self.deselected)
        let result = await scene.run("folder", "mode", "docs", "selective", "--dry-run")
        #expect(result.code == 0)
        #expect(result.output.contains("+ /photos/private"))
        #expect(await scene.run("folder", "mode", "docs", "full", "--json").output.hasPrefix(#"{"folders":[{"added""#))
        #expect(scene.control?.asked == ["mode docs selective true", "mode docs full false"])
    }
}

struct ExplainCommandTests {
    static let line = ExplainedPath.Line(text: "!/photos", file: ".stignore", number: 3)

    static let cases: [(ExplainedPath, String)] = [
        (
            .init(
                folder: "docs", path: "photos", selected: .explicit, reason: .line, line: line, matchedPath: "photos",
                exists: true), "docs:photos is selected by name: .stignore:3 `!/photos`."
        ),
        (
            .init(
                folder: "docs", path: "photos/a/b", selected: .implicit, reason: .line, line: line,
                matchedPath: "photos", exists: false),
            "docs:photos/a/b is selected because it is in photos: .stignore:3 `!/photos`. It is not in the index."
        ),
        (
            .init(
                folder: "docs", path: "x.jpg", selected: .implicit, reason: .line,
                line: .init(text: "!*.jpg", file: "inc/more", number: 1), matchedPath: "x.jpg", exists: true),
            "docs:x.jpg is selected: inc/more:1 `!*.jpg` matches it."
        ),
        (
            .init(
                folder: "docs", path: "up", selected: .no, reason: .line,
                line: .init(text: "*", file: ".stignore", number: 9), matchedPath: "up", isParentOfSelected: true,
                exists: true),
            "docs:up is not selected: .stignore:9 `*` excludes it. It is kept as a directory because something below "
                + "it is selected."
        ),
        (
            .init(
                folder: "docs", path: "tmp/x", selected: .no, reason: .line,
                line: .init(text: "(?d)tmp", file: ".stignore", number: 1), matchedPath: "tmp", isDeletable: true,
                exists: true),
            "docs:tmp/x is not selected: .stignore:1 `(?d)tmp` excludes tmp, which contains it. It is deleted if it "
                + "would keep its directory from being deleted."
        ),
        (
            .init(folder: "docs", path: "a", selected: .implicit, reason: .noLine, exists: true),
            "docs:a is selected: no line of .stignore excludes it."
        ),
        (
            .init(folder: "docs", path: "", selected: .implicit, reason: .root, exists: true),
            "docs: is the folder itself, which is always selected."
        ),
        (
            .init(folder: "docs", path: ".stignore", selected: .no, reason: .internalName, exists: true),
            "docs:.stignore is never synced: the name is reserved."
        ),
        (
            .init(folder: "docs", path: ".syncthing.x.tmp", selected: .no, reason: .temporaryName, exists: true),
            "docs:.syncthing.x.tmp is never synced: it is a temporary file."
        ),
    ]

    @Test(arguments: cases.indices)
    func theLineThatDecidesIsNamed(_ index: Int) async throws {
        let (explained, text) = Self.cases[index]
        let scene = Scene(control: ScriptedControl(folders: FolderScript(explained: explained)))
        #expect(await scene.run("explain", "x").output == text + "\n")
        let json = await scene.run("explain", "x", "y", "--json").output.split(separator: "\n")
        #expect(json.count == 2)
        #expect(try ControlJSON.decode(ExplainedPath.self, from: Array(json[0].utf8)) == explained)
        #expect(json[0].contains(#""type":"explanation""#))
        #expect(scene.control?.asked.last == "explain y in /work dir")
    }
}

struct FolderActionCommandTests {
    static let plan = FolderActionOutcome(
        folder: "docs", action: .override, isDryRun: false, files: 3, bytes: 2048, directories: 1, deletions: 2,
        paths: ["a", "b\u{7}"])

    private static let yes = Terminal(
        isInputTTY: true, isOutputTTY: false, isErrorTTY: true, width: 80, readLine: { "y" })
    private static let no = Terminal(
        isInputTTY: true, isOutputTTY: false, isErrorTTY: true, width: 80, readLine: { "" })

    private func scene(_ plan: FolderActionOutcome = plan, terminal: Terminal? = nil) -> Scene {
        var scene = Scene(control: ScriptedControl(folders: FolderScript(action: plan)))
        if let terminal { scene.terminal = terminal }
        return scene
    }

    @Test(arguments: ["override", "revert", "confirm"])
    func lossIsAskedFor(_ action: String) async {
        let blind = scene()
        let refused = await blind.run("folder", action, "docs")
        #expect(refused.code == 6)
        #expect(refused.output.isEmpty)
        #expect(refused.errors.contains("changes 3 files (2.0 KiB) and 1 directory and deletes 2 names on"))
        #expect(refused.errors.contains("--yes"))
        #expect(blind.control?.asked.contains("\(action) docs false") == false)

        let declined = scene(terminal: Self.no)
        #expect(await declined.run("folder", action, "docs").code == 6)
        #expect(declined.control?.asked.contains("\(action) docs false") == false)

        for agreed in [scene(terminal: Self.yes), scene()] {
            let isAsked = agreed.terminal.isInputTTY
            let result = await agreed.run(["folder", action, "docs"] + (isAsked ? [] : ["--yes"]))
            #expect(result.code == 0)
            #expect(result.errors.contains("[y/N]") == isAsked)
            #expect(result.output.hasPrefix("docs: changed 3 files (2.0 KiB) and 1 directory and deleted 2 names on"))
            #expect(agreed.control?.asked.last == "\(action) docs false")
        }
    }

    @Test func whereItHappensIsSaid() async {
        #expect(await scene().run("folder", "override", "docs").errors.contains("on the other devices. Go on?"))
        #expect(await scene().run("folder", "revert", "docs").errors.contains("on this device. Go on?"))
        #expect(await scene().run("folder", "confirm", "docs").errors.contains("on the other devices. Go on?"))
    }

    @Test func aDryRunOnlyTells() async throws {
        let scene = scene()
        let result = await scene.run("folder", "revert", "docs", "--dry-run")
        #expect(result.code == 0)
        #expect(
            result.output == """
                docs: would change 3 files (2.0 KiB) and 1 directory and would delete 2 names on this device
                  a
                  b\u{7}
                  and 4 names more

                """)
        #expect(scene.control?.asked == ["revert docs true"])
        let json = await scene.run("folder", "revert", "docs", "--dry-run", "--json").output
        let outcome = try ControlJSON.decode(FolderActionOutcome.self, from: Array(json.utf8))
        #expect(outcome.deletions == 2)
        #expect(outcome.isDryRun)
    }

    @Test(arguments: ["override", "revert"])
    func nothingToLoseIsNotAskedFor(_ action: String) async {
        let empty = scene(FolderActionOutcome(folder: "docs", action: .override, isDryRun: false))
        let result = await empty.run("folder", action, "docs")
        #expect(result.code == 0)
        #expect(result.output == "docs: nothing would change\n")
        #expect(empty.control?.asked == ["\(action) docs true"])
    }

    @Test func aHaltIsConfirmedWithItsReasonInSight() async {
        var status = AgentStatus.sample
        status.folders[0].state = "halted-root-emptied"
        status.folders[0].text = "Everything is gone from /home/u/docs."
        let plan = FolderActionOutcome(folder: "docs", action: .confirm, isDryRun: false, deletions: 500)
        let scene = Scene(control: ScriptedControl(statuses: [status], folders: FolderScript(action: plan)))
        let result = await scene.run("folder", "confirm", "docs")
        #expect(result.code == 6)
        #expect(
            result.errors
                == "synctrain: Everything is gone from /home/u/docs. Confirming docs deletes 500 names on the other "
                + "devices. Go on? Use --yes to confirm.\n")
    }

    /// Nothing is lost by it.
    @Test func repairingIsNotAskedFor() async {
        let scene = scene()
        #expect(await scene.run("folder", "repair", "docs").code == 0)
        #expect(scene.control?.asked == ["repair docs false"])
    }

    @Test func whatCannotBeRestoredIsSaid() async {
        var outcome = FolderActionOutcome(
            folder: "docs", action: .repair, isDryRun: false, files: 2, bytes: 2048, paths: ["a", "b"])
        outcome.lostFiles = 150
        let some = await scene(outcome).run("folder", "repair", "docs")
        #expect(some.code == 2)
        #expect(
            some.output == """
                docs: changed 2 files (2.0 KiB) on this device
                  a
                  b
                docs: 150 files cannot be restored: no other device has them

                """)
        outcome = FolderActionOutcome(folder: "docs", action: .repair, isDryRun: true)
        outcome.lostFiles = 1
        let none = await scene(outcome).run("folder", "repair", "docs", "--dry-run")
        #expect(none.code == 2)
        #expect(
            none.output
                == "docs: would resume; no file would be restored\ndocs: 1 file cannot be restored: no other device has it\n"
        )
        outcome = FolderActionOutcome(folder: "docs", action: .repair, isDryRun: false)
        outcome.lostFiles = 0
        let nothing = await scene(outcome).run("folder", "repair", "docs")
        #expect(nothing.code == 0 && nothing.output == "docs: resumed; no file to restore\n")
    }
}

struct FolderListingCommandTests {
    @Test func scansAreCounted() async throws {
        let scanned = ScanSummary.Folder(
            folder: "docs", files: 20, directories: 1, changed: 2, deleted: 1, bytesHashed: 2048, seconds: 0.26)
        let clean = Scene(control: ScriptedControl(folders: FolderScript(scanned: [scanned])))
        let result = await clean.run("scan", "docs", "docs:a")
        #expect(result.code == 0)
        #expect(result.output == "docs: 20 files and 1 directory seen, 2 changed, 1 deleted, 2.0 KiB hashed in 0.3 s\n")
        #expect(clean.control?.asked == [#"scan ["docs", "docs:a"]"#])

        var troubled = scanned
        troubled.problems = 3
        troubled.problemList = [FolderProblem(path: "x", message: "cannot be read; ask its owner")]
        let scene = Scene(control: ScriptedControl(folders: FolderScript(scanned: [scanned, troubled])))
        let told = await scene.run("scan")
        #expect(told.code == 2)
        #expect(told.errors == "synctrain: docs:x: cannot be read; ask its owner\nsynctrain: docs: and 2 names more\n")
        let json = await scene.run("scan", "--json")
        #expect(json.code == 2)
        #expect(json.errors.isEmpty)
        #expect(
            try ControlJSON.decode(ScanSummary.self, from: Array(json.output.utf8)).folders == [scanned, troubled])
    }

    @Test func scrubResultsNameTheNextStep() async throws {
        func event(_ type: String, _ change: (inout ScrubEvent) -> Void) -> ScrubEvent {
            var event = ScrubEvent(type, "docs", path: type == "damaged" || type == "failed" ? "a\u{1b}b" : nil)
            change(&event)
            return event
        }
        let plan = event("plan") { ($0.files, $0.bytes, $0.filesDone) = (12_345, 1 << 20, 7) }
        let clean = Scene(
            control: ScriptedControl(
                folders: FolderScript(scrubbed: [
                    plan, event("done") { ($0.files, $0.bytes, $0.damaged) = (12_345, 96 << 30, 0) },
                ])))
        let result = await clean.run("scrub", "docs", "docs:a")
        #expect(result.code == 0)
        #expect(result.output == "Checked 12345 files, 96 GiB: all as they were written.\n")
        #expect(result.errors == "docs: continuing after 7 files.\n")
        #expect(clean.control?.asked == [#"scrub ["docs", "docs:a"] false"#])

        let found: [ScrubEvent] = [
            plan,
            event("damaged") { event in
                (event.wrongBlocks, event.blocks) = (1, 12)
                event.holders = [
                    .init(device: "A", name: "nas", isConnected: true),
                    .init(device: "B", name: "phone", isConnected: false),
                ]
            },
            event("failed") { $0.error = ControlError(.noHolder, "no device has it") },
            event("done") { ($0.files, $0.bytes, $0.damaged, $0.repaired, $0.changed) = (3, 30, 1, 1, 2) },
        ]
        let scene = Scene(control: ScriptedControl(folders: FolderScript(scrubbed: found)))
        let told = await scene.run("scrub", "--repair", "-q")
        #expect(told.code == 2)
        #expect(
            told.output
                == "docs:a\u{1b}b: damaged, 1 of 12 blocks; available from nas, phone (not connected)\n"
                + "Checked 3 files, 30 B: 1 damaged, 1 repaired.\n")
        #expect(told.errors == "synctrain: docs:a\\x1bb: not repaired: no device has it\n")
        #expect(scene.control?.asked == ["scrub [] true"])
        let json = await scene.run("scrub", "--json")
        #expect(json.code == 2 && json.errors.isEmpty)
        let lines = json.output.split(separator: "\n").map { Array($0.utf8) }
        #expect(try lines.map { try ControlJSON.decode(ScrubEvent.self, from: $0) } == found)
        // The agent ended in the middle.
        let cut = Scene(control: ScriptedControl(folders: FolderScript(scrubbed: [plan])))
        #expect(await cut.run("scrub").code == 1)
    }

    @Test func extraneousAndNeededFilesAreListed() async throws {
        let entries = [
            Sample.file("a\u{1b}b", size: 2048, state: .extraneous), Sample.directory("d", size: 0, files: 0),
        ]
        let scene = Scene(control: ScriptedControl(entries: entries))
        let time = Timestamp.local(Sample.time)
        #expect(
            await scene.run("extraneous", "list", "docs").output
                == " 2.0 KiB  \(time)  docs:a\u{1b}b\n     0 B  -                 docs:d/\n")
        #expect(await scene.run("extraneous", "list", "-0").output == "docs:a\u{1b}b\0docs:d\0")
        #expect(await scene.run("need").output.hasPrefix("extraneous   2.0 KiB  \(time)  docs:a"))
        let lines = await scene.run("extraneous", "list", "--json").output.split(separator: "\n")
        #expect(try lines.map { try EntryLine.parse(Array($0.utf8)) } == entries)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
        #expect(object["type"] as? String == "file")
        #expect(object["folder"] as? String == "docs")
        #expect(object["size"] as? Int == 2048)
        #expect(
            scene.control?.asked == ["extraneous docs", "extraneous all", "needs all", "extraneous all"])
    }

    @Test func statusTellsWhatIsWrongAndWhatToDo() {
        var folder = AgentStatus.sample.folders[0]
        folder.state = "halted-mass-delete"
        folder.text = "60 of 100 files are gone."
        folder.conflicts = nil
        folder.extraneous = 2
        folder.errors = 3
        folder.need = .init(files: 2, bytes: 10, deletions: 3)
        folder.problems = [FolderProblem(path: "p", message: "no")]
        folder.watch = .init(state: "partial", message: "too few watches; raise max_user_watches", watched: 9)
        folder.progress = .init(filesDone: 1, filesTotal: 4, bytesDone: 10, bytesTotal: 2048)
        let rendering = StatusRendering(style: Style(hasColor: false, escapesNames: true))
        let lines = rendering.folders([folder])
        #expect(lines[1].contains("2 files, 10 B, 3 deletions"))
        #expect(
            lines.dropFirst(2) == [
                "docs: 60 of 100 files are gone.",
                "docs: if it was intended, `synctrain folder confirm docs` deletes them on the other devices too",
                "docs: if it was a mistake, `synctrain folder repair docs` restores the files",
                "docs: halted-mass-delete 1 of 4 files, 10 B of 2.0 KiB",
                "docs: watching a part: too few watches; raise max_user_watches",
                "docs: 3 errors, 2 extraneous files",
                "  docs:p: no",
                "  and 2 names more",
            ])
        (folder.state, folder.text) = ("halted-marker-missing", nil)
        #expect(rendering.folders([folder]).contains { $0.contains("`synctrain folder repair docs`") })
        #expect(!rendering.folders([folder]).contains { $0.contains("folder confirm") })
    }
}

struct WaitingTests {
    private func status(_ folders: (id: String, state: String, need: FolderStatus.Totals)...) -> AgentStatus {
        var status = AgentStatus.sample
        status.transfers = []
        status.folders = folders.map { folder in
            var one = AgentStatus.sample.folders[0]
            (one.id, one.state, one.need) = (folder.id, folder.state, folder.need)
            return one
        }
        return status
    }

    @Test(
        arguments: [
            ("idle", 0, 0, nil), ("fetching", 0, 0, nil), ("scanning", 0, 0, "a is scanning."),
            ("syncing", 0, 0, "a is syncing."), ("receiving-index", 0, 0, "a is receiving index."),
            ("idle", 2, 0, "a needs 2 files, 0 B."), ("idle", 0, 3, "a needs 3 deletions."),
            ("of-a-later-version", 0, 0, "a is of a later version."),
        ] as [(String, Int64, Int64, String?)])
    func whatIsWaitedFor(state: String, files: Int64, deletions: Int64, expected: String?) throws {
        let status = status(("a", state, .init(files: files, deletions: deletions)))
        #expect(try WaitCommand.judge(status, folder: "a") == expected)
        #expect(try WaitCommand.judge(status, folder: nil) == expected)
    }

    @Test(
        arguments: [
            ("error", "failed"), ("halted-root-emptied", "folder-halted"), ("selection-error", "selection-unusable"),
            ("low-space", "no-space"),
        ])
    func whatWillNotComeIsNotWaitedFor(state: String, code: String) async {
        // A folder that works comes first and does not hide the one that cannot.
        let both = status(("b", "syncing", .init(files: 1)), ("a", state, .init()))
        let error = #expect(throws: ControlError.self) { try WaitCommand.judge(both, folder: nil) }
        #expect(error?.code.rawValue == code)
        #expect(error?.message.hasPrefix("a (\(state)): ") == true)
        #expect(throws: Never.self) { try WaitCommand.judge(both, folder: "b") }
        let result = await Scene(control: ScriptedControl(statuses: [both])).run("wait")
        #expect(result.code == 1)
        #expect(result.errors.contains("a (\(state))"))
    }

    @Test func anIndexThatNobodyHasSentIsWaitedFor() throws {
        var status = status(("a", "idle", .init()))
        status.folders[0].copy = .unknown
        status.folders[0].waits = []
        #expect(try WaitCommand.judge(status, folder: "a") == "a: no device has sent its index yet.")
        status.folders[0].waits = [
            FolderWait(reason: .problems, message: "a name", remedy: "rename it"),
            FolderWait(reason: .index, message: "nas has not sent its index yet", remedy: "switch it on"),
        ]
        #expect(try WaitCommand.judge(status, folder: nil) == "a: nas has not sent its index yet.")
        status.folders[0].type = "sendonly"
        #expect(try WaitCommand.judge(status, folder: "a") == nil)
        status.folders[0].type = "sendreceive"
        for copy in [FolderCopy.complete, .selected, .partial] {
            status.folders[0].copy = copy
            #expect(try WaitCommand.judge(status, folder: "a") == nil)
        }
    }

    /// `fetch` without a path ends, and says that nothing is known.
    @Test func anIndexThatNobodyHasSentIsNotFetchedForEver() throws {
        var status = status(("a", "idle", .init()))
        status.folders[0].copy = .unknown
        let start = ContinuousClock.now
        var course = SelectedFetchCourse()
        _ = try course.observe(status, isDone: false, now: start)
        let error = #expect(throws: ControlError.self) {
            try course.observe(status, isDone: false, now: start + SelectedFetchCourse.patience)
        }
        #expect(error?.code == .noHolder)
    }

    /// A folder that has just put files in their places is at rest for a moment, until the system reports them.
    @Test func aFolderThatRestsForAMomentIsWaitedFor() async {
        let (rest, failed) = (status(("a", "idle", .init())), status(("a", "error", .init())))
        #expect(await Scene(control: ScriptedControl(statuses: [rest])).run("wait", "a").code == 0)
        #expect(await Scene(control: ScriptedControl(statuses: [rest, failed])).run("wait", "a").code == 1)
    }

    @Test func pausedFoldersAreNotWaitedFor() throws {
        let status = status(("a", "paused", .init(files: 1)), ("b", "idle", .init()))
        #expect(try WaitCommand.judge(status, folder: nil) == nil)
        #expect(throws: ControlError.self) { try WaitCommand.judge(status, folder: "a") }
    }

    @Test func fetchWithoutAPathWaitsForWhatIsSelected() async throws {
        let control = ScriptedControl(
            statuses: [
                status(("a", "syncing", .init(files: 3, bytes: 300))),
                status(("a", "syncing", .init(files: 2, bytes: 100))), status(("a", "idle", .init())),
            ], onEvents: ScriptedControl.ceaselessEvents)
        let result = await Scene(control: control).run("fetch", "--json")
        #expect(result.code == 0)
        #expect(control.asked.first == "sync all")
        let lines = result.output.split(separator: "\n")
        let events = try lines.map { try ControlJSON.decode(FetchEvent.self, from: Array($0.utf8)) }
        #expect(events.first == .plan(files: 3, bytes: 300))
        guard case .progress(_, 200, 300, _, _) = events[2], case .done(3, 300, 0, _) = events.last else {
            Issue.record("\(events)")
            return
        }
        let nothing = await Scene(control: ScriptedControl(statuses: [status(("a", "idle", .init()))])).run("fetch")
        #expect(nothing.code == 0)
        #expect(nothing.errors == "0 files, 0 B in 0.0 s\n")
        let broken = ScriptedControl(statuses: [status(("a", "halted-root-missing", .init()))])
        #expect(await Scene(control: broken).run("fetch").code == 1)
    }

    /// Ten seconds without any change, by a clock that the test moves.
    @Test(arguments: [(true, true, "some-failed"), (true, false, "no-holder"), (false, true, "no-holder")])
    func whatDoesNotMoveIsGivenUp(isLinked: Bool, hasProblem: Bool, code: String) throws {
        var status = status(("a", "idle", .init(files: 3, bytes: 300)))
        status.devices[0].isConnected = isLinked
        if hasProblem {
            status.folders[0].errors = 1
            status.folders[0].problems = [FolderProblem(path: "p", message: "no room")]
        }
        var course = SelectedFetchCourse()
        let start = ContinuousClock.now
        _ = try course.observe(status, isDone: false, now: start)
        _ = try course.observe(status, isDone: false, now: start + .seconds(9))
        // A byte that came buys time, and so does a scan.
        status.folders[0].need.bytes = 200
        _ = try course.observe(status, isDone: false, now: start + .seconds(11))
        status.folders[0].state = "scanning"
        _ = try course.observe(status, isDone: false, now: start + .seconds(22))
        status.folders[0].state = "idle"
        _ = try course.observe(status, isDone: false, now: start + .seconds(31))
        let error = #expect(throws: ControlError.self) {
            try course.observe(status, isDone: false, now: start + .seconds(32))
        }
        #expect(error?.code.rawValue == code)
    }

    /// A connected device has it, and may not send it over the link that there is.
    @Test(arguments: [
        ("metered", "held-by-policy"), ("battery", "held-by-policy"), ("bluetooth", "kept-off-bluetooth"),
        (nil, "kept-off-bluetooth"),
    ])
    func whatAPolicyHoldsIsSaidToBeHeld(reason: String?, code: String) throws {
        var status = status(("a", "idle", .init(files: 3, bytes: 300)))
        status.devices[0].isConnected = true
        status.folders[0].waiting = .init(files: 3, bytes: 300, message: "do this", reason: reason)
        var course = SelectedFetchCourse()
        let start = ContinuousClock.now
        _ = try course.observe(status, isDone: false, now: start)
        let error = #expect(throws: ControlError.self) {
            try course.observe(status, isDone: false, now: start + .seconds(10))
        }
        #expect(error?.code.rawValue == code && error?.exitCode == 5)
        #expect(error?.message.contains("do this") == true)
    }

    /// The whole grows with what is announced on the way, so that progress never goes back.
    @Test func announcementsOnTheWayAreCounted() throws {
        var course = SelectedFetchCourse()
        let start = ContinuousClock.now
        var last: [FetchEvent] = []
        for (second, need) in [(100, 1), (50, 1), (80, 2), (0, 0)].enumerated() {
            last = try course.observe(
                status(("a", "syncing", .init(files: Int64(need.1), bytes: Int64(need.0)))), isDone: need.0 == 0,
                now: start + .seconds(second))
        }
        #expect(last == [.done(files: 2, bytes: 130, failed: 0, seconds: 3)])
    }
}
