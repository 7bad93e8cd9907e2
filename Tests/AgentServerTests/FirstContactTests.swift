import ControlAPI
import Foundation
import Testing

@testable import synctrain

/// What is done next, from what is known.
struct NextStepTests {
    private static let nas = DeviceStatus(id: "AAAAAAA-B", name: "nas", isConnected: true)
    private static let music = PendingFolder(id: "music", label: "My Music", device: "AAAAAAA-B", lastSeen: Sample.time)
    private static let stranger = PendingDevice(id: "SSSSSSS-T", name: "", address: "tcp://h:1", lastSeen: Sample.time)

    private static func facts(
        devices: [DeviceStatus] = [], folders: [FolderStatus] = [],
        pending: PendingList = .init(devices: [], folders: []),
        selected: Set<String> = [], unready: Set<String> = []
    ) -> NextStep.Facts {
        var status = AgentStatus.sample
        (status.devices, status.folders) = (devices, folders)
        return NextStep.Facts(
            status: status, pending: pending, selectedFolders: selected, unreadyFolders: unready)
    }

    private static func folder(
        _ state: String = "idle", id: String = "docs", mode: String = "selective", needs files: Int64 = 0
    ) -> FolderStatus {
        FolderStatus(
            id: id, label: id, path: "/d", mode: mode, type: "sendreceive", state: state, message: "Mount it.",
            devices: [],
            global: .init(files: 3, bytes: 2048), local: .init(), need: .init(files: files))
    }

    private static func unaccepted(_ id: String) -> DeviceStatus {
        DeviceStatus(id: id, name: "nas", isConnected: false, acceptance: .needed)
    }

    static let table: [(NextStep.Facts, String)] = [
        (.init(isSetUp: false), "synctrain setup"),
        (.init(), "synctrain agent start"),
        (facts(), "synctrain pair"),
        (facts(pending: .init(devices: [stranger], folders: [])), "synctrain device add SSSSSSS-T"),
        (facts(devices: [unaccepted("AAAAAAA-B")]), "choose Add Device"),
        (facts(devices: [.init(id: "A", name: "nas", isConnected: false, lastError: "start it")]), "nas: start it"),
        (facts(devices: [.init(id: "A", name: "nas", isConnected: false, isPaused: true)]), "resume --device nas"),
        (facts(devices: [nas], pending: .init(devices: [], folders: [music])), "folder add music ~/'Library/My Music'"),
        (facts(devices: [nas], pending: .init(devices: [], folders: [music])), "nas offers the folder My Music."),
        (facts(devices: [nas]), "shares no folder with this device"),
        (facts(devices: [nas], folders: [folder("halted-root-missing")]), "docs: Mount it."),
        (facts(devices: [nas], folders: [folder("paused")]), "resume docs"),
        (facts(devices: [nas], folders: [folder()]), "Nothing of docs (3 files, 2.0 KiB) is selected"),
        (facts(devices: [nas], folders: [folder(needs: 2)], selected: ["docs"], unready: ["docs"]), "still to come"),
        (facts(devices: [nas], folders: [folder("scanning")], selected: ["docs"]), "Everything selected is here"),
        (facts(devices: [nas], folders: [folder()], selected: ["docs"]), "Everything selected is here"),
        (facts(devices: [nas], folders: [folder(mode: "full")]), "Everything selected is here"),
        (facts(devices: [nas], folders: [folder(), folder(id: "b")], selected: ["b"]), "Everything selected is here"),
    ]

