import ControlAPI
import Testing

@testable import synctrain

/// The line that shows what the agent does while a command waits.
struct StatusProgressTests {
    private static func status(_ folder: FolderStatus?, _ transfers: [TransferStatus] = []) -> AgentStatus {
        var status = AgentStatus.sample
        (status.folders, status.transfers) = (folder.map { [$0] } ?? [], transfers)
        return status
    }

    private static func folder(
        _ state: String, needs files: Int64 = 0, progress: FolderStatus.Progress? = nil
    ) -> FolderStatus {
        var folder = FolderStatus(
            id: "docs", label: "", path: "/d", mode: "selective", type: "sendreceive", state: state, devices: [],
            global: .init(), local: .init(), need: .init(files: files, bytes: files * 1024))
        folder.progress = progress
        return folder
    }

    @Test(
        arguments: [
            (status(nil), nil), (status(folder("idle")), nil), (status(folder("paused", needs: 2)), nil),
            (status(folder("idle", needs: 2)), "docs: idle  2 files, 2.0 KiB to come"),
            (
                status(folder("scanning", progress: .init(filesDone: 3, filesTotal: 9, bytesDone: 2048))),
                "docs: scanning  3 of 9 files, 2.0 KiB"
            ),
            (status(folder("receiving-index")), "docs: receiving index"),
            (
                status(
                    folder("syncing", needs: 1),
                    [
                        TransferStatus(folder: "docs", path: "a", bytesDone: 9, bytesTotal: 10, holders: []),
                        TransferStatus(folder: "docs", path: "b\u{1b}", bytesDone: 50, bytesTotal: 200, holders: []),
                    ]), "docs: syncing  1 file, 1.0 KiB to come  25 %  docs:b\\x1b"
            ),
        ] as [(AgentStatus, String?)])
    func saysWhatIsDone(_ status: AgentStatus, _ text: String?) { #expect(StatusProgress.text(status) == text) }

    @Test(arguments: [true, false]) func isDrawnOnATerminalOnly(_ isTerminal: Bool) async {
        var busy = AgentStatus.sample.needing(.init(files: 1, bytes: 1024), state: "syncing")
        busy.transfers = []
        var scene = Scene(
            control: ScriptedControl(
                statuses: [busy, AgentStatus.sample.needing(.init())], onEvents: ScriptedControl.ceaselessEvents))
        scene.terminal.isErrorTTY = isTerminal
        let result = await scene.run("wait")
        #expect(result.code == 0)
        #expect(result.errors.contains("\r\u{1b}[Kdocs: syncing  1 file, 1.0 KiB to come") == isTerminal)
        #expect(!isTerminal || result.errors.hasSuffix("\r\u{1b}[K"), "the line is taken away")
    }

    @Test func theHelpGroupsTheCommands() async {
        let help = await Scene().run("--help").output
        for group in ["START", "FILES", "KEEPING", "DEVICES AND FOLDERS", "TROUBLE"] {
            #expect(help.contains("\(group) SUBCOMMANDS:"), "\(group) in \(help)")
        }
        #expect(!help.contains("overview"))
    }
}
