import ControlAPI
import Synchronization
import Testing

@testable import synctrain

/// What `setup` makes of what is typed.
struct SetupStepTests {
    private static let id = "AAAAAAA-AAAAAAA"
    private static let real = "FVYRMQV-XE2YEID-ALCPSU7-XLBS6XO-EFGD5RS-A6MJWYQ-CEWDRPE-Q2JCAQI"
    private static let known = NearbyEntry(device: real, name: "nas\u{1b}", address: "tcp://h:1", transport: "tcp")
    private static let radio = NearbyEntry(name: "phone", address: "ble://x", transport: "l2cap")

    @Test(
        arguments: [
            ("", .searchAgain), (" ", .searchAgain), ("p", .pair(address: nil)), ("-", .goOn), ("1", .add(real)),
            ("2", .pair(address: "ble://x")), ("0", .problem("0 is not in the list.")),
            ("3", .problem("3 is not in the list.")), (real.lowercased(), .add(real)),
            ("synctrain-AQ", .join("synctrain-AQ")), ("Synctrain-A Q", .join("Synctrain-AQ")),
            (" " + real.replacing("-", with: " "), .add(real)), ("192.168.1.5", .pair(address: "192.168.1.5")),
            ("own", nil), ("nonsense", nil), (String(real.dropLast()) + "X", nil),
        ] as [(String, SetupDevice.Choice?)])
    func aDeviceIsChosen(_ line: String, _ choice: SetupDevice.Choice?) {
        let found = SetupDevice.choose(line, nearby: [Self.known, Self.radio], own: Self.id)
        if let choice {
            #expect(found == choice)
        } else if case .problem = found {
        } else {
            Issue.record("\(line): \(found)")
        }
    }

    @Test func thisDeviceIsNotChosen() {
        #expect(
            SetupDevice.choose(Self.real, nearby: [], own: Self.real)
                == .problem("That is this device. Type the id of the other one."))
    }

    @Test(
        arguments: [
            ("1", [0]), ("1 3", [0, 2]), ("1-3", [0, 1, 2]), ("3,1, 1", [0, 2]), ("a", [0, 1, 2]), ("ALL", [0, 1, 2]),
            ("-", []), ("none", []), ("", nil), ("0", nil), ("4", nil), ("2-9", nil), ("3-1", nil), ("1-2-3", nil),
            ("x", nil), ("1--2", nil), ("99999999999999999999", nil), ("-1", nil),
            (String(repeating: "1 ", count: 600), nil),
        ] as [(String, [Int]?)])
    func numbersAreRead(_ text: String, _ numbers: [Int]?) { #expect(NumberChoice.parse(text, count: 3) == numbers) }

    @Test func ofNothingNoneIsChosen() {
        #expect(NumberChoice.parse("1", count: 0) == nil)
        #expect(NumberChoice.parse("a", count: 0) == [])
    }

    private static func status(_ device: DeviceStatus) -> AgentStatus {
        var status = AgentStatus.sample
        status.devices = [device]
        return status
    }

    @Test(
        arguments: [
            (DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true, acceptance: .given), nil),
            (DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true), "Connected to nas; waiting"),
            (
                DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: false, acceptance: .needed),
                "Waiting for nas (AAAAAAA…) to accept this device."
            ),
            // A device that has not accepted is connected for a moment, again and again.
            (DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true, acceptance: .needed), "Waiting for nas"),
            (DeviceStatus(id: "AAAAAAA-B", name: "", isConnected: false, acceptance: .given), "Connecting to AAAAAAA"),
            (DeviceStatus(id: "C", name: "", isConnected: false), "The device is no longer known."),
        ] as [(DeviceStatus, String?)])
    func itIsSaidWhatIsWaitedFor(_ device: DeviceStatus, _ words: String?) {
        let text = SetupMeeting.waitingFor(Self.status(device), device: "AAAAAAA-B")
        #expect(words == nil ? text == nil : text?.hasPrefix(words ?? "") == true, "\(text ?? "nil")")
    }

    @Test func theLargestDirectoriesComeFirst() {
        let entries =
            (1...50).map { Sample.directory("d\($0)", size: Int64($0) << 20) } + [Sample.file("x", size: 10)]
        let folder = AgentStatus.sample.folders[0]
        let selection = SetupSelection(folder: folder, entries: entries)
        let lines = selection.lines(Style(hasColor: false, escapesNames: true), free: 5 << 30)
        #expect(lines.first == "docs: 20 files, 4.8 MiB; 5.0 GiB free on this disk")
        #expect(lines[1].hasPrefix(" 1  d50/  50 MiB"))
        #expect(lines.suffix(2) == ["and 10 more directories", "and 1 file in no directory, 10 B"])
        #expect(selection.paths([0, 2]) == ["docs:d50", "docs:d48"])
        #expect(selection.bytes([0, 1]) == 99 << 20)
    }
}

