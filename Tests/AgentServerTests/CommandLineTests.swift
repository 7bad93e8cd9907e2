import ControlAPI
import Diagnosis
import Foundation
import SyncTestKit
import Testing

@testable import synctrain

/// A run of the command line in this process.
struct CommandRunResult: Equatable {
    var code: Int32
    var output: String
    var errors: String
}

/// The world of a run: who is asked and what the terminal is.
struct Scene {
    var control: ScriptedControl? = ScriptedControl()
    var edits = Box<[ConfigurationEdit]>([])
    var terminal = Terminal(isInputTTY: false, isOutputTTY: false, isErrorTTY: false, width: 80, readLine: { nil })
    var variables: [String: String] = [:]
    var unitDirectory = "/nonexistent"
    var isSetUp = true
    var facts = MachineFacts(program: "synctrain", configuration: .valid(folders: 0, devices: 0))
    /// What standard output does once it has taken this many bytes.
    var pipeBreaksAfter: Int?
    /// What a write fails with then.
    var outputError = EPIPE
    var silentMounts: [(folder: String, directory: String)] = []
    var opener: @Sendable ([String: String]) -> String? = { _ in nil }
    var open: @Sendable (String, String, [String: String]) async throws -> Void = { _, _, _ in }

    func run(_ arguments: String...) async -> CommandRunResult { await run(arguments) }

    func run(_ arguments: [String]) async -> CommandRunResult {
        let (output, errors) = (Box<[UInt8]>([]), Box<[UInt8]>([]))
        let (limit, failure) = (pipeBreaksAfter, outputError)
        let process = ProcessSurroundings(
            environment: environment, variables: variables, workingDirectory: "/work dir",
            output: Output(isBuffered: true) { bytes throws(OutputError) in
                if let limit, output.current.count + bytes.count > limit { throw OutputError(errno: failure) }
                output.change { $0 += bytes }
            },
            errors: Output(isBuffered: false) { bytes throws(OutputError) in errors.change { $0 += bytes } },
            terminal: terminal, isInterruptible: false)
        let code = await CommandRun.run(arguments: arguments, process: process)
        return CommandRunResult(
            code: code, output: String(decoding: output.current, as: UTF8.self),
            errors: String(decoding: errors.current, as: UTF8.self))
    }

    private var environment: CommandEnvironment {
        let (control, edits, unitDirectory, isSetUp) = (control, edits, unitDirectory, isSetUp)
        let (facts, silentMounts) = (facts, silentMounts)
        return CommandEnvironment(
            places: { home, variables in
                let home = home ?? variables["SYNCTRAIN_HOME"]
                let base = home ?? "/xdg"
                return .init(
                    home: home, configurationFile: base + "/config.toml", socket: base + "/agent.sock",
                    logFile: base + "/agent.log", unitDirectory: unitDirectory)
            },
            connect: { _ in
                (control ?? ScriptedControl(failure: ControlError(.noAgent, "No agent answers.", isRetryable: true)))
                    .handlers
            },
            initialise: { places, options in
                .init(
                    device:
                        "ID of \(options.name ?? "-") \(options.listen) \(!options.hasNoDiscovery) \(places.configurationFile)",
                    usesPublicServers: options.name == "public"
                )
            },
            isSetUp: { _ in isSetUp },
            deviceID: { _ in "AAAAAAA-BBBBBBB" },
            runAgent: { _, _, ready in await ready() },
            configured: { _ in
                .init(
                    devices: [DeviceSettings(id: "AAAAAAA-B", name: "nas", addresses: ["dynamic"])],
                    folders: [FolderSettings(id: "docs", path: "/d", devices: ["AAAAAAA-B"])])
            },
            edit: { _, edit in edits.change { $0.append(edit) } },
            resetIndex: { _, folder in
                throw ControlError(.noSuchFolder, "offline \(folder ?? "all")", path: folder)
            }, examine: { _ in facts }, silentMounts: { silentMounts }, opener: opener, scriptPatience: nil, open: open)
    }
}

struct CommandLineTests {
    private static let refusing = Scene(control: nil)

