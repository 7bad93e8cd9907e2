import ControlAPI
import Testing

@testable import Diagnosis

private let nas = "NASNAS1-B", phone = "PHONE11-C"

private func folder(_ id: String = "docs") -> FolderStatus {
    FolderStatus(
        id: id, label: "", path: "/d", mode: "full", type: "sendreceive", state: "idle", devices: [nas],
        global: .init(), local: .init(), need: .init(), watch: .init(state: "watching", watched: 10))
}

private func device(_ id: String, _ name: String, isConnected: Bool = true) -> DeviceStatus {
    DeviceStatus(
        id: id, name: name, isConnected: isConnected, transport: isConnected ? "tcp" : nil, addresses: ["dynamic"],
        client: "syncthing v1.29.5", lastSeen: "2026-11-25T10:00:00Z")
}

/// What an agent knows where all is well, to break one thing of.
private func well() -> AgentFacts {
    AgentFacts(
        program: "synctrain",
        status: AgentStatus(
            device: "OWNOWN1-A", name: "laptop", version: "0.1.0", startedAt: "", listening: ["tcp://0.0.0.0:22000"],
            folders: [folder()], devices: [device(nas, "nas")], transfers: [],
            bluetooth: RadioStatus(state: "ready", message: "Bluetooth is ready.")),
        reach: ReachReport(
            servers: [.init(url: "https://192.0.2.9/", announcedSeconds: 1, nextSeconds: 1, problem: nil)],
            relays: [
                .init(
                    source: "relay://192.0.2.8", address: nil, state: "joined", joinedSeconds: 1,
                    roundTripMilliseconds: 1, problem: nil)
            ],
            devices: [.init(id: nas, name: "nas", links: ["tcp tcp://192.0.2.7:22000"], failures: [])]),
        pending: PendingList(devices: [], folders: []), database: .sound(bytes: 4096, schema: "v1", isWhole: true),
        skews: [.init(device: nas, seconds: -3)], inotify: .init(watches: 1000, instances: 128))
}

struct AgentCase: Sendable, CustomTestStringConvertible {
    var code: String
    var state: DoctorFinding.State
    var message: String
    var command: String?
    var details: [String] = []
    var change: @Sendable (inout AgentFacts) -> Void

    init(
        _ code: String, _ state: DoctorFinding.State, _ message: String, _ command: String? = nil,
        details: [String] = [], _ change: @escaping @Sendable (inout AgentFacts) -> Void
    ) {
        (self.code, self.state, self.message, self.command) = (code, state, message, command)
        (self.details, self.change) = (details, change)
    }

    var testDescription: String { "\(code): \(message)" }
}

@Suite struct AgentRulesTests {
    static func waits(
        _ reason: FolderWait.Reason, _ message: String, _ remedy: String, command: String? = nil,
        _ devices: [String] = []
    ) -> @Sendable (inout AgentFacts) -> Void {
        {
            $0.status.folders[0].waits = [
                FolderWait(reason: reason, message: message, remedy: remedy, command: command, devices: devices)
            ]
        }
    }