    @Test(arguments: table.indices) func isNamedWithItsCommand(_ index: Int) {
        let (facts, words) = Self.table[index]
        let lines = NextStep(facts).lines(Style(hasColor: false, escapesNames: true))
        #expect(lines.joined(separator: "\n").contains(words), "\(lines)")
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= 160 }, "\(lines)")
    }

    @Test func commandsNameTheirHome() {
        let lines = NextStep(.init(isSetUp: false)).lines(Style(hasColor: false, escapesNames: true), home: "/a place")
        #expect(lines.first?.contains("`synctrain --home '/a place' setup`") == true)
    }

    @Test(arguments: [
        ("Photos", "id", "~/Library/Photos"), ("", "id", "~/Library/id"), ("a/b", "id", "~/Library/a-b"),
        ("../..", "id", "~/Library/-.."), (" ", "..", "~/Library/folder"), ("a\u{1b}b", "x", "~/Library/a-b"),
    ])
    func aFolderHasAPlace(_ label: String, _ id: String, _ path: String) {
        #expect(TargetPath.proposal(label: label, id: id) == path)
    }

    /// `status` names what waits to be let in, and programs read the number as before.
    @Test func statusNamesWhatWaits() async {
        var status = AgentStatus.sample
        #expect(await !Scene(control: ScriptedControl(statuses: [status])).run("status").output.contains("Pending"))
        status.pending = 2
        let scene = Scene(control: ScriptedControl(statuses: [status]))
        let lines = await scene.run("--home", "/h", "status").output.split(separator: "\n").map(String.init)
        let first = lines.firstIndex(of: "Pending") ?? 0
        #expect(
            lines[first...].prefix(3) == [
                "Pending",
                "neu at tcp://10.0.0.9:22000 wants to connect. Accept it: `synctrain --home /h device add AAAAAAA-B`",
                "nas offers the folder Music. Take it, without its files: "
                    + "`synctrain --home /h folder add music ~/Library/Music`",
            ], "\(lines)")
        let json = Scene(control: ScriptedControl(statuses: [status]))
        #expect(await json.run("status", "--json").output.contains(#""pending":2"#))
        #expect(json.control?.asked == ["status"])
    }

    @Test func manyThatWaitAreCounted() {
        let devices = (0..<7).map {
            PendingDevice(id: "AAAAAA\($0)-B", name: "d\($0)\u{1b}", address: "tcp://h:1", lastSeen: Sample.time)
        }
        let rendering = PendingRendering(Style(hasColor: false, escapesNames: true), program: "synctrain", known: [])
        let lines = rendering.lines(PendingList(devices: devices, folders: []))
        #expect(lines.count == 6 && lines[0].hasPrefix("d0\\x1b at "), "\(lines)")
        #expect(lines.last == "and 2 more: `synctrain device list --pending`")
    }

    @Test func synctrainAloneShowsItOnATerminalOnly() async {
        var scene = Scene(control: nil, isSetUp: false)
        #expect(await scene.run([]).output.hasPrefix("OVERVIEW:"), "a script gets the help")
        let withHome = await scene.run(["--home", "/h", "--quiet"])
        #expect(withHome.code == 0 && withHome.output.hasPrefix("OVERVIEW:") && withHome.errors.isEmpty, "\(withHome)")
        #expect(await scene.run(["--json"]).output.hasPrefix(#"{"next":["This device is not set up."#))
        #expect(await scene.run(["--home", "/h", "--json"]).output.contains("`synctrain --home /h init`"))
        scene.terminal.isOutputTTY = true
        let first = await scene.run(["--color", "never"])
        #expect(first.code == 0 && first.output.hasPrefix("Next\nThis device is not set up."), "\(first)")
        scene.isSetUp = true
        #expect(await scene.run([]).output.contains("synctrain agent start"))
        var running = Scene()
        running.terminal.isOutputTTY = true
        let output = await running.run(["--home", "/h"]).output
        #expect(
            output.contains("Devices") && output.contains("`synctrain --home /h device add AAAAAAA-B`"), "\(output)")
        #expect(await running.run(["--json"]).output.hasPrefix(#"{"next":["neu at"#))
        // Anything else is wrong usage as before.
        #expect(await running.run(["--home"]).code == 64)
    }

    /// With a keyboard it is drawn again when something has changed, until q; what was there last stays.
    @Test func synctrainAloneIsLive() async throws {
        let control = ScriptedControl(statuses: [
            .sample, .sample.needing(.init(files: 2, bytes: 10), state: "syncing"),
        ])
        var scene = Scene(control: control)
        let keys = Box<[Bool]>([])
        scene.terminal = Terminal(isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 100, readLine: { nil })
        scene.terminal.setKeys = { isOn in keys.change { $0.append(isOn) } }
        scene.terminal.nextKey = {
            // The next look is taken once what the one before found is drawn.
            while control.asked.count(where: { $0 == "status" }) < 3 {
                try Task.checkCancellation()
                await Task.yield()
            }
            return UInt8(ascii: "q")
        }
        let result = await scene.run(["--color", "never"])
        #expect(result.code == 0 && result.errors.isEmpty)
        let drawn = result.output.components(separatedBy: "\u{1b}[H").dropFirst()
        #expect(drawn.count == 2, "as often as something changed")
        #expect(drawn.first?.contains("2 files, 10 B") == false && drawn.last?.contains("2 files, 10 B") == true)
        #expect(drawn.allSatisfy { $0.contains("Next\u{1b}[K\n") })
        #expect(result.output.hasSuffix("Live; q or Ctrl-C ends.\r\u{1b}[K"))
        #expect(keys.current == [true, false], "the terminal is as it was")
        // A dumb terminal and one that is to be quiet see it once.
        scene.terminal.nextKey = { nil }
        for arguments in [["--quiet"], ["--json"]] {
            #expect(await !scene.run(arguments).output.contains("\u{1b}[H"), "\(arguments)")
        }
        scene.variables["TERM"] = "dumb"
        #expect(await !scene.run([]).output.contains("\u{1b}"))
    }

    /// What is higher than the screen would scroll at each change: of the status what has room, and all of the next step.
    @Test func aLiveStateHasRoomOnTheScreen() async throws {
        var scene = Scene(control: ScriptedControl(statuses: [.sample]))
        scene.terminal = Terminal(isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 100, readLine: { nil })
        let whole = await scene.run(["--color", "never"]).output.components(separatedBy: "\n")
        for height in [whole.count, whole.count - 1, 10] {
            scene.terminal.height = { height }
            let lines = await scene.run(["--color", "never"]).output.components(separatedBy: "\n")
            #expect(lines.count == min(height, whole.count))
            let rest = whole.count - height
            #expect(
                lines.contains { $0.contains("and \(rest + 1) more lines; `synctrain status` shows all") } == (rest > 0)
            )
            #expect(lines.suffix(2) == whole.suffix(2) && lines.first == whole.first)
        }
    }
}