    @Test(arguments: [
        ["--home", "/h", "init", "--name", "n"], ["init", "--home", "/h", "--name", "n"],
        ["--home=/h", "-q", "init", "--name", "n"], ["init", "--name", "n", "--home", "/h"],
    ])
    func globalOptionsStandAnywhere(_ arguments: [String]) async {
        let result = await Scene().run(arguments)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output == "ID of n [] true /h/config.toml\n")
    }

    @Test func homeComesFromTheEnvironmentToo() async {
        let result = await Scene(variables: ["SYNCTRAIN_HOME": "/env"]).run("init", "-q")
        #expect(result.output.contains("/env/config.toml"))
        #expect(result.errors.isEmpty)
    }

    @Test func initTakesItsOptions() async {
        let result = await Scene().run(
            "--home", "/h", "init", "--listen", "tcp://127.0.0.1:1", "--listen", "tcp://127.0.0.1:2", "--no-discovery",
            "--json")
        #expect(
            result.output
                == #"{"device":"ID of - [\"tcp://127.0.0.1:1\", \"tcp://127.0.0.1:2\"] false /h/config.toml","schema":1}"#
                + "\n")
    }

    @Test func initSaysWhatIsToldToWhom() async {
        let result = await Scene().run("init", "--name", "public")
        #expect(
            result.errors.hasPrefix(
                """
                Syncthing's public servers will see this device's id and addresses and its peers' ids, no data.
                To switch that off: synctrain network --global-discovery off --relays off

                """), "\(result.errors)")
        #expect(await !Scene().run("init", "--name", "private").errors.contains("public servers"))
        // Of another home, what is proposed is of that one too.
        let other = await Scene().run("--home", "/h", "init", "--name", "public").errors
        #expect(other.contains("switch that off: synctrain --home /h network --global-discovery off --relays off\n"))
        #expect(other.hasSuffix("\nNext: synctrain --home /h agent start\n"), "\(other)")
    }

    @Test func howADeviceIsReachedIsShown() async {
        #expect(
            await Scene().run("reach").output == """
                Announced addresses:
                  tcp://0.0.0.0:22000
                  relay://192.0.2.9:22067/?id=R

                Discovery servers:
                  https://192.0.2.9/: announced 12 s ago, again in 1788 s
                  https://192.0.2.8/: it is overloaded

                Relays:
                  relay://192.0.2.9:22067: joined, 21 ms

                Routers:
                  The router at 192.0.2.1 does not answer PCP, NAT-PMP or UPnP.

                nas:
                  connected: relay relay://192.0.2.9:22067, 3.0 MiB/s when busy
                  tcp://192.0.2.7:22000 (discovery server): connection refused

                phone:
                  not connected; no address to try

                DDDDDDD:
                  connected: tcp tcp://192.0.2.6:22000, 3 connections

                """)
    }

    @Test func howADeviceIsReachedIsTested() async throws {
        let scene = Scene()
        #expect(
            await scene.run("reach", "--test").output == """
                nas could not connect to 203.0.113.5:22000: timed out.
                nas connected to 203.0.113.5:40000.
                phone (in this network) tested nothing: it was asked too soon.
                phone (in this network) did not try 192.168.1.2:22000: it connects through a proxy.
                DDDDDDD connected to 203.0.113.5:22000.
                Relay: relay://192.0.2.9:22067 is joined.

                Devices elsewhere can connect to this one directly.

                """)
        let json = await scene.run("reach", "--test", "--json").output
        let test = try ControlJSON.decode(ReachTest.self, from: Array(json.utf8))
        #expect(test.devices.map(\.results.count) == [2, 1, 1] && test.relay.isReachable)
        #expect(json.contains(#""local":true"#) && json.contains(#""reachable":true"#))
        #expect(scene.control?.asked == ["test reach", "test reach"])
    }

    @Test func theNetworkIsShown() async {
        #expect(
            await Scene().run("network").output == """
                local discovery         on
                global discovery        on, https://192.0.2.9/
                relays                  off
                port mapping            on
                connections per device  3
                proxy                   socks5://u:…@h:1, nothing else

                """)
        let changed = await Scene().run("network", "--relays", "off", "--json")
        #expect(changed.errors == "Restart the agent to apply: relays.\n")
        #expect(changed.output.contains(#""relays":false"#))
        let offline = await Scene(control: nil).run("network")
        #expect(offline.output.contains("on, public servers") && offline.output.contains("from ALL_PROXY"))
    }

    @Test func whoIsIgnoredIsListed() async {
        #expect(await Scene().run("device", "ignored").output == "AAAAAAA-C\n")
        #expect(await Scene().run("folder", "ignored").output == "spam\nmusic from AAAAAAA-B\n")
        #expect(await Scene(control: nil).run("device", "ignored").errors == "No ignored devices.\n")
        #expect(await Scene(control: nil).run("folder", "ignored").errors == "No ignored folders.\n")
    }

    @Test func idIsAlone() async throws {
        #expect(await Scene().run("id").output == "AAAAAAA-BBBBBBB\n")
        let drawn = await Scene().run("id", "--qr")
        let code = QRCode.lines(try QRCode.modules("AAAAAAA-BBBBBBB"), hasColor: false)
        #expect(drawn.output == (code + ["AAAAAAA-BBBBBBB", ""]).joined(separator: "\n"))
    }

    @Test func agentRunSaysReady() async {
        #expect(await Scene().run("--home", "/h", "agent", "run").output == "ready\n")
    }

    @Test(
        arguments: [
            (["device", "set", "b"], 64), (["device", "set", "b", "--up", "fast"], 64),
            (["folder", "relays", "f"], 64),
            (["network", "--relays", "maybe"], 64), (["init", "--relay", "relay://x:1", "--no-relays"], 64),
            (["ls", "--nonsense"], 64), (["nonsense"], 64), (["help", "foo"], 64), (["help", "folder", "foo"], 64),
            (["help", "folder"], 0),
            (["help"], 0), (["stat"], 64), (["cat", "x", "--range", "5-3"], 64),
            (["fetch", "a", "--range", "0-1"], 64), (["fetch", "a", "b", "--stdout"], 64),
            (["fetch", "a", "b", "-o", "-"], 64),
            (["wait", "--timeout", "-1"], 64),
            (["ls", "-0", "--json"], 64), (["--help"], 0), (["ls", "--help"], 0), (["--version"], 0), ([], 0),
            (["agent"], 0), (["completions", "bash"], 0), (["completions", "tcsh"], 64), (["man"], 0),
            (["folder", "add", "x", "/p", "--mode", "some"], 64), (["select"], 64), (["deselect"], 64),
            (["select", "--list", "a", "b"], 64), (["select", "--list", "--dry-run"], 64), (["select", "a", "-0"], 64),
            (["select", "--list", "-0", "--json"], 64), (["explain"], 64), (["folder", "mode", "docs"], 64),
            (["folder", "mode", "docs", "some"], 64), (["folder", "override"], 64), (["folder", "confirm"], 64),
            (["extraneous", "list", "-0", "--json"], 64), (["need", "a", "b"], 64), (["fetch", "--force"], 64),
            (["fetch", "-o", "x"], 64), (["fetch", "--stdout"], 64), (["fetch", "--range", "0-1"], 64),
            (["extraneous"], 0), (["select", "--help"], 0),
        ] as [([String], Int32)])
    func wrongUsageIs64(arguments: [String], code: Int32) async {
        let result = await Scene().run(arguments)
        #expect(result.code == code, "\(arguments): \(result.errors)")
        #expect(result.output.isEmpty == (code != 0))
        let isJSON = arguments.contains("--json")
        if code != 0 { #expect(result.errors.hasPrefix(isJSON ? "{\"code\":\"invalid-request\"" : "synctrain: ")) }
    }

    @Test(
        arguments: [
            ("failed", 1), ("no-agent", 3), ("no-such-path", 4), ("no-such-device", 4), ("no-such-folder", 4),
            ("no-holder", 5), ("confirmation-needed", 6), ("timeout", 7), ("invalid-request", 64), ("of-later", 1),
        ] as [(String, Int32)])
    func errorsHaveTheirCodes(code: String, exit: Int32) async throws {
        let error = ControlError(ControlError.Code(rawValue: code), "What to\u{1b} do.", path: "p")
        let scene = Scene(control: ScriptedControl(failure: error))
        let plain = await scene.run("stat", "x")
        #expect(plain.code == exit)
        #expect(plain.errors == "synctrain: What to\\x1b do.\n")
        #expect(plain.output.isEmpty)
        let json = await scene.run("--json", "stat", "x")
        #expect(json.code == exit)
        #expect(try ControlJSON.decode(ControlError.self, from: Array(json.errors.utf8)) == error)
    }

    @Test func listingsAreOneNameALine() async {
        let scene = Scene(
            control: ScriptedControl(entries: [Sample.directory("a/d"), Sample.file("a/x\ny"), Sample.file("a/z")]))
        #expect(await scene.run("ls", "docs:a").output == "d/\nx\ny\nz\n")
        #expect(await scene.run("ls", "-0", "docs:a").output == "d\0x\ny\0z\0")
        var terminal = scene
        terminal.terminal.isOutputTTY = true
        #expect(await terminal.run("ls", "--color", "never").output == "d/\nx\\x0ay\nz\n")
        #expect(await terminal.run("ls").output == "\u{1b}[34md/\u{1b}[0m\nx\\x0ay\nz\n")
        terminal.variables = ["NO_COLOR": "1"]
        #expect(await terminal.run("ls").output == "d/\nx\\x0ay\nz\n")
        terminal.variables = ["TERM": "dumb"]
        #expect(await terminal.run("ls").output == "d/\nx\\x0ay\nz\n")
        #expect(await terminal.run("ls", "--color", "always").output.hasPrefix("\u{1b}[34md/"))
        #expect(scene.control?.asked.first == "list docs:a in /work dir false natural")
    }

    @Test func jsonListingsKeepTheContract() async throws {
        let scene = Scene(
            control: ScriptedControl(entries: [Sample.directory("d"), Sample.file("d/x", holders: ["A", "B"])]))
        for command in [["ls", "-R"], ["tree"], ["search", "x"]] {
            let lines = await scene.run(command + ["--json"]).output.split(separator: "\n")
            #expect(lines.count == 2)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: any Sendable])
            #expect(object["type"] as? String == "file")
            #expect(object["path"] as? String == "d/x")
            #expect(object["size"] as? Int == 12)
            #expect(object["modified"] as? String == Sample.time)
            #expect(object["state"] as? String == "absent")
            #expect(object["selected"] as? String == "no")
            #expect(object["holders"] as? [String] == ["A", "B"])
        }
    }

    @Test func statusKeepsTheContract() async throws {
        let result = await Scene().run("status", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(object["schema"] as? Int == 1)
        #expect(object["device"] as? String == "XXXXXXX-Y")
        let folder = try #require((object["folders"] as? [[String: Any]])?.first)
        for key in ["id", "path", "mode", "state", "global", "local", "need", "extraneous", "conflicts", "errors"] {
            #expect(folder[key] != nil, "\(key)")
        }
        #expect((folder["global"] as? [String: Int]) == ["files": 20, "directories": 3, "bytes": 5_000_000])
        let devices = try #require(object["devices"] as? [[String: Any]])
        #expect(devices[0]["connected"] as? Bool == true)
        #expect(devices[0]["transport"] as? String == "tcp-lan")
        let ways = try #require(devices[1]["ways"] as? [[String: Any]])
        #expect(ways.map { $0["address"] as? String } == ["tcp://10.0.0.3:22000"])
        #expect(ways.map { $0["outcome"] as? String } == ["failed"])
        #expect(ways.map { $0["message"] as? String } == ["connection refused"])
        #expect(devices[0]["address"] as? String == "10.0.0.2:22000")
        #expect((object["transfers"] as? [Any])?.count == 1)
    }

    @Test func aBrokenPipeEndsQuietly() async {
        let entries = (0..<20_000).map { Sample.file("a name of some length \($0)") }
        let result = await Scene(control: ScriptedControl(entries: entries), pipeBreaksAfter: 0).run("ls")
        #expect(result.code == 0)
        #expect(result.errors.isEmpty)
    }

    /// An answer that cannot be written is an error like any other: JSON for who asked for it.
    @Test func aFullDiskOfTheOutputIsAnError() async {
        let scene = Scene(control: ScriptedControl(statuses: [.sample]), pipeBreaksAfter: 0, outputError: ENOSPC)
        let message = "The output cannot be written: No space left on device."
        #expect(
            await scene.run("status") == CommandRunResult(code: 1, output: "", errors: "synctrain: \(message)\n"))
        for arguments in [["status", "--json"], ["--json", "--version"], ["--json", "device"]] {
            let result = await scene.run(arguments)
            #expect(result.code == 1 && result.output.isEmpty)
            #expect(
                result.errors.hasPrefix(#"{"code":"failed","message":"\#(message)""#) && result.errors.hasSuffix("}\n"),
                "\(arguments): \(result.errors)")
        }
    }

    @Test func changesGoToTheAgentOrElseToTheConfiguration() async {
        let online = Scene()
        #expect(await online.run("device", "add", "AAAAAAA-B", "--name", "nas", "--address", "tcp://h:1").code == 0)
        #expect(
            online.control?.asked
                == ["status", "addDevice \(DeviceSettings(id: "AAAAAAA-B", name: "nas", addresses: ["tcp://h:1"]))"])
        #expect(online.edits.current.isEmpty)
        let offline = Scene(control: nil)
        for arguments in [
            ["device", "add", "A"], ["device", "rename", "A", "b"], ["device", "remove", "b", "--yes"],
            [
                "device", "add", "A", "--set", "paused=true", "--set", "up=2MiB/s", "--share", "f", "--share",
                "g=read,encrypted",
            ],
            ["folder", "add", "f", "rel", "--device", "A", "--mode", "full", "--type", "sendonly", "--label", "F"],
            ["folder", "pause", "f"], ["folder", "resume", "f"], ["folder", "remove", "f", "--yes"],
            ["folder", "bluetooth", "f", "index-only", "--limit", "3MB"], ["device", "bluetooth", "b", "off"],
            ["folder", "share", "f", "b"], ["folder", "share", "f", "b", "--unencrypted"],
            ["folder", "unshare", "f", "b"],
            ["folder", "share", "f", "b", "--device", "c"], ["folder", "unshare", "f", "--device", "b"],
            ["folder", "role", "f", "b", "read"], ["folder", "relays", "f", "off"],
            ["device", "set", "b", "--introducer", "--up", "2MiB/s", "--down", "0", "--connections", "2"],
            ["device", "set", "b", "--no-introducer", "--allowed-networks", "10.0.0.0/8, !10.1.0.0/16"],
            ["device", "ignore", "A"], ["device", "ignore", "A", "--undo"], ["folder", "ignore", "f"],
            ["folder", "ignore", "f", "--from", "b", "--undo"],
            ["network", "--global-discovery", "off", "--relays", "on"],
        ] {
            #expect(await offline.run(arguments).code == 0)
        }
        #expect(
            offline.edits.current == [
                .addDevice(DeviceSettings(id: "A")), .renameDevice("A", to: "b"), .removeDevice("b"),
                .addDevice(
                    DeviceSettings(
                        id: "A",
                        settings: [
                            SettingInput(key: "paused", value: "true"), SettingInput(key: "up", value: "2MiB/s"),
                        ],
                        folders: [
                            DeviceShare(folder: "f"), DeviceShare(folder: "g", role: "read", isEncrypted: true),
                        ])),
                .addFolder(
                    FolderSettings(
                        id: "f", label: "F", path: "/work dir/rel", mode: "full", type: "sendonly", devices: ["A"])),
                .setFolderPaused("f", true), .setFolderPaused("f", false), .removeFolder("f"),
                .setFolderBluetooth(FolderBluetoothChange(folder: "f", use: "index-only", limit: 3_000_000)),
                .setDeviceBluetooth(DeviceBluetoothChange(device: "b", use: "off")),
                .setFolderShared(FolderSharingChange(folder: "f", device: "b", isShared: true)),
                .setFolderShared(
                    FolderSharingChange(folder: "f", device: "b", isShared: true, isUnencrypted: true)),
                .setFolderShared(FolderSharingChange(folder: "f", device: "b", isShared: false)),
                .setFolderShared(FolderSharingChange(folder: "f", device: "b", isShared: true)),
                .setFolderShared(FolderSharingChange(folder: "f", device: "c", isShared: true)),
                .setFolderShared(FolderSharingChange(folder: "f", device: "b", isShared: false)),
                .setFolderRole(FolderRoleChange(folder: "f", device: "b", role: "read")),
                .setFolderRelays(FolderRelaysChange(folder: "f", relays: false)),
                .setDevice(DeviceChange(device: "b", introducer: true, up: 2 << 20, down: 0, connections: 2)),
                .setDevice(
                    DeviceChange(device: "b", introducer: false, allowedNetworks: ["10.0.0.0/8", "!10.1.0.0/16"])),
                .setIgnored(IgnoreChange(device: "A", isIgnored: true)),
                .setIgnored(IgnoreChange(device: "A", isIgnored: false)),
                .setIgnored(IgnoreChange(folder: "f", isIgnored: true)),
                .setIgnored(IgnoreChange(device: "b", folder: "f", isIgnored: false)),
                .setNetwork(NetworkChange(globalDiscovery: false, relays: true)),
            ])
    }

    /// On a terminal they ask, with no for an answer if nothing is said; elsewhere they name the flag.
    @Test(arguments: [
        (
            ["device", "remove", "nas"], "Remove device nas (AAAAAAA), which shares docs? Files are kept.",
            "Removed device nas. Files are kept.\n"
        ),
        (
            ["device", "remove", "aaaaaaa-b"], "Remove device nas (AAAAAAA), which shares docs? Files are kept.",
            "Removed device aaaaaaa-b. Files are kept.\n"
        ),
        (
            ["folder", "remove", "docs"],
            "Remove folder docs, shared with 1 device? Its selection and index are removed; its files are kept in /d.",
            "Removed folder docs. Its files are kept.\n"
        ),
    ])
    func removingAsks(_ arguments: [String], _ question: String, _ done: String) async {
        let silent = Scene(control: nil)
        let refused = await silent.run(arguments)
        #expect(refused.code == 6)
        #expect(refused.errors == "synctrain: \(question) Use --yes to confirm.\n")
        #expect(silent.edits.current.isEmpty)
        for answer in ["", "n", "y"] {
            var scene = Scene(control: nil)
            scene.terminal = Terminal(
                isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 200, readLine: { answer })
            let result = await scene.run(arguments)
            #expect(result.errors.hasPrefix("\(question) [y/N] "))
            #expect(result.code == (answer == "y" ? 0 : 6))
            #expect(result.output == (answer == "y" ? done : ""))
            #expect(scene.edits.current.count == (answer == "y" ? 1 : 0))
        }
        let said = Scene(control: nil)
        #expect(await said.run(arguments + ["--yes"]).output == done)
        #expect(said.edits.current.count == 1)
        #expect(
            await said.run(arguments + ["--yes", "--json"]).output == #"{"removed":"\#(arguments[2])","schema":1}"#
                + "\n")
        // Nobody is asked about what is not there.
        let missing = await silent.run(arguments[0], "remove", "no-such")
        #expect(missing.code == 4 && missing.errors.contains("`no-such`"))
    }

    @Test func withoutAnAgentListsShowTheConfiguration() async {
        let scene = Scene(control: nil)
        let devices = await scene.run("device", "list")
        #expect(devices.code == 0)
        #expect(devices.output.contains("nas"))
        #expect(devices.errors == "The agent is not running; showing the configuration.\n")
        let shown = await scene.run("device", "list").output + scene.run("folder", "list").output
        #expect(
            !shown.contains("check that it") && !shown.contains("nothing") && !shown.contains("0 files"), "\(shown)")
        let folders = await scene.run("folder", "list", "--json", "-q")
        #expect(folders.output.contains(#""state":"stopped""#))
        #expect(await scene.run("device", "list", "--pending").code == 3)
        #expect(await scene.run("reset", "index", "docs").code == 4)
    }

    /// Whatever needs a device that is set up names what is missing and the command that makes it, before it does anything.
    @Test func beforeInitTheNextStepIsNamed() async {
        let scene = Scene(control: nil, isSetUp: false)
        let cases: [([String], Int32)] = [
            (["status"], 3), (["ls", "docs:"], 3), (["agent", "stop"], 3), (["agent", "start"], 1),
            (["agent", "run"], 78),
            (["id"], 1), (["device", "add", "A"], 1), (["device", "list"], 1), (["folder", "list"], 1),
            (["reset", "index"], 1), (["pair"], 3), (["pair", "--nearby"], 3), (["drop", "receive"], 3), (["logs"], 1),
        ]
        for (arguments, code) in cases {
            let result = await scene.run(arguments)
            #expect(result.code == code, "\(arguments)")
            #expect(result.output.isEmpty)
            #expect(result.errors == "synctrain: This device is not set up. Run `synctrain init` first.\n")
        }
        #expect(
            await scene.run("status", "--home", "/a place").errors
                == "synctrain: This device is not set up. Run `synctrain --home '/a place' init` first.\n")
        #expect(scene.edits.current.isEmpty)
        #expect(await scene.run("init", "-q").code == 0)
        #expect(await Scene(control: nil).run("status").errors == "synctrain: No agent answers.\n")
    }

    /// Nothing to start is proposed to who wants to stop.
    @Test func stoppingWhatDoesNotRunSaysSo() async {
        let result = await Scene(control: nil).run("agent", "stop")
        #expect(result.code == 3 && result.output.isEmpty)
        #expect(result.errors == "synctrain: The agent is not running, so there is nothing to stop.\n")
    }

    @Test(arguments: [
        ("", "''"), ("/home/me", "/home/me"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("~", "'~'"), ("é", "'é'"),
    ])
    func wordsAreQuotedForTheShell(_ text: String, _ word: String) { #expect(ShellWord.quoted(text) == word) }

    @Test func pendingListsAreShown() async {
        #expect(await Scene().run("device", "list", "--pending").output.contains("tcp://10.0.0.9:22000"))
        #expect(
            await Scene().run("folder", "list", "--pending", "--json").output.hasPrefix(
                #"{"folders":[{"device":"AAAAAAA-B""#))
    }

    @Test func catWritesTheBytesAndNothingElse() async {
        let content = (0..<5000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let scene = Scene(control: ScriptedControl(content: content))
        #expect(await scene.run("cat", "f").output == String(decoding: content, as: UTF8.self))
        #expect(await scene.run("cat", "f", "--range", "1-3").output == "bcd")
        #expect(
            await scene.run("cat", "f", "--range", "-2").output == String(decoding: content.suffix(2), as: UTF8.self))
        #expect(await scene.run("fetch", "f", "--stdout", "--range", "0-0").output == "a")
        #expect(await scene.run("fetch", "f", "-o", "-", "--range", "1-1").output == "b")
        #expect(await scene.run("fetch", "f", "-o", "-").output == String(decoding: content, as: UTF8.self))
    }

    @Test func aFileCanBeCalledLikeStandardOutput() async {
        let control = ScriptedControl()
        _ = await Scene(control: control).run("fetch", "docs:a", "-o", "./-")
        let path = PathReference(text: "docs:a", workingDirectory: "/work dir")
        #expect(control.asked == ["fetch \(FetchRequest(paths: [path], output: "/work dir/./-"))"])
    }

    @Test func aPartGoesToAFileOfItsOwn() async throws {
        try await withTemporaryDirectory { directory in
            let scene = Scene(control: ScriptedControl(content: Array("0123456789".utf8)))
            let out = directory + "/part"
            #expect(await scene.run("fetch", "f", "--range", "2-4", "-o", out).code == 0)
            #expect(FileManager.default.contents(atPath: out) == Data("234".utf8))
            let again = await scene.run("fetch", "f", "--range", "5-", "-o", out)
            #expect(again.code == 1)
            #expect(FileManager.default.contents(atPath: out) == Data("234".utf8))
            #expect(await scene.run("fetch", "f", "--range", "5-", "-o", out, "--force").code == 0)
            #expect(FileManager.default.contents(atPath: out) == Data("56789".utf8))
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left == ["part"])
        }
    }

    @Test func aPartThatBreaksOffLeavesNothing() async throws {
        try await withTemporaryDirectory { directory in
            let control = ScriptedControl(
                content: [UInt8](repeating: 1, count: 5000), readFailure: (2000, ControlError(.noHolder, "gone")))
            let result = await Scene(control: control).run("fetch", "f", "--range", "0-", "-o", directory + "/part")
            #expect(result.code == 5)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left.isEmpty)
        }
    }

    static let holder = ControlError(.noHolder, "nobody", path: "b")
    static let space = ControlError(.noSpace, "full", path: "c")

    @Test(
        arguments: [
            (1, [], 0), (1, [holder], 2), (0, [holder], 5), (0, [holder, holder], 5), (0, [holder, space], 1),
            (0, [space], 1),
        ] as [(Int64, [ControlError], Int32)])
    func fetchEndsWithWhatBecameOfIt(fetched: Int64, failures: [ControlError], code: Int32) async {
        let control = ScriptedControl(onFetch: { emit in
            try await emit(.plan(files: fetched + Int64(failures.count), bytes: 10))
            for _ in 0..<fetched { try await emit(.file(path: "a", output: "/o/a", size: 10, wasPresent: false)) }
            for failure in failures { try await emit(.failed(path: failure.path ?? "", error: failure)) }
            try await emit(.done(files: fetched, bytes: 10 * fetched, failed: Int64(failures.count), seconds: 0.26))
        })
        let result = await Scene(control: control).run("fetch", "docs:a", "b", "-o", "out")
        #expect(result.code == code)
        #expect(result.output.isEmpty)
        let remarks = failures.map { "synctrain: \($0.path ?? ""): \($0.message)\n" }.joined()
        #expect(result.errors == remarks + "\(fetched == 1 ? "1 file, 10 B" : "0 files, 0 B") in 0.3 s\n")
        #expect(
            control.asked == [
                "fetch "
                    + "\(FetchRequest(paths: ["docs:a", "b"].map { PathReference(text: $0, workingDirectory: "/work dir") }, output: "/work dir/out"))"
            ])
        let quiet = await Scene(control: control).run("fetch", "docs:a", "b", "-q")
        #expect(quiet.errors == remarks)
    }

    @Test func aFetchWithoutItsEndHasFailed() async {
        let control = ScriptedControl(onFetch: { emit in try await emit(.plan(files: 1, bytes: 1)) })
        let result = await Scene(control: control).run("fetch", "a", "--json")
        #expect(result.code == 1)
        #expect(result.output == #"{"bytes":1,"files":1,"type":"plan"}"# + "\n")
        #expect(result.errors.contains(#""code":"interrupted""#))
    }

    @Test func waitEndsWhenNothingIsNeeded() async {
        let needing = AgentStatus.sample.needing(.init(files: 2, bytes: 10))
        let control = ScriptedControl(
            statuses: [needing, .sample.needing(.init(), state: "receiving-index"), .sample],
            onEvents: ScriptedControl.ceaselessEvents)
        #expect(await Scene(control: control).run("wait", "docs").code == 0)
        // It is at rest twice in a row.
        #expect(control.asked.count { $0 == "status" } == 4)
        let late = await Scene(control: ScriptedControl(statuses: [needing])).run("wait", "--timeout", "0")
        #expect(late.code == 7)
        #expect(late.errors == "synctrain: Timed out: docs needs 2 files, 10 B.\n")
        #expect(await Scene().run("wait", "unknown").code == 4)
        let broken = ScriptedControl(statuses: [.sample.needing(.init(), state: "error")])
        #expect(await Scene(control: broken).run("wait").code == 1)
        #expect(await Self.refusing.run("wait").code == 3)
    }

    @Test func treesAreDrawn() async {
        let control = ScriptedControl(entries: [Sample.directory("d"), Sample.file("d/ä")])
        // The script gives the same two entries for every directory: two levels show how lines are drawn.
        let result = await Scene(control: control).run("tree", "--depth", "2")
        #expect(
            result.output == """
                d
                ├── d/
                │   ├── d/
                │   └── ä
                └── ä

                """)
    }

    @Test func whereisListsHolders() async {
        let result = await Scene().run("whereis", "docs:a")
        #expect(
            result.output
                == "nas    AAAAAAA  connected\nphone  CCCCCCC  last seen \(Timestamp.local(Sample.time))\n")
    }

    @Test(arguments: [[], ["--json"]]) func aFileThatNobodyElseHasIsToldByTheExitCode(options: [String]) async {
        #expect(await Scene().run(["whereis", "docs:nowhere"] + options).code == 5)
        #expect(await Scene().run(["whereis", "docs:a"] + options).code == 0)
    }

    @Test func installingAsksBeforeItReplaces() async throws {
        try await withTemporaryDirectory { directory in
            var scene = Scene(unitDirectory: directory + "/systemd/user")
            let unit = directory + "/systemd/user/synctrain.service"
            #expect(await scene.run("--home", "/h h", "agent", "install").output == unit + "\n")
            let text = String(decoding: try #require(FileManager.default.contents(atPath: unit)), as: UTF8.self)
            #expect(text.contains(#"agent run --log-format json --home "/h h""#))
            #expect(await scene.run("--home", "/h h", "agent", "install").code == 0)
            #expect(await scene.run("agent", "install").code == 6)
            scene.terminal = Terminal(
                isInputTTY: true, isOutputTTY: false, isErrorTTY: true, width: 80, readLine: { "" })
            #expect(await scene.run("agent", "install").code == 6)
            #expect(FileManager.default.contents(atPath: unit) == Data(text.utf8))
            scene.terminal.readLine = { "y" }
            #expect(await scene.run("agent", "install").code == 0)
            #expect(FileManager.default.contents(atPath: unit) != Data(text.utf8))
            #expect(await scene.run("agent", "install", "--home", "/h h", "--yes").code == 0)
            #expect(FileManager.default.contents(atPath: unit) == Data(text.utf8))
        }
    }

    @Test func followedLogsAreLinesOfJSON() async {
        let event = AgentEvent(type: "index-updated", time: Sample.time, folder: "docs")
        let control = ScriptedControl(onEvents: { emit in try await emit(event) })
        #expect(
            await Scene(control: control).run("logs", "-f").output
                == #"{"folder":"docs","time":"\#(Sample.time)","type":"index-updated"}"# + "\n")
        #expect(await Scene().run("logs").code == 4)
    }

    /// On a terminal a log is followed, with local times and without what could move the cursor; `--json` is the same everywhere.
    @Test func aLogIsFollowedByPeopleAsLines() async {
        let event = AgentEvent(type: "index-updated", time: Sample.time, folder: "docs")
        var scene = Scene(control: ScriptedControl(onEvents: { emit in try await emit(event) }))
        scene.terminal.isOutputTTY = true
        let lines = await scene.run("logs", "-f", "--color", "never").output
        let time = Timestamp.precise(Sample.time)
        #expect(lines == "\(time)  warning   no route to nas\\x1b[2J folder=docs\n", "\(lines)")
        #expect(scene.control?.asked == ["records 20 true"])
        #expect(await scene.run("logs", "-f", "--json").output.hasPrefix(#"{"folder":"docs""#))
    }

    /// So is the log in a file; in a pipe it is as it was written, and with --json each line is an object.
    @Test func aLogFileIsShownToPeopleInLocalTime() async throws {
        let home = try TemporaryDirectory()
        let lines = [
            "\(Sample.time) warning no route to nas  folder=docs", "\(Sample.time) info    ready",
            "Fatal error: \u{1b}[2J",
            #"{"folder":"docs","level":"error","message":"gone","time":"\#(Sample.time)"}"#, "{not json", "",
            "\(Sample.time) debug   no end of line",
        ]
        try home.write(lines.joined(separator: "\n"), to: "agent.log")
        var scene = Scene()
        #expect(await scene.run("--home", home.path, "logs").output == lines.joined(separator: "\n"))
        scene.terminal.isOutputTTY = true
        let time = Timestamp.precise(Sample.time)
        let shown = [
            "\(time)  warning   no route to nas  folder=docs", "\(time)  info      ready", "Fatal error: \\x1b[2J",
            "\(time)  error     gone folder=docs", "{not json", "", "\(time)  debug     no end of line",
        ]
        #expect(await scene.run("--home", home.path, "logs").output == shown.joined(separator: "\n") + "\n")
        let objects = [
            #"{"level":"warning","message":"no route to nas  folder=docs","time":"\#(Sample.time)"}"#,
            #"{"level":"info","message":"ready","time":"\#(Sample.time)"}"#, #"{"message":"Fatal error: \u001b[2J"}"#,
            lines[3], #"{"message":"{not json"}"#,
            #"{"level":"debug","message":"no end of line","time":"\#(Sample.time)"}"#,
        ]
        #expect(
            await scene.run("--home", home.path, "logs", "--json").output == objects.joined(separator: "\n") + "\n")
    }
}