/// Questions that were asked and not answered yet.
private final class Questions: Sendable {
    private let state = Mutex((count: 0, waiter: AsyncStream<Void>.Continuation?.none))

    func ask() {
        state.withLock { state in
            state.count += 1
            state.waiter?.yield()
        }
    }

    /// Waits for a question; false if the task was cancelled.
    func next() async -> Bool {
        let (asked, waiter) = AsyncStream.makeStream(of: Void.self)
        state.withLock { state in
            state.waiter = waiter
            if state.count > 0 { waiter.yield() }
        }
        for await _ in asked {
            let isTaken = state.withLock { state in
                guard state.count > 0 else { return false }
                state.count -= 1
                return true
            }
            if isTaken { return true }
        }
        return false
    }
}

/// The command against an agent that is made up.
struct SetupCommandTests {
    /// A terminal that answers one question after the other, once each is asked, and notes none else.
    private static func terminal(_ answers: [String]) -> Terminal {
        let questions = Questions()
        let left = Mutex(answers[...])
        return Terminal(
            isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 100, readLine: { nil },
            nextLine: {
                guard await questions.next() else { throw CancellationError() }
                return left.withLock { $0.popFirst() }
            }, discardInput: { questions.ask() })
    }

    private static func status(_ change: (inout AgentStatus) -> Void) -> AgentStatus {
        var status = AgentStatus.sample
        (status.devices, status.folders, status.transfers) = ([], [], [])
        change(&status)
        return status
    }