/// Words that are not known, and what was changed.
struct CommandWordTests {
    @Test(arguments: [
        (["statsu"], "`statsu` is not a command. Did you mean `status`?"),
        (["device", "lst"], "`device lst` is not a command. Did you mean `device list`?"),
        (["folder", "zzzzzzz"], "`folder zzzzzzz` is not a command. `synctrain folder --help` lists the commands."),
        (["--home", "/h", "fetsch", "a"], "`fetsch` is not a command. Did you mean `fetch`?"),
        (["--home", "/h", "device", "lst"], "`device lst` is not a command. Did you mean `device list`?"),
        (["device", "--home=/h", "lst"], "`device lst` is not a command. Did you mean `device list`?"),
    ])
    func aCommandIsSuggested(_ arguments: [String], _ message: String) async {
        let result = await Scene().run(arguments)
        #expect(result.code == 64 && result.errors == "synctrain: \(message)\n")
        for asked in [arguments + ["--json"], ["--json"] + arguments] {
            let error = await Scene().run(asked).errors
            #expect(
                error.contains(#""code":"invalid-request""#) && error.contains("is not a command"), "\(asked): \(error)"
            )
        }
    }

    /// A group of commands takes no options of its own: what is said of it is the same wherever the global ones are.
    @Test func globalOptionsGoBeforeAndWithinTheCommand() async {
        let group = await Scene().run("device")
        #expect(group.code == 0 && group.output.contains("SUBCOMMANDS:"))
        #expect(await Scene().run("--home", "/h", "--json", "device") == group)
        #expect(await Scene().run("device", "-q") == group)
        let list = await Scene().run("device", "list", "--json")
        #expect(list.code == 0 && list.output.contains("schema"))
        #expect(await Scene().run("device", "--json", "list") == list)
        #expect(await Scene().run("--json", "device", "list") == list)
        // One that has a command of its own does.
        #expect(await Scene().run("--json", "policy") == Scene().run("policy", "show", "--json"))
    }

