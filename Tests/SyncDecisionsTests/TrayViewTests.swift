import ControlAPI
import Phrases
import Testing

@testable import SyncDecisions

struct TrayViewTests {
    private static func folder(
        _ state: String = "idle", files: Int64 = 0, bytes: Int64 = 0, directories: Int64 = 0, deletions: Int64? = nil,
        copy: FolderCopy? = .complete, conflicts: Int64? = 0, extraneous: Int64? = 0, errors: Int64 = 0,
        refused: Int64 = 0, incomplete: Bool = false, held: Bool = false
    ) -> FolderStatus {
        FolderStatus(
            id: "f", label: "", path: "/f", mode: "full", type: "sendreceive", state: state, devices: [],
            global: .init(), local: .init(),
            need: .init(files: files, directories: directories, bytes: bytes, deletions: deletions),
            extraneous: extraneous, conflicts: conflicts, errors: errors, copy: copy, refused: refused,
            isIncomplete: incomplete,
            heldDeletions: held ? .init(names: 3, isHere: true, message: "Held.") : nil)
    }

    private static func device(connected: Bool = false, paused: Bool = false) -> DeviceStatus {
        DeviceStatus(id: "AAAAAAA", name: "nas", isConnected: connected, bytesIn: 0, bytesOut: 0, isPaused: paused)
    }

    private static func view(
        _ folders: [FolderStatus], _ devices: [DeviceStatus] = [device()], pending: Int? = 0
    ) -> TrayView {
        TrayView(
            AgentStatus(
                device: "X", name: "laptop", version: "1", startedAt: "", listening: [], folders: folders,
                devices: devices, transfers: [], pending: pending))
    }

    @Test(
        arguments: [
            // No device that is connected is no reason for anything.
            ([folder()], .plain, ["Up to date"]),
            ([folder(copy: .selected)], .plain, ["Up to date"]),
            ([], .plain, ["No folders"]),
            ([folder(copy: .unknown)], .plain, ["Waiting for the index of other devices"]),
            ([folder(incomplete: true)], .plain, ["Waiting for the index of other devices"]),
            ([folder(copy: .partial)], .plain, ["Incomplete"]),
            ([folder(directories: 2, copy: .partial)], .plain, ["Incomplete"]),
            ([folder(files: 1, bytes: 1 << 20, copy: .partial)], .plain, ["Incomplete: 1 file (1.0 MiB) missing"]),
            (
                [folder("syncing", files: 2, bytes: 1_288_490_189, copy: .partial), folder()], .working,
                ["2 files (1.2 GiB) to download"]
            ),
            (
                [folder("syncing", files: 2, bytes: 5), folder("syncing", files: 3, bytes: 6, deletions: 1)], .working,
                ["5 files (11 B) to download", "1 name to delete"]
            ),
            ([folder("syncing")], .working, ["Syncing"]),
            ([folder("a-word-of-later")], .working, ["Syncing"]),
            ([folder("scanning"), folder("receiving-index")], .working, ["Receiving the index", "Scanning"]),
            ([folder("starting", copy: .unknown)], .working, ["Starting"]),
            ([folder("fetching")], .working, ["Fetching files"]),
            (
                [folder("scanning"), folder(files: 4, bytes: 9, copy: .partial)], .working,
                ["Scanning", "Incomplete: 4 files (9 B) missing"]
            ),
            ([folder("paused")], .paused, ["Paused"]),
            ([folder("paused", files: 2, bytes: 2)], .paused, ["Paused"]),
            ([folder("paused"), folder()], .plain, ["Up to date", "1 of 2 folders paused"]),
            ([folder(errors: 2)], .plain, ["2 names with problems"]),
            ([folder("halted-mass-delete")], .attention, ["1 folder has stopped"]),
            (
                [folder("low-space", files: 1, bytes: 7), folder("error", copy: .unknown), folder()], .attention,
                ["2 folders have stopped", "Incomplete: 1 file (7 B) missing"]
            ),
            ([folder(conflicts: 1)], .attention, ["Up to date"]),
            ([folder("paused", conflicts: 1)], .attention, ["Paused"]),
        ] as [([FolderStatus], TrayView.Mark, [String])])
    func whatIsShown(folders: [FolderStatus], mark: TrayView.Mark, lines: [String]) {
        let view = Self.view(folders)
        #expect(view.mark == mark)
        #expect(view.lines.map(\.words.english) == lines)
        #expect(view.summary.english == lines.first)
    }

    /// The same number as the badge of Attention on the page.
    @Test(
        arguments: [
            ([folder()], 0, 0), ([folder(conflicts: 3)], 0, 3), ([folder(conflicts: nil, extraneous: nil)], nil, 0),
            ([folder(extraneous: 12)], 0, 1), ([folder(refused: 2)], 0, 2), ([folder(held: true)], 0, 1),
            ([folder("halted-root-missing"), folder("low-space"), folder()], 0, 2), ([folder()], 2, 2),
            ([folder(conflicts: .max, refused: .max)], 1, .max), ([folder(conflicts: -1)], -1, 0),
        ] as [([FolderStatus], Int?, Int64)])
    func attentionIsCounted(folders: [FolderStatus], pending: Int?, count: Int64) {
        let view = Self.view(folders, pending: pending)
        #expect(view.attention == count)
        #expect((view.mark == .attention) == (count > 0))
        #expect((view.words(of: .attention) != nil) == (count > 0))
    }

    @Test func oneAndManyThings() {
        #expect(Self.view([], pending: 1).words(of: .attention)?.english == "1 thing needs attention")
        #expect(Self.view([], pending: 2).words(of: .attention)?.english == "2 things need attention")
    }

    @Test(
        arguments: [
            ([folder()], "Ready for the train: yes"),
            ([folder(), folder("scanning")], "Ready for the train: not known yet"),
            ([folder(copy: .unknown)], "Ready for the train: not known yet"),
            ([folder(files: 1, bytes: 2048), folder()], "Ready for the train: 2.0 KiB missing"),
            ([folder("halted-mass-delete")], "Ready for the train: no"), ([], nil),
        ] as [([FolderStatus], String?)])
    func readiness(folders: [FolderStatus], words: String?) {
        #expect(Self.view(folders).words(of: .ready)?.english == words)
    }

    @Test(
        arguments: [
            ([folder()], [device()], true, false), ([folder("paused")], [device(paused: true)], false, true),
            ([folder("paused"), folder()], [device()], true, true), ([folder()], [device(paused: true)], true, true),
            ([], [], false, false),
        ] as [([FolderStatus], [DeviceStatus], Bool, Bool)])
    func whatCanBePausedAndResumed(
        folders: [FolderStatus], devices: [DeviceStatus], canPause: Bool, canResume: Bool
    ) {
        let view = Self.view(folders, devices)
        #expect((view.words(of: .pause) != nil) == canPause)
        #expect((view.words(of: .resume) != nil) == canResume)
    }

    @Test func devicesThatArePausedLeaveNothingToSync() {
        let view = Self.view([Self.folder()], [Self.device(paused: true)])
        #expect(view.mark == .paused)
        #expect(view.summary.english == "Paused")
    }

    @Test func theTipSaysHowManyDevicesAreConnected() {
        let view = Self.view([Self.folder(conflicts: 2)], [Self.device(connected: true), Self.device()])
        #expect(
            view.details.map(\.english) == ["Up to date", "2 things need attention", "1 of 2 devices connected"])
    }
}
