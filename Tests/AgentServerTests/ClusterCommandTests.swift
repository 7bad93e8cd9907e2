import ControlAPI
import Testing

@testable import synctrain

struct ClusterCommandTests {
    @Test func pausesAreEditsWithAndWithoutAnAgent() async {
        let lines: [[String]] = [
            ["pause", "f", "g", "--device", "nas", "--for", "2h"], ["resume", "--device", "nas", "f"],
            ["pause", "--all"], ["resume", "--all"],
        ]
        let offline = Scene(control: nil)
        let online = Scene()
        for line in lines {
            #expect(await offline.run(line).code == 0)
            #expect(await online.run(line).code == 0)
        }
        #expect(
            offline.edits.current == [
                .setPaused(PauseChange(folders: ["f", "g"], devices: ["nas"], isPaused: true, seconds: 7200)),
                .setPaused(PauseChange(folders: ["f"], devices: ["nas"], isPaused: false)),
                .setPaused(PauseChange(isAll: true, isPaused: true)),
                .setPaused(PauseChange(isAll: true, isPaused: false)),
            ])
        #expect(
            online.control?.asked == [
                #"pause ["f", "g"] ["nas"] false true 7200"#, #"pause ["f"] ["nas"] false false 0"#,
                "pause [] [] true true 0", "pause [] [] true false 0",
            ])
    }

    @Test func policiesAreShownAndSetAside() async {
        var status = AgentStatus.sample
        status.policies = PolicyStatus(
            metered: .yes, battery: .yes, charge: 41.6,
            holds: [.init(cause: "metered", restraint: "on-demand-only", message: "it is metered", remedy: "do so")],
            remarks: ["nobody says more"])
        let scene = Scene(control: ScriptedControl(statuses: [status]))
        #expect(
            await scene.run("policy").output == """
                connection is metered  yes
                runs on battery        yes, 42 %
                it is metered; do so
                nobody says more

                """)
        #expect(await scene.run("policy", "--json").output.hasPrefix(#"{"battery":"yes","charge":41.6"#))
        #expect(await scene.run("status").output.contains("policy: it is metered; do so"))
        let change = Scene()
        #expect(await change.run("policy", "ignore", "--for", "2h").code == 0)
        #expect(await change.run("policy", "ignore").code == 0)
        #expect(await change.run("policy", "apply").code == 0)
        #expect(
            change.control?.asked == [
                "policies ignored true 7200", "policies ignored true 0", "policies ignored false 0",
            ])
        #expect(await Scene(control: nil).run("policy", "ignore").code == 3)
        #expect(await change.run("policy", "ignore", "--for", "0").code == 64)
    }

    @Test(arguments: [
        ["pause"], ["resume"], ["pause", "f", "--all"], ["pause", "f", "--for", "0"], ["pause", "f", "--for", "2y"],
        ["pause", "f", "--for", "400d"], ["pause", "f", "--for", "-1h"], ["resume", "f", "--for", "1h"],
        ["wait", "a", "--timeout", "1y"],
    ])
    func whatMakesNoSenseIsWrongUsage(_ arguments: [String]) async {
        #expect(await Scene().run(arguments).code == 64)
    }

    @Test func completionTellsWantedFromComplete() async {
        let result = await Scene().run("completion", "docs")
        #expect(
            result.output == """
                folder  device                of selection  of full copy  has               still needs
                docs    laptop (this device)  100 %         33.3 %        1 file, 1.0 KiB   nothing
                docs    nas                   99.9 %        99.9 %        2 files, 2.9 KiB  1 file, 1 B
                docs    CCCCCCC               -             -             not reported yet  -

                """)
        #expect(
            await Scene().run("completion", "--json").output.hasPrefix(
                #"{"folders":[{"devices":[{"connected":true,"copy":33.3,"held":{"bytes":1000"#))
    }

    @Test func readyTellsWhatIsMissing() async {
        let all = await Scene().run("ready")
        #expect(
            all.output == """
                docs: ready, 3 files, 2.9 KiB
                films: 23 % here (16 MiB of 67 MiB), about 12 min left
                  complete until \(Timestamp.local(Sample.time)); missing since then: a.mp4, b/c.mp4 and 1 more
                photos: 23 % here (16 MiB of 67 MiB), does not fit: 47 MiB short
                  3 of the needed files are on nas, not connected; switch one of them on

                """)
        #expect(all.code == 1)
        #expect(await Scene().run("ready", "docs").code == 0)
    }

    @Test func readyTellsWhetherItWillBeInTime() async {
        // Far away and long ago, so that it does not hang on when the test is run.
        let late = await Scene().run("ready", "films", "--by", "2999-01-01 08:00")
        #expect(late.output.hasSuffix("\n  will be ready by 2999-01-01 08:00\n") && late.code == 0)
        let early = await Scene().run("ready", "films", "--by", "2001-01-01 08:00")
        #expect(early.output.hasSuffix("\n  will not be ready by 2001-01-01 08:00\n") && early.code == 1)
        let full = await Scene().run("ready", "photos", "--by", "2999-01-01", "--json")
        #expect(full.output.contains(#""inTime":false"#) && full.output.contains(#""etaSeconds":null"#))
        #expect(full.code == 1)
    }

    /// The next `08:00` is today's or tomorrow's, whatever the zone.
    @Test(arguments: Array(stride(from: Int64(1_795_000_000), to: 1_795_180_000, by: 7_000)))
    func aTimeOfDayIsTheNextOne(now: Int64) throws {
        let deadline = try #require(ReadyCommand.deadline("08:00", now: now))
        #expect(deadline > now && deadline - now <= 25 * 3600)
        #expect(try #require(ReadyCommand.deadline("8:00", now: deadline)) > deadline)
        #expect(ReadyCommand.deadline("08:00", now: deadline - 1) == deadline)
        for text in ["", "8", "24:00", "8:60", "8:0", "-1:00", "08:00:00", "ä:bc"] {
            #expect(ReadyCommand.deadline(text, now: now) == nil, "\(text)")
        }
    }

    @Test func anotherDevicesNeedIsListedWithoutAState() async {
        let scene = Scene()
        let result = await scene.run("need", "docs", "--device", "nas", "-0")
        #expect(result.output == "docs:far/away.txt\0")
        #expect(scene.control?.asked == ["needs of nas in docs"])
        #expect(await Scene().run("need", "--device", "nas").output.hasPrefix("    12 B  "))
    }

    @Test func pathsAreWaitedForByTheAgent() async {
        let scene = Scene()
        #expect(await scene.run("wait", "docs:a/b", "docs", "c.txt", "--timeout", "5m").code == 0)
        #expect(
            scene.control?.asked.filter { $0 != "status" && $0 != "events" } == [#"wait ["docs:a/b", "c.txt"] true"#])
        #expect(await Scene().run("wait", "unknown").code == 4)
    }

    @Test func theLogSaysWhoDidWhat() async {
        let scene = Scene()
        let time = Timestamp.precise(Sample.time)
        let result = await scene.run("log", "docs:d", "--since", "2h", "--limit", "7")
        #expect(
            result.output == """
                \(time)  nas           renamed   docs:b (was a)
                \(time)  -             many      docs: 1234 names

                """)
        #expect(scene.control?.asked == ["changes docs:d 7200 7 false"])
        #expect(await Scene().run("log", "-f", "--json").output.contains(#""from":"a""#))
        #expect(await Scene().run("log", "--limit", "0").code == 64)
        #expect(await Scene().run("log", "--since", "ever").code == 64)
    }

    @Test func reloadingSaysWhatWaitsForAStart() async {
        let result = await Scene().run("reload")
        #expect(result.code == 0 && result.output.isEmpty && result.errors.contains("listen, log"))
        #expect(await Scene().run("reload", "--json").output == #"{"restart":["listen","log"],"schema":1}"# + "\n")
    }

    /// A file that was emptied drops nothing before somebody has said that it may.
    @Test func reloadingAsksBeforeAllIsDropped() async {
        func scene(_ answer: String? = nil) -> Scene {
            var scene = Scene(control: ScriptedControl(folders: FolderScript(reloadNeedsConfirmation: true)))
            guard let answer else { return scene }
            scene.terminal = Terminal(
                isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 80, readLine: { answer })
            return scene
        }
        let unasked = scene()
        let refused = await unasked.run("reload")
        #expect(
            refused.code == 6 && refused.errors.contains("Remove the 2 devices") && refused.errors.contains("--yes"))
        #expect(unasked.control?.asked == ["reload false"])
        let no = scene("")
        #expect(await no.run("reload").code == 6)
        #expect(no.control?.asked == ["reload false"])
        let yes = scene("y")
        #expect(await yes.run("reload").code == 0)
        #expect(yes.control?.asked == ["reload false", "reload true"])
        let said = scene()
        #expect(await said.run("reload", "--yes").code == 0)
        #expect(said.control?.asked == ["reload true"])
    }

    static let spans: [(String, Double?)] = [
        ("30", 30), ("1.5", 1.5), ("30s", 30), ("5m", 300), ("2h", 7200), ("1d", 86_400), ("4w", 2_419_200), ("0", 0),
        ("", nil), ("s", nil), ("-1", nil), ("1e9", nil), ("1..2", nil), ("5 m", nil), ("٣", nil), ("inf", nil),
    ]

    @Test(arguments: spans.indices) func timesAreRead(_ number: Int) {
        #expect(TimeSpan.seconds(Self.spans[number].0) == Self.spans[number].1)
    }

    static let devices: [(DeviceStatus, String)] = [
        (DeviceStatus(id: "A", name: "nas", isConnected: false, isPaused: true), "resume --device nas"),
        (DeviceStatus(id: "A", name: "", isConnected: false, isPaused: true), "resume --device A"),
        (DeviceStatus(id: "A", name: "nas", isConnected: false, lastError: "refused; start it"), "start it"),
        (DeviceStatus(id: "A", name: "nas", isConnected: false, addresses: ["dynamic"]), "--address"),
        (DeviceStatus(id: "A", name: "nas", isConnected: false), "switch it on"),
        (DeviceStatus(id: "A", name: "nas", isConnected: false, addresses: ["tcp://a:1"]), "switched on"),
        (
            DeviceStatus(id: "A", name: "nas", isConnected: false, lastError: "tcp://a:1: refused", ways: [refused]),
            "tcp://a:1: refused"
        ),
        (
            DeviceStatus(
                id: "A", name: "nas", isConnected: false, lastError: "the link ended", ways: [refused, late, relaysOff]),
            "the link ended (2 addresses tried, 1 not tried; `synctrain reach` shows each)"
        ),
        (
            DeviceStatus(id: "A", name: "nas", isConnected: false, ways: [late, refused]),
            "tcp://b:1: timed out (2 addresses tried; `synctrain reach` shows each)"
        ),
        (
            DeviceStatus(id: "A", name: "nas", isConnected: false, ways: [relaysOff]),
            "relay://r:1: relays are switched off"
        ),
    ]

    private static let refused = DeviceWay(
        address: "tcp://a:1", outcome: DeviceWay.failed, source: "local", message: "refused",
        time: "2026-11-25T10:00:00Z")
    private static let late = DeviceWay(
        address: "tcp://b:1", outcome: DeviceWay.failed, source: "global", message: "tcp://b:1: timed out",
        time: "2026-11-25T10:00:01Z")
    private static let relaysOff = DeviceWay(
        address: "relay://r:1", outcome: DeviceWay.notTried, message: "relays are switched off")

    @Test(arguments: devices.indices) func aDeviceThatIsNotConnectedHasARemedy(_ number: Int) {
        #expect(StatusRendering.remark(Self.devices[number].0).contains(Self.devices[number].1))
    }

    @Test func theCommandThatResumesADeviceIsQuotedForTheShell() {
        let device = DeviceStatus(id: "A", name: "my nas", isConnected: false, isPaused: true)
        #expect(StatusRendering.remark(device).contains("`synctrain resume --device 'my nas'`"))
    }

    @Test func statusSaysWhyALinkIsNotDirect() {
        func detour(_ transport: String, _ ways: [DeviceWay], rate: Int64? = nil) -> String? {
            let used = DeviceWay(
                address: "relay://r:1", outcome: DeviceWay.connected, transport: transport, links: 1,
                bytesPerSecond: rate)
            return StatusRendering.detour(
                DeviceStatus(
                    id: "A", name: "nas", isConnected: true, transport: transport, address: "relay://r:1",
                    ways: [used] + ways))
        }
        #expect(detour("tcp-wan", [Self.refused]) == nil)
        #expect(detour("relay", []) == nil)
        #expect(detour("relay", [Self.refused]) == "over a relay, not directly: tcp://a:1: refused")
        #expect(
            detour("relay", [Self.refused, Self.late], rate: 3 << 20)
                == "over a relay at 3.0 MiB/s, not directly: tcp://b:1: timed out (2 addresses tried; `synctrain reach` shows each)"
        )
        #expect(detour("gatt", [Self.refused]) == "over gatt, not directly: tcp://a:1: refused")
    }

    @Test func statusSaysWhatIsWaitedFor() {
        var status = AgentStatus.sample
        status.folders[0].copy = .selected
        status.folders[0].waits = [
            FolderWait(reason: .holder, message: "2 files are on nas, not connected", remedy: "switch it on")
        ]
        let lines = StatusRendering(style: Style(hasColor: false, escapesNames: false)).lines(status)
        #expect(lines.contains("docs: waits: 2 files are on nas, not connected; switch it on"))
        #expect(lines.contains { $0.contains("up to date") })
    }

    /// As `Timestamp` shows other times: in the zone of who reads them.
    @Test func theEndOfAPauseIsShownInLocalTime() throws {
        let end = "2026-11-30T07:15:00Z"
        var status = AgentStatus.sample
        let wait = FolderWait(
            reason: .paused, text: "the folder is paused", remedyText: "`synctrain resume docs` resumes it", until: end)
        status.folders[0].waits = [try ControlJSON.decode(FolderWait.self, from: ControlJSON.encode(wait))]
        let lines = StatusRendering(style: Style(hasColor: false, escapesNames: false)).lines(status)
        let expected = "docs: the folder is paused until \(Timestamp.local(end)); `synctrain resume docs` resumes it"
        #expect(lines.contains(expected) && !expected.contains("Z"))
    }

    /// A device that has not accepted this one answers and hangs up, again and again: at no moment is that a connection.
    @Test func aDeviceThatHasNotAcceptedThisOneIsNotShownAsConnected() {
        for isConnected in [false, true] {
            let device = DeviceStatus(
                id: "AAAAAAA-B", name: "nas", isConnected: isConnected, transport: "tcp", address: "tcp://h:1",
                lastError: "It has not accepted this device yet.", acceptance: .needed)
            let lines = StatusRendering(style: Style(hasColor: false, escapesNames: false)).devices([device])
            #expect(lines[1].split(separator: " ") == ["nas", "AAAAAAA", "none", "tcp://h:1", "-", "0", "B", "0", "B"])
            #expect(lines.last == "nas: It has not accepted this device yet.")
        }
    }
}
