import ControlAPI
import Foundation
import Testing

@testable import synctrain

struct ConflictCommandLineTests {
    private static let details = ConflictDetails(
        conflict: Sample.conflict, diff: "--- a\n+++ b\n-x\u{1b}[2J\n", isCut: true, remark: nil)

    private func scene(_ script: FolderScript) -> Scene { Scene(control: ScriptedControl(folders: script)) }

    @Test func conflictsAreListedWithBothVersions() async throws {
        let scene = scene(FolderScript(conflicts: [Self.details]))
        let time = Timestamp.local(Sample.time)
        let copy = Sample.conflict.copy
        #expect(
            await scene.run("conflicts", "list", "docs").output == """
                docs:a.txt
                  mine    laptop      12 B  \(time)  a.txt
                  theirs  CCCCCCC  2.0 KiB  -                 \(copy)

                """)
        let line = await scene.run("conflicts", "list", "--json").output
        #expect(try ControlJSON.decode(Conflict.self, from: Array(line.utf8)) == Sample.conflict)
        #expect(scene.control?.asked == ["conflicts docs", "conflicts all"])
    }

    @Test func differencesAreShownAndCannotActOnTheTerminal() async {
        var scene = scene(FolderScript(conflicts: [Self.details]))
        scene.terminal.isOutputTTY = true
        let shown = await scene.run("conflicts", "show", "docs:a.txt", "--color", "never").output
        #expect(shown.hasSuffix("--- a\n+++ b\n-x\\x1b[2J\n  … and more\n"))
        let none = ConflictDetails(conflict: Sample.conflict, remark: "The versions are not text.")
        #expect(
            await self.scene(FolderScript(conflicts: [none])).run("conflicts", "show", "a").output
                .hasSuffix("\n  The versions are not text.\n"))
    }

    @Test func resolvingSaysWhatBecameOfBoth() async {
        let outcomes = [
            ConflictAnswer.Outcome(conflict: Sample.conflict, keep: .mine, archived: "/x/a~1.txt"),
            ConflictAnswer.Outcome(conflict: Sample.conflict, keep: .theirs),
            ConflictAnswer.Outcome(conflict: Sample.conflict, keep: .both, renamed: "a (laptop).txt"),
        ]
        let scene = scene(FolderScript(resolved: outcomes))
        let done = await scene.run("conflicts", "resolve", "a", "b", "--keep", "theirs")
        #expect(done.code == 0)
        #expect(
            done.output == """
                docs:a.txt: kept what laptop has; the version of CCCCCCC is now /x/a~1.txt
                docs:a.txt: kept what CCCCCCC has; the version of laptop is gone
                docs:a.txt: both are kept, the other as a (laptop).txt

                """)
        #expect(scene.control?.asked == [#"resolve ["a", "b"] theirs"#])
        var failed = outcomes[0]
        failed.problem = "there are 2 copies; name the one"
        let told = await self.scene(FolderScript(resolved: [failed])).run("conflicts", "resolve", "a", "--keep", "mine")
        #expect(told.code == 2)
        #expect(told.output == "docs:a.txt: there are 2 copies; name the one\n")
        #expect(await scene.run("conflicts", "resolve", "a").code == 64)
        #expect(await scene.run("conflicts", "resolve", "a", "--keep", "newest").code == 64)
    }

    @Test func versionsAreListedAndBroughtBack() async throws {
        let scene = scene(FolderScript(versions: [Sample.version]))
        let (precise, time) = (Timestamp.precise(Sample.time), Timestamp.local(Sample.time))
        #expect(
            await scene.run("versions", "list", "docs").output == "\(precise)      12 B  \(time)  docs:a.txt\n")
        let line = await scene.run("versions", "list", "--json").output
        #expect(try ControlJSON.decode(ArchivedVersion.self, from: Array(line.utf8)) == Sample.version)
        #expect(await scene.run("versions", "show", "docs:a.txt").output.hasSuffix("\n  \(Sample.version.file)\n"))
        #expect(await self.scene(FolderScript()).run("versions", "show", "docs:a.txt").code == 4)
        let restored = await scene.run("versions", "restore", "docs:a.txt", "--at", "2026-11-21T14:03:05Z")
        #expect(restored.code == 0)
        #expect(restored.output == "docs:a.txt restored from the version of \(precise), 12 B\n")
        #expect(
            scene.control?.asked == [
                "versions docs", "versions all", "versions docs:a.txt", "restore docs:a.txt at 1795269785 false",
            ])
        #expect(await scene.run("versions", "restore", "a", "--at", "yesterday").code == 64)
    }

    @Test func whatIsThereIsReplacedOnlyIfThatIsWanted() async {
        let script = FolderScript(restoreNeedsConfirmation: true)
        let asked = scene(script)
        let told = await asked.run("versions", "restore", "docs:a.txt")
        #expect(told.code == 6)
        #expect(told.errors.contains("--yes"))
        #expect(asked.control?.asked == ["restore docs:a.txt at -1 false"])
        let sure = scene(script)
        #expect(await sure.run("versions", "restore", "docs:a.txt", "--yes").code == 0)
        #expect(sure.control?.asked == ["restore docs:a.txt at -1 true"])
    }

    @Test func typedTimesAreLocalUnlessTheySayMore() {
        let midnight = Timestamp.seconds(typed: "2026-11-21") ?? 0
        #expect(Timestamp.seconds(typed: "2026-11-21 00:00") == midnight)
        #expect(Timestamp.seconds(typed: "2026-11-21 14:03:05") == midnight + 14 * 3600 + 185)
        #expect(Timestamp.seconds(typed: "2026-11-21T14:03:05") == midnight + 14 * 3600 + 185)
        #expect(Timestamp.seconds(typed: "20261121-140305") == midnight + 14 * 3600 + 185)
        #expect(Timestamp.seconds(typed: "2026-11-21T14:03:05Z") == 1_795_269_785)
        #expect(Timestamp.seconds(typed: "2024-02-29") != nil && Timestamp.seconds(typed: "31.12.2026") != nil)
        for text in [
            "2026-11-31", "2026-02-29", "2100-02-29 10:00", "31.04.2026", "2026-11-31T00:00:00Z", "2026-11-00",
        ] {
            #expect(Timestamp.seconds(typed: text) == nil, "\(text)")
        }
        for text in ["", "now", "2026-13-01", "2026-11-21 25:00", "2026-11-21 14", "２０２６-11-21"] {
            #expect(Timestamp.seconds(typed: text) == nil, "\(text)")
        }
    }
}
