import ControlAPI
import Testing

@testable import Diagnosis

/// Facts of a machine on which all is well, to break one thing of.
private let well = MachineFacts(
    program: "synctrain",
    files: [
        .init(.state, path: "/h", mode: 0o700), .init(.privateKey, path: "/h/key.pem", mode: 0o600),
        .init(.certificate, path: "/h/cert.pem", mode: 0o644), .init(.linkKey, path: "/h/http.key", mode: nil),
        .init(.password, path: "/h/http.password", mode: nil), .init(.pageCertificate, path: "/h/http.pem", mode: nil),
        .init(.index, path: "/h/index.sqlite", mode: 0o600), .init(.controlSocket, path: "/h/agent.sock", mode: 0o600),
        .init(.configuration, path: "/h/config.toml", mode: 0o600),
    ],
    configuration: .valid(folders: 1, devices: 2),
    disks: [
        .init(folder: nil, path: "/h/index.sqlite", available: 10 << 30, total: 20 << 30, floor: 64 << 20),
        .init(folder: "my docs", path: "/d", available: 10 << 30, total: 20 << 30, floor: 200 << 20),
    ],
    inotify: .init(watches: 65_536, instances: 128), mounts: .init(hasDevice: true, hasHelper: true, hasProgram: true),
    openFileLimit: 65_536, service: .init(isInstalled: true, isEnabled: true, isLingering: true),
    isClockSynchronised: true, helpers: [.init(path: "/usr/bin/vips", package: "libvips-tools", isThere: true)])

struct MachineCase: Sendable, CustomTestStringConvertible {
    var code: String
    var state: DoctorFinding.State
    var message: String
    var command: String?
    var change: @Sendable (inout MachineFacts) -> Void

    init(
        _ code: String, _ state: DoctorFinding.State, _ message: String, _ command: String? = nil,
        _ change: @escaping @Sendable (inout MachineFacts) -> Void
    ) {
        (self.code, self.state, self.message, self.command, self.change) = (code, state, message, command, change)
    }

    var testDescription: String { "\(code): \(message)" }
}

@Suite struct MachineRulesTests {
    static func setMode(_ kind: MachineFacts.File.Kind, _ mode: UInt32?) -> @Sendable (inout MachineFacts) -> Void {
        { facts in
            for index in facts.files.indices where facts.files[index].kind == kind { facts.files[index].mode = mode }
        }
    }