    /// A folder or a device that there is not; with an agent and without one.
    @Test(arguments: [
        (["folder", "remove", "doks"], "`doks`: no such folder; did you mean `docs`?"),
        (["folder", "remove", "zzz"], "`zzz`: no such folder; `synctrain folder list` shows the shared folders"),
        (["device", "remove", "nsa"], "`nsa`: no such device; did you mean `nas`?"),
        (["device", "remove", "zzz"], "`zzz`: no such device; `synctrain device list` shows the known devices"),
    ])
    func aFolderOrADeviceIsSuggested(_ arguments: [String], _ message: String) async {
        for control in [ScriptedControl(), nil] {
            let result = await Scene(control: control).run(arguments)
            #expect(result.code == 4 && result.errors == "synctrain: \(message)\n", "\(result)")
        }
    }

    /// One that there is not is named before what is wrong with its settings.
    @Test(
        arguments: [
            (["folder", "set", "doks", "x=1"], 4, "`doks`: no such folder; did you mean `docs`?"),
            (["device", "set", "nsa", "x=y"], 4, "`nsa`: no such device; did you mean `nas`?"),
            (["folder", "get", "doks", "x"], 4, "`doks`: no such folder; did you mean `docs`?"),
            (["device", "get", "nsa", "x"], 4, "`nsa`: no such device; did you mean `nas`?"),
            (["folder", "set", "docs", "x=1"], 64, "Unknown setting \"x\"."),
            (["device", "set", "nas", "x=y"], 64, "Unknown setting \"x\"."),
        ] as [([String], Int32, String)])
    func theSettingsOfWhatThereIsNot(_ arguments: [String], _ code: Int32, _ message: String) async {
        let result = await Scene().run(arguments)
        #expect(result.code == code && result.errors.hasPrefix("synctrain: \(message)"), "\(result)")
    }

    /// What helps depends on why a directory to mount on cannot be made.
    @Test func adviceForADirectoryToMountOn() {
        let parent = Mounting.uncreated("m", ENOENT).message
        #expect(parent == "m cannot be created: No such file or directory. Create its parent first.")
        let denied = Mounting.uncreated("m", EACCES).message
        #expect(denied == "m cannot be created: Permission denied. Choose another directory.")
    }