    static let agent: [AgentCase] = [
        AgentCase("index", .problem, "The index is damaged: row 3 missing.", "synctrain reset index") {
            $0.database = .damaged("row 3 missing")
        },
        AgentCase("index", .problem, "The index could not be checked: the disk failed.") {
            $0.database = .unreadable("the disk failed")
        },
        AgentCase(
            "mount-answers", .warning, "docs: the mount on /m does not answer.", "synctrain unmount --lazy /m"
        ) {
            $0.status.mounts = [MountStatus(folder: "docs", directory: "/m", state: "not-answering")]
        },
        AgentCase("mount-problem", .warning, "docs: /m is not empty. Choose an empty directory.") {
            let problem = ControlError(.alreadyExists, "/m is not empty. Choose an empty directory.")
            $0.status.mounts = [MountStatus(folder: "docs", directory: "/m", state: "unmounted", problem: problem)]
        },
        AgentCase(
            "clock-skew", .warning, "The clock of nas is 5 min ahead of this one's.", "sudo timedatectl set-ntp true"
        ) {
            $0.skews = [.init(device: nas, seconds: 300)]
        },
        AgentCase(
            "clock-skew", .warning, "The clock of nas is 106751991167300 d behind this one's.",
            "sudo timedatectl set-ntp true"
        ) {
            $0.skews = [.init(device: nas, seconds: .min)]
        },
        AgentCase("listening", .warning, "This device does not listen for connections.") { $0.status.listening = [] },
        AgentCase(
            "page", .note, "Port 8394 cannot be used (another program uses it), so the page is at port 40001.",
            "synctrain config set http.listen 127.0.0.1:8395"
        ) {
            $0.status.http = "http://127.0.0.1:40001"
            $0.status.httpRemarkPhrase =
                "Port 8394 cannot be used (another program uses it), so the page is at port 40001."
        },
        AgentCase(
            "page-reached", .note, "Other machines reach the page: https://192.0.2.1:8394, with TLS and the password.",
            "synctrain config set http.listen 127.0.0.1:8394",
            details: ["SHA-256 fingerprint of the certificate: AB:CD"]
        ) {
            $0.status.http = "https://192.0.2.1:8394"
            $0.status.httpFingerprint = "AB:CD"
        },
        AgentCase("agent-problem", .warning, "Port 21027 is in use; stop the other program.") {
            $0.status.problemPhrases = ["port 21027 is in use; stop the other program"]
        },
        AgentCase("discovery-server", .warning, "https://192.0.2.9/: no route.", "synctrain reach") {
            $0.reach.servers[0].problemPhrase = "no route"
        },
        AgentCase(
            "relay", .warning, "No relay is joined.", "synctrain reach --test",
            details: ["relay://192.0.2.8: it is full"]
        ) {
            $0.reach.relays[0].state = "waiting"
            $0.reach.relays[0].problemPhrase = "it is full"
        },
        AgentCase("watching", .warning, "docs: not all directories are watched: too many.") {
            $0.status.folders[0].watch = .init(state: "partial", message: "too many", watched: 10)
        },
        AgentCase(
            "watching", .warning, "docs: not all directories are watched.",
            "echo fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/60-synctrain.conf && sudo sysctl --system"
        ) { $0.status.folders[0].watch = .init(state: "partial", watched: 990) },
        AgentCase(
            "inotify-watches", .note, "900 directories of 1000 watched.",
            "echo fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/60-synctrain.conf && sudo sysctl --system"
        ) { $0.status.folders[0].watch?.watched = 900 },
        AgentCase("radio", .note, "Bluetooth is switched off.", "bluetoothctl power on") {
            $0.status.bluetooth = .init(
                state: "powered-off", message: "Bluetooth is switched off.", remedy: "Run `bluetoothctl power on`.",
                command: "bluetoothctl power on")
        },
        AgentCase("radio", .warning, "Bluetooth is switched off.") {
            $0.status.bluetooth = .init(state: "powered-off", message: "Bluetooth is switched off.", remedy: "Do.")
            $0.status.devices[0].addresses.append("ble://AA:BB:CC:DD:EE:FF")
        },
        AgentCase("thumbnail-sandbox", .warning, "No thumbnails: a reason.") {
            $0.status.problemPhrases = ["no thumbnails: a reason"]
            $0.thumbnailProblems = ["no thumbnails: a reason"]
        },
    ]