    static let cases: [MachineCase] = [
        MachineCase(
            "key-mode", .problem, "Other users can read the private key (/h/key.pem, mode 0644).",
            "chmod 600 /h/key.pem", setMode(.privateKey, 0o644)),
        MachineCase(
            "link-key-mode", .problem,
            "Other users can read the key that links are signed with (/h/http.key, mode 0640).",
            "chmod 600 /h/http.key", setMode(.linkKey, 0o640)),
        MachineCase(
            "password-mode", .problem,
            "Other users can read what the page's password is checked with (/h/http.password, mode 0640).",
            "chmod 600 /h/http.password", setMode(.password, 0o640)),
        MachineCase(
            "page-key-mode", .problem,
            "Other users can read the key of the page's certificate (/h/http.pem, mode 0644).",
            "chmod 600 /h/http.pem", setMode(.pageCertificate, 0o644)),
        MachineCase(
            "socket-mode", .problem, "Other users can control the agent (/h/agent.sock, mode 0666).",
            "chmod 600 /h/agent.sock", setMode(.controlSocket, 0o666)),
        MachineCase(
            "index-mode", .warning, "Other users can read the index (/h/index.sqlite, mode 0604).",
            "chmod 600 /h/index.sqlite", setMode(.index, 0o604)),
        MachineCase(
            "state-mode", .problem, "Other users can replace this device's files (/h, mode 0777).", "chmod 700 /h",
            setMode(.state, 0o777)),
        MachineCase(
            "configuration-mode", .problem, "Other users can change the configuration (/h/config.toml, mode 0666).",
            "chmod 600 /h/config.toml", setMode(.configuration, 0o666)),
        MachineCase("owner", .problem, "/h/key.pem belongs to another user.", "sudo chown \"$USER\": /h/key.pem") {
            $0.files[1].isOwn = false
        },
        MachineCase("identity", .problem, "/h/key.pem is missing.", nil, setMode(.privateKey, nil)),
        MachineCase("configuration", .problem, "/h/config.toml is missing.", "synctrain init") {
            $0.configuration = .missing
        },
        MachineCase("configuration", .problem, "/h/config.toml is missing.", nil) {
            ($0.configuration, $0.isAgent) = (.missing, true)
        },
        MachineCase("configuration", .problem, "/h/config.toml:3: unknown key `nmae`; remove it.") {
            $0.configuration = .broken("/h/config.toml:3: unknown key `nmae`; remove it")
        },
        MachineCase(
            "configuration", .problem, "/h/config.toml:3: unknown key.", "synctrain reload"
        ) {
            $0.configuration = .broken("/h/config.toml:3: unknown key")
            $0.isAgent = true
        },
        MachineCase(
            "disk-space", .problem,
            "The disk of the folder my docs is below its floor: 100 MiB of 20 GiB free, and `minimum-free` keeps 200 MiB.",
            "synctrain free 'my docs' --until 200MiB"
        ) { $0.disks[1].available = 100 << 20 },
        MachineCase(
            "disk-space", .problem, "The disk of the index is almost full: 10 MiB of 20 GiB free (/h/index.sqlite)."
        ) {
            $0.disks[0].available = 10 << 20
        },
        MachineCase("disk-space", .warning, "/d cannot be read: No such file or directory.") {
            $0.disks[1].failure = "No such file or directory"
        },
        MachineCase("disk-space", .note, "The disk of the folder my docs does not say how much is free.") {
            $0.disks[1].total = nil
        },
        MachineCase(
            "clock-source", .note, "The system does not synchronise its clock.", "sudo timedatectl set-ntp true"
        ) { $0.isClockSynchronised = false },
        MachineCase("fuse-device", .warning, "This system has no /dev/fuse.", "sudo modprobe fuse") {
            $0.mounts?.hasDevice = false
        },
        MachineCase("fusermount3", .warning, "The program fusermount3 is not installed.", "sudo apt install fuse3") {
            $0.mounts?.hasHelper = false
        },
        MachineCase("synctrain-mount", .warning, "The program synctrain-mount is missing beside this one.") {
            $0.mounts?.hasProgram = false
        },
        MachineCase(
            "thumbnail-programs", .note, "Programs that make thumbnails are missing: /usr/bin/vips.",
            "sudo apt install libvips-tools"
        ) { $0.helpers[0].isThere = false },
        MachineCase("open-files", .warning, "The agent may have only 1024 files open at once.") {
            $0.openFileLimit = 1024
        },
        MachineCase(
            "service", .note, "The agent does not start automatically after a restart of the machine.",
            "synctrain agent install"
        ) { $0.service?.isEnabled = false },
        MachineCase(
            "service", .note, "The agent does not start automatically after a restart of the machine.",
            "sudo systemctl enable synctrain"
        ) {
            $0.service = .init(isInstalled: true, isEnabled: false, isLingering: false, isOfSystem: true)
        },
        MachineCase("service", .note, "The agent stops when this user logs out.", "loginctl enable-linger") {
            $0.service?.isLingering = false
        },
    ]

    @Test(arguments: cases)
    func whatIsWrongIsFoundWithItsRemedy(_ one: MachineCase) throws {
        var facts = well
        one.change(&facts)
        let found = facts.findings.filter { $0.state != .ok }
        let finding = try #require(found.first)
        #expect(found.count == 1 && finding.code == one.code && finding.state == one.state)
        #expect(finding.message == one.message)
        #expect(finding.command == one.command)
    }

    @Test func aMachineOnWhichAllIsWellHasNothingElse() {
        #expect(well.findings.allSatisfy { $0.state == .ok && $0.why == nil && $0.remedy == nil })
        #expect(
            Set(well.findings.map(\.area))
                == [.configuration, .permissions, .space, .clock, .mount, .thumbnails, .system])
    }

    @Test func theSystemUnitNeedsNoLogin() {
        var facts = well
        facts.service = .init(isInstalled: true, isEnabled: true, isLingering: false, isOfSystem: true)
        #expect(facts.findings == well.findings)
    }

    @Test func aDeviceThatIsNotSetUpIsToldHow() {
        let facts = MachineFacts(
            program: "synctrain --home /h", files: [.init(.privateKey, path: "/h/key.pem", mode: nil)],
            configuration: .missing)
        #expect(facts.findings.map(\.command) == ["synctrain --home /h init"])
        #expect(facts.findings.map(\.state) == [.problem])
    }

    /// What is neither well nor a note says why and how.
    @Test(arguments: cases)
    func eachFindingHasReasonAndRemedy(_ one: MachineCase) {
        var facts = well
        one.change(&facts)
        for finding in facts.findings where finding.state != .ok && finding.message.contains(" does not say ") == false
        {
            #expect(finding.why != nil && finding.remedy != nil, "\(finding)")
        }
    }
}