    /// The help of `set` has every setting, each with what it does.
    @Test func theHelpNamesTheSettings() async {
        for (command, words) in [
            (["config", "set"], ["limits.up: "]), (["folder", "set"], ["rescan-interval: ", "type: "]),
            (["device", "set"], ["addresses: ", "introducer: "]),
        ] {
            let help = await Scene().run(command + ["--help"]).output
            for word in words { #expect(help.contains(word), "\(word) in \(help)") }
        }
    }

    /// Options and `key=value` are one change, so that all of it is made or none.
    @Test func optionsAndSettingsOfADeviceAreOneChange() async {
        let control = ScriptedControl()
        let result = await Scene(control: control).run([
            "device", "set", "nas", "--no-introducer", "--allowed-networks", "10.0.0.0/8", "--up", "2MiB/s",
            "--connections", "0", "paused=true",
        ])
        #expect(result.code == 0)
        let change = SettingsChange(
            device: "nas",
            settings: [
                SettingInput(key: "introducer", value: "false"),
                SettingInput(key: "allowed-networks", values: ["10.0.0.0/8"]),
                SettingInput(key: "up", value: "2097152"), SettingInput(key: "connections"),
                SettingInput(key: "paused", value: "true"),
            ])
        #expect(control.asked == ["\(change)"])
    }

    static let edits: [([String], String)] = [
        (["device", "add", "DDDDDDD-E", "--name", "box"], "Added device box (DDDDDDD). "),
        (["device", "add", "aaaaaaab", "--name", "box"], "Device nas is already known: its name is now box."),
        (["folder", "add", "docs", "/d"], "Folder docs is already there, in /d. Nothing has changed."),
        (
            ["folder", "add", "docs", "/d", "--device", "b"],
            "Folder docs is already there, in /d. It is shared with b."
        ),
        (["device", "rename", "nas", "box"], "Renamed device nas to box."),
        (["device", "bluetooth", "nas", "off"], "Device nas over Bluetooth: off."),
        (["device", "set", "nas", "--introducer"], "Changed the settings of device nas."),
        (["device", "ignore", "AAAAAAA-C"], "Ignored device AAAAAAA-C."),
        (["device", "ignore", "AAAAAAA-C", "--undo"], "No longer ignored: device AAAAAAA-C."),
        (["unpair", "nas", "--yes"], "Removed device nas. Files are kept."),
        (["folder", "add", "f", "/p", "--mode", "full"], "Added folder f in /p: everything in it is synced."),
        (["folder", "add", "f", "p"], "Added folder f in /work dir/p: nothing is downloaded until you select it"),
        (["folder", "pause", "f"], "Paused folder f."), (["folder", "resume", "f"], "Resumed folder f."),
        (["folder", "bluetooth", "f", "off", "--limit", "1MiB"], "Folder f over Bluetooth: off, up to 1.0 MiB."),
        (["folder", "relays", "f", "off"], "Folder f may not use relays."),
        (
            ["folder", "share", "f g", "nas"],
            "Folder f g is shared with nas. Accept it there: `synctrain folder add 'f g' PATH`"
        ),
        (["folder", "unshare", "f", "nas"], "Folder f is not shared with nas. Files are kept on both devices."),
        (["folder", "role", "f", "nas", "read"], "Device nas has the role read in folder f."),
        (["folder", "ignore", "f", "--from", "nas"], "Ignored folder f from nas."),
        (["pause", "f", "g", "--device", "nas", "--for", "2h"], "Paused folders f, g and device nas for 2 h 00 min."),
        (["resume", "--all"], "Resumed all folders and devices."),
    ]

    @Test(arguments: edits.indices) func aChangeIsConfirmed(_ index: Int) async {
        let (arguments, line) = Self.edits[index]
        let result = await Scene(control: nil).run(arguments)
        #expect(result.code == 0 && result.output.hasPrefix(line), "\(result)")
        #expect(result.output.split(separator: "\n").count == 1)
        #expect(await Scene(control: nil).run(arguments + ["--json"]).output.hasPrefix(#"{"message":""#))
    }

    /// What would change a folder that is there is not passed over; the command that changes it is named.
    @Test(arguments: [
        (["--mode", "full"], "synctrain folder mode docs full"),
        (["--type", "sendonly"], "synctrain folder set docs type=sendonly"),
        (["--label", "My docs"], "synctrain folder set docs 'label=My docs'"),
    ])
    func aFolderThatIsThereKeepsItsSettings(_ options: [String], _ command: String) async {
        let scene = Scene(control: nil)
        let result = await scene.run(["folder", "add", "docs", "/d"] + options)
        #expect(result.code == 1 && result.errors.contains("`\(command)`"), "\(result)")
        #expect(scene.edits.current.isEmpty)
    }

    private func terminal(_ answer: String?) -> Terminal {
        Terminal(isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 100, readLine: { answer })
    }

    /// Asked only at a terminal, and only of a folder that nobody offers and that is not here.
    @Test func aFolderThatNobodyOffersIsAskedFor() async {
        var scene = Scene()
        scene.terminal = terminal("n")
        let refused = await scene.run("folder", "add", "musik", "/m")
        #expect(refused.code == 6)
        #expect(
            refused.errors.hasPrefix(
                "No device offers a folder `musik` (`music` is offered). Create a new folder with this id? [y/N] "))
        #expect(scene.control?.asked.contains { $0.hasPrefix("addFolder") } == false)
        for (arguments, answer) in [
            (["musik", "/m"], "y"), (["musik", "/m", "--new"], nil), (["musik", "/m", "--yes"], nil),
            (["docs", "/d"], nil),
        ] {
            var scene = Scene()
            scene.terminal = terminal(answer)
            #expect(await scene.run(["folder", "add"] + arguments).code == 0, "\(arguments)")
            #expect(scene.control?.asked.contains { $0.hasPrefix("addFolder") } == true)
        }
        let script = Scene()
        #expect(await script.run("folder", "add", "musik", "/m").code == 0, "nobody is there to ask")
    }