    static let devices: [AgentCase] = [
        AgentCase("devices", .note, "No other device is known.", "synctrain pair") { $0.status.devices = [] },
        AgentCase("connection", .note, "nas is paused.", "synctrain resume --device nas") {
            $0.status.devices[0].isPaused = true
        },
        AgentCase(
            "connection", .warning, "nas is not connected: tcp://192.0.2.7:22000: timed out.", "synctrain reach",
            details: [
                "tcp://192.0.2.7:22000 (discovery server): timed out", "tcp://h:1 (configuration): connection refused",
                "relay://r: not tried: relays are off",
            ]
        ) {
            $0.status.devices[0].isConnected = false
            $0.status.devices[0].lastErrorPhrase = "tcp://192.0.2.7:22000: timed out"
            $0.reach.devices[0] = .init(
                id: nas, name: "nas", links: [],
                failures: [
                    .init(address: "tcp://192.0.2.7:22000", source: "global", message: "timed out", time: ""),
                    .init(address: "tcp://h:1", source: "configured", message: "connection refused", time: ""),
                ], untried: [.init(address: "relay://r", message: "relays are off")])
        },
        AgentCase(
            "connection", .warning, "nas has never connected.",
            "synctrain device add NASNAS1-B --address tcp://HOST:PORT"
        ) {
            $0.status.devices[0].isConnected = false
            $0.status.devices[0].lastSeen = nil
            $0.reach.devices = []
        },
        AgentCase("version", .warning, "nas runs syncthing v1.18.6.") {
            $0.status.devices[0].client = "syncthing v1.18.6"
        },
        AgentCase(
            "pending-device", .note, "my phone (PHONE11-C) wants to connect.",
            "synctrain device add PHONE11-C --name 'my phone'"
        ) { $0.pending.devices = [.init(id: phone, name: "my phone", address: "", lastSeen: "")] },
        AgentCase(
            "pending-folder", .note, "nas offers the folder Music.",
            "synctrain folder add 'a b' DIRECTORY --device NASNAS1-B"
        ) { $0.pending.folders = [.init(id: "a b", label: "Music", device: nas, lastSeen: "")] },
    ]

    static let folders: [AgentCase] = [
        AgentCase("folders", .note, "There is no folder.", "synctrain folder add ID DIRECTORY --device DEVICE") {
            $0.status.folders = []
            $0.inotify = nil
        },
        AgentCase(
            "waits-unshared-there", .problem, "docs: nas does not share it with this device.",
            details: ["nas: NASNAS1-B"],
            waits(
                .unsharedThere, "nas does not share it with this device", "accept or share the folder `docs` there",
                [nas])),
        AgentCase(
            "waits-paused", .note, "docs: the folder is paused.", "synctrain resume docs",
            waits(
                .paused, "the folder is paused", "`synctrain resume docs` resumes it", command: "synctrain resume docs")
        ),
        // Names that other devices chose are no commands.
        AgentCase(
            "waits-index", .note, "docs: `synctrain rm --everywhere docs:` has not sent its index yet.", nil,
            waits(
                .index, "`synctrain rm --everywhere docs:` has not sent its index yet",
                "switch `synctrain rm --everywhere docs:` on")),
        AgentCase("agent-problem", .warning, "`synctrain rm docs:` is paused.") {
            $0.status.problemPhrases = ["`synctrain rm docs:` is paused"]
        },
        AgentCase(
            "waits-unshared", .note, "docs: the folder is not shared.", nil,
            waits(.unshared, "the folder is not shared", "`synctrain folder share docs DEVICE` shares it")),
        AgentCase(
            "folder", .problem, "docs: halted-root-missing: /d is gone.", "synctrain folder repair docs"
        ) {
            $0.status.folders[0].state = "halted-root-missing"
            $0.status.folders[0].text = "/d is gone"
            $0.status.folders[0].waits = [
                FolderWait(
                    reason: .halted, message: "/d is gone",
                    remedy: "mount it; otherwise run `synctrain folder repair docs`",
                    command: "synctrain folder repair docs")
            ]
        },
        AgentCase(
            "errors", .warning, "docs: 1 name cannot be synced.", "synctrain status", details: ["a: no permission"]
        ) {
            $0.status.folders[0].errors = 1
            $0.status.folders[0].problems = [.init(path: "a", message: "no permission")]
            $0.status.folders[0].waits = [FolderWait(reason: .problems, message: "x", remedy: "y")]
        },
        AgentCase("refused", .warning, "docs: 2 changes by read-only devices refused.", "synctrain refused list docs") {
            $0.status.folders[0].refused = 2
        },
        AgentCase(
            "held-deletions", .warning, "docs: 3 deletions to confirm: see.", "synctrain folder confirm docs"
        ) { $0.status.folders[0].heldDeletions = .init(names: 3, isHere: true, message: "see") },
        AgentCase("damage", .problem, "docs: 1 file damaged on this disk.", "synctrain scrub --repair docs:") {
            $0.status.folders[0].scrub = .init(damaged: 1)
        },
        AgentCase("conflicts", .note, "docs: 2 conflicts.", "synctrain conflicts list docs") {
            $0.status.folders[0].conflicts = 2
        },
        AgentCase("folder", .problem, "docs: not all that the devices announced could be stored.", "synctrain status") {
            $0.status.folders[0].isIncomplete = true
        },
    ]