    private static let bare = status { _ in }
    private static let met = status {
        $0.devices = [DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true, acceptance: .given)]
    }
    private static let shared = status {
        $0.devices = met.devices
        $0.folders = [
            FolderStatus(
                id: "music", label: "Music", path: "/m", mode: "selective", type: "sendreceive", state: "idle",
                devices: ["AAAAAAA-B"], global: .init(files: 3, bytes: 4096), local: .init(), need: .init())
        ]
    }

    @Test func fromNothingToAFirstSelection() async {
        let control = ScriptedControl(
            entries: [Sample.directory("Films", size: 8192), Sample.directory("Songs")],
            statuses: [Self.bare, Self.bare, Self.met, Self.met, Self.shared],
            folders: FolderScript(outcomes: [SelectionCommandTests.selected])
        )
        var scene = Scene(control: control, isSetUp: false)
        // The name, the stranger of the list, all that is offered, its place, the second directory.
        scene.terminal = Self.terminal(["laptop", "1", "a", "~/M", "2"])
        let result = await scene.run("setup")
        #expect(result.code == 0, "\(result)")
        for words in [
            "Name of this device [this-device]: ", "ID of laptop", "1  neu", "Added device neu.", "1  Music  music",
            "Directory for Music [~/Library/Music]: ", "Added folder music in ~/M.", "2  Songs/",
            "Selected: 12 files, 1.0 MiB to download.",
        ] { #expect(result.errors.contains(words), "\(words) in \(result.errors)") }
        let asked = control.asked
        #expect(asked.contains { $0.hasPrefix("addDevice") && $0.contains("AAAAAAA-B") })
        #expect(asked.contains { $0.hasPrefix("addFolder") && $0.contains(#"path: "~/M""#) })
        #expect(asked.filter { $0.hasPrefix("select") } == ["select music:Songs true", "select music:Songs false"])
    }

    @Test func aScriptIsNotAsked() async {
        let control = ScriptedControl(
            entries: [Sample.directory("Songs")], statuses: [Self.bare, Self.met, Self.met, Self.met, Self.shared],
            folders: FolderScript(outcomes: [SelectionCommandTests.selected])
        )
        let result = await Scene(control: control, isSetUp: false).run(
            "setup", "--yes", "--name", "n", "--device", "AAAAAAA-B", "--address", "192.168.1.5", "--into", "/l",
            "--select", "Songs")
        #expect(result.code == 0, "\(result)")
        #expect(control.asked.contains { $0.hasPrefix("addDevice") && $0.contains("192.168.1.5") })
        #expect(control.asked.contains { $0.hasPrefix("addFolder") && $0.contains(#"path: "/l/Music""#) })
        #expect(control.asked.contains("select music:Songs false"))
    }

    /// The device does not answer: nothing could be taken or selected.
    @Test func aScriptIsToldThatNothingCame() async throws {
        var alone = Self.bare
        alone.devices = [DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true, acceptance: .given)]
        var away = alone
        away.devices[0].isConnected = false
        // It is lost again as soon as it is met: no test waits for its time to be over.
        let control = ScriptedControl(entries: [], statuses: [Self.bare, alone, alone, alone, away])
        let result = await Scene(control: control, isSetUp: false).run(
            "setup", "--yes", "--device", "AAAAAAA-B", "--into", "/l", "--select", "Songs")
        #expect(result.code == 7, "\(result)")
        #expect(result.errors.contains("no device is connected"))
    }

    /// As an argument, and as what is typed instead of a device; with its folder comes the device.
    @Test(arguments: [["setup", "synctrain-AQ"], ["setup"]]) func anInvitationBringsDeviceAndFolder(
        _ arguments: [String]
    ) async {
        let isTyped = arguments.count == 1
        let control = ScriptedControl(
            entries: [Sample.directory("Songs")],
            statuses: isTyped ? [Self.bare, Self.bare, Self.shared] : [Self.shared],
            folders: FolderScript(outcomes: [SelectionCommandTests.selected]))
        var scene = Scene(control: control, isSetUp: false)
        // The name, the place of the folder that comes with the invitation, none of what else is offered, the first directory.
        scene.terminal = Self.terminal(["laptop"] + (isTyped ? ["synctrain-AQ"] : []) + ["", "-", "1"])
        let result = await scene.run(arguments)
        #expect(result.code == 0, "\(result)")
        #expect(result.errors.contains("Where to create the folder's directory [~/Library]: "))
        #expect(control.asked.contains { $0.hasPrefix("join synctrain-AQ ~/Library") }, "\(control.asked)")
        #expect(!control.asked.contains { $0.hasPrefix("addDevice") || $0.hasPrefix("addFolder") })
        #expect(result.errors.contains("Selected: 12 files, 1.0 MiB to download."))
    }

    @Test(arguments: [("y", 0, true), ("n", 6, false), ("", 6, false)] as [(String, Int32, Bool)])
    func aFolderThatIsHereIsSharedOnlyIfAPersonSaysSo(_ answer: String, _ code: Int32, _ isShared: Bool) async {
        let control = ScriptedControl(
            entries: [Sample.directory("Songs")], statuses: [Self.shared],
            folders: FolderScript(outcomes: [SelectionCommandTests.selected]))
        var scene = Scene(control: control, isSetUp: false)
        scene.terminal = Self.terminal(["laptop", "", answer, "-", "1"])
        let result = await scene.run("setup", "synctrain-here")
        #expect(result.code == code, "\(result)")
        #expect(result.errors.contains("docs is here. Share it?"))
        #expect(control.asked.count { $0.hasPrefix("join synctrain-here") } == (isShared ? 2 : 1))
    }

    @Test(
        arguments: [
            (["setup"], 6), (["setup", "nonsense"], 64), (["setup", "--json", "--yes"], 64),
            (["setup", "--yes", "--address", "h"], 64),
            (["setup", "--select", "a"], 64),
        ] as [([String], Int32)])
    func withoutATerminalItNeedsItsOptions(_ arguments: [String], _ code: Int32) async {
        #expect(await Scene().run(arguments).code == code)
    }

    @Test func anInputThatEndsEndsIt() async {
        var scene = Scene(control: ScriptedControl(statuses: [Self.bare]))
        scene.terminal = Self.terminal([])
        let result = await scene.run("setup")
        #expect(result.code == 6)
        #expect(result.errors.contains("`synctrain setup` goes on where it was."))
    }
}