    @Test func anOfferedFolderKeepsItsLabelAndItsDevices() async throws {
        for (options, words) in [
            ([], [#"label: Optional("Music")"#, #"devices: ["AAAAAAA-B"]"#]),
            (["--label", "Own", "--device", "C"], [#"label: Optional("Own")"#, #"devices: ["C"]"#]),
        ] as [([String], [String])] {
            let scene = Scene()
            #expect(await scene.run(["folder", "add", "music", "~/Music"] + options).code == 0)
            let asked = try #require(scene.control?.asked.first { $0.hasPrefix("addFolder") })
            #expect(asked.contains(#"path: "~/Music""#))
            for word in words { #expect(asked.contains(word), "\(asked)") }
        }
    }
}

/// Tables on a terminal.
struct TableWidthTests {
    @Test(arguments: [
        ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("ｱ", 1), ("Ａ", 2), ("", 0), ("한글.txt", 8), ("a\u{200B}b", 2),
    ])
    func columnsAreCounted(_ text: String, _ width: Int) { #expect(DisplayWidth.of(text) == width) }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("日本語", 4, "日…"), ("日本語", 5, "日本…"), ("ab cd", 4, "ab…"),
        ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func whatIsCutEndsWithAnEllipsis(_ text: String, _ width: Int, _ cut: String) {
        #expect(DisplayWidth.cut(text, to: width) == cut)
    }

    @Test func linesFitTheWidth() {
        let rows = [["name", "state", "path"], ["日本語のフォルダー", "idle", String(repeating: "long/", count: 40)]]
        for width in [30, 40, 80, 200, 400] {
            let lines = Table.lines(rows, width: width)
            #expect(lines.allSatisfy { DisplayWidth.of($0) <= width }, "\(lines)")
            #expect(width < 400 || !lines.joined().contains("…"))
        }
        #expect(Table.lines(rows).last?.hasSuffix("long/") == true, "without a terminal nothing is cut")
        #expect(Table.fitted([50, 10, 30], to: 60) == [23, 10, 23])
        #expect(Table.fitted([8, 8], to: 5) == [8, 8], "narrower they would say nothing")
    }

    /// On a narrow terminal no line is longer than it, and no word is cut.
    @Test(arguments: [20, 32, 40, 59]) func aNarrowStatusIsReadable(_ width: Int) {
        var status = AgentStatus.sample
        status.folders[0].path = "/home/somebody/Pictures/Summer in Lisbon"
        status.listening = ["tcp://0.0.0.0:22000", "quic://0.0.0.0:22000"]
        let style = Style(hasColor: false, escapesNames: true, width: width)
        let lines = StatusRendering(style: style).lines(status)
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= width }, "\(lines)")
        #expect(!lines.joined().contains("…"))
        guard width >= 40 else { return }
        let words = Set(lines.flatMap { $0.split(separator: " ").map(String.init) })
        for word in ["idle", "selective", "20", "files,", "4.8", "MiB", "connection", "refused", "Lisbon"] {
            #expect(words.contains(word), "\(word) in \(lines)")
        }
    }

    /// A number of which the end is cut is another number; a name can be guessed.
    @Test func rowsAreBelowEachOtherBeforeANumberIsCut() {
        let path = "/home/me/" + String(repeating: "long/", count: 8)
        let rows = [["folder", "has", "path"], ["docs", "4 files, 5.2 KiB", path]]
        #expect(Table.fitting(rows, width: 62) == Table.lines(rows, width: 62), "only the path is cut")
        let numbers = [
            ["folder", "has", "needs"], ["docs", "4 files, 5.2 KiB", String(repeating: "4 files, ", count: 8)],
        ]
        #expect(Table.fitting(numbers, width: 80).joined().contains("5.2 KiB"))
        #expect(!Table.fitting(numbers, width: 80).joined().contains("…"))
    }

    @Test func rowsBelowEachOther() {
        let rows = [["folder", "state", "needs", "path"], ["docs", "idle", "", "/home/me/some/where"]]
        #expect(Table.fitting(rows, width: 41) == Table.lines(rows), "it has room")
        #expect(
            Table.fitting(rows, width: 24) == ["docs", "  state  idle", "  path   /home/me/some/", "         where"])
        #expect(Table.fitting(rows, width: nil) == Table.lines(rows))
        #expect(Table.fitting(rows, width: 60) == Table.lines(rows))
    }

    @Test(
        arguments: [
            ("one two three", 13, ["one two three"]), ("one two three", 8, ["one two", "  three"]),
            ("  one two", 8, ["  one", "    two"]), ("abcdefghij", 8, ["abcdefgh", "  ij"]),
            ("at tcp://host:1 now", 12, ["at", "  tcp://", "  host:1 now"]), ("日本語 文字", 8, ["日本語", "  文字"]),
            ("", 8, [""]),
        ] as [(String, Int, [String])])
    func longLinesAreBrokenBetweenWords(_ line: String, _ width: Int, _ lines: [String]) {
        #expect(NarrowText.wrapped(line, to: width) == lines)
    }

    @Test func columnsBelowEachOther() {
        #expect(Table.lines([["日本", "x"], ["abcd", "y"]]) == ["日本  x", "abcd  y"])
    }

    @Test(arguments: [
        ([], "natural"), (["-r"], "natural desc"), (["--sort", "name"], "natural"), (["--sort", "size"], "size desc"),
        (["-S"], "size desc"), (["-S", "-r"], "size"), (["-lSr"], "size"), (["-t"], "modified desc"),
        (["--sort", "date", "--reverse"], "modified"), (["-R", "-t"], "modified desc"),
    ])
    func aListingHasAnOrder(_ options: [String], _ order: String) async {
        let scene = Scene()
        #expect(await scene.run(["ls", "docs:"] + options).code == 0)
        let isRecursive = options.contains("-R")
        #expect(scene.control?.asked.contains("list docs: in /work dir \(isRecursive) \(order)") == true)
        #expect(await Scene().run(["ls", "-S", "-t", "docs:"]).code == 64)
        #expect(await Scene().run(["ls", "--sort", "colour", "docs:"]).code == 64)
    }

    @Test func aLongListingHasAHeaderOnATerminal() async {
        var scene = Scene(control: ScriptedControl(entries: [Sample.file("a.txt")]))
        #expect(await !scene.run("ls", "-l", "docs:").output.contains("modified"))
        scene.terminal.isOutputTTY = true
        let lines = await scene.run("ls", "-l", "docs:", "--color", "never").output.split(separator: "\n")
        #expect(lines.first == "state             selected  dev      size  modified          name")
        #expect(lines.count == 2)
    }
}