    @Test(arguments: agent + devices + folders)
    func whatIsWrongIsFoundWithItsRemedy(_ one: AgentCase) throws {
        var facts = well()
        one.change(&facts)
        let found = facts.findings.filter { $0.state != .ok }
        let finding = try #require(found.first)
        #expect(found.count == 1, "\(found)")
        #expect(finding.code == one.code && finding.state == one.state)
        #expect(finding.message == one.message)
        #expect(finding.command == one.command)
        #expect(finding.details == one.details)
        #expect(finding.why != nil && finding.remedy != nil)
    }

    @Test func whereAllIsWellNothingElseIsFound() {
        let findings = well().findings
        #expect(findings.allSatisfy { $0.state == .ok && $0.why == nil })
        #expect(findings.contains { $0.message == "nas is connected (tcp tcp://192.0.2.7:22000)." })
        #expect(findings.contains { $0.message == "docs: idle, needs nothing." })
    }

    @Test(arguments: [
        ("syncthing v1.19.2-ds1", true), ("syncthing v2.1.3", true), ("syncthing v1.18.0", false),
        ("syncthing v0.14.55", false), ("synctrain v0.1.0", true), ("syncthing unknown-dev", true), ("", true),
        ("syncthing v99999999999999999999.1", true),
    ])
    func oldVersionsAreTold(_ client: String, isFine: Bool) {
        var facts = well()
        facts.status.devices[0].client = client
        #expect(facts.findings.contains { $0.code == "version" } == !isFine)
    }

    @Test func commandsAreThoseOfThisHome() {
        var facts = well()
        facts.program = "synctrain --home /h"
        Self.waits(.paused, "paused", "`synctrain resume docs` resumes it", command: "synctrain resume docs")(&facts)
        #expect(facts.findings.contains { $0.command == "synctrain --home /h resume docs" })
    }

    @Test func findingsOfTheSameAreNotAddedTwice() {
        let (one, other) = (
            DoctorFinding(.space, "disk-space", .ok, subject: "a", "1"),
            DoctorFinding(.space, "disk-space", .ok, subject: "b", "2")
        )
        let again = DoctorFinding(.space, "disk-space", .problem, subject: "a", "3")
        let report = DoctorReport(findings: [one]).adding([again, other])
        #expect(report.findings.map(\.message) == ["1", "2"] && !report.hasProblem)
        #expect(DoctorReport(findings: [one, again]).findings.map(\.message) == ["3", "1"], "the worst first")
    }
}

@Test func whatHelpsAnAgentThatIsSilentDependsOnWhy() {
    func command(_ process: Int32?, isStopped: Bool) -> String? {
        AgentFacts.silent(process: process, isStopped: isStopped, program: "synctrain").command
    }
    #expect(command(12, isStopped: true) == "kill -CONT 12")
    #expect(command(12, isStopped: false) == "kill -KILL 12")
    #expect(command(nil, isStopped: false) == "synctrain logs")
}
