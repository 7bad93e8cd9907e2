import ControlAPI
import Cryptography
import Foundation
import Glibc
import TransportVirtual

/// `demo --ble`: two agents of this program over a virtual radio, driven by their command lines as a person would.
struct RadioDemo {
    /// The folder that the laptop has.
    private static let letters = 120
    private static let letterByteCount = 600
    private static let photoByteCount = 250_000
    private static let videoByteCount = 1_000_000
    /// More than a folder lets over Bluetooth by itself.
    private static let archiveByteCount = 12_000_000

    private let directory: URL
    private let air: VirtualAir
    private let say: (String) throws -> Void
    private let connect: @Sendable (CommandEnvironment.Places) -> any AgentControl
    private let places: (String) throws -> CommandEnvironment.Places
    private let processes = DemoProcesses()

    /// Throws `ControlError` when anything is not as it should be. Removes everything it has made and ends the agents, also if it is
    /// cancelled: within the second that `Interrupts` leaves it.
    static func run(
        _ conditions: RadioConditions, say: @escaping (String) throws -> Void,
        connect: @escaping @Sendable (CommandEnvironment.Places) -> any AgentControl,
        places: @escaping (String) throws -> CommandEnvironment.Places
    ) async throws {
        let directory = try makeDirectory(in: FileManager.default.temporaryDirectory)
        defer { try? FileManager.default.removeItem(at: directory) }
        let air = try await VirtualAir.open(at: directory.appending(path: "air").path, conditions: conditions)
        let demo = RadioDemo(directory: directory, air: air, say: say, connect: connect, places: places)
        do {
            try await demo.play(conditions)
            await demo.end()
        } catch {
            await demo.end()
            throw error
        }
    }

    /// A directory of a new name, for this user alone: nobody else can have made it before.
    static func makeDirectory(in parent: URL) throws(ControlError) -> URL {
        let template = parent.appending(path: "synctrain-demo-XXXXXX").path
        var path = Array(template.utf8CString)
        guard mkdtemp(&path) != nil else {
            let reason = String(cString: strerror(errno))
            throw ControlError(.failed, "\(template) cannot be created: \(reason). Choose another directory.")
        }
        return URL(filePath: String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    private func play(_ conditions: RadioConditions) async throws {
        try say("# Two devices and no network: a virtual radio plays Bluetooth LE between them.")
        try say(Self.words(for: conditions))
        // The laptop also listens on a network, at which the tablet will find it later.
        try await show(
            "laptop", "init", "--name", "laptop", "--listen", "virtual://laptop", "--listen", "tcp://127.0.0.1:0",
            "--no-discovery")
        try await show("tablet", "init", "--name", "tablet", "--listen", "virtual://tablet", "--no-discovery")
        for name in ["laptop", "tablet"] { try await startAgent(name) }

        try say("\n# The laptop has a folder: letters, a photo, a video, an archive.")
        let files = try writeFolder()
        try await show("laptop", "folder", "add", "docs", path("laptop-docs"), "--mode", "full")

        try say("\n# They get to know each other by six digits, and the laptop shares its folder at once.")
        try await pair()
        let laptop = try await id(of: "laptop")
        try await wait("the folder that the laptop offers", pending: "docs")
        try await show("tablet", "folder", "list", "--pending")
        let start = ContinuousClock.now
        try await show("tablet", "folder", "add", "docs", path("tablet-docs"), "--device", laptop)
        try await wait("the index") { status in
            status.folders.first { $0.id == "docs" }?.global.files == Int64(files)
        }
        try await report("The index of \(files) files", nil, since: start, from: AirStatistics())
        try await show("tablet", "status")
        try await show("tablet", "ls", "-l", "docs:")

        try say("\n# What the tablet selects is kept there.")
        var before = try await air.statistics()
        var from = ContinuousClock.now
        try await show("tablet", "select", "docs:letters")
        try await show("tablet", "wait", "docs", "--timeout", "120")
        try await report(
            "\(Self.letters) letters", Self.letters * Self.letterByteCount, since: from, from: before)

        try say("\n# Any other file comes on demand, verified.")
        before = try await air.statistics()
        from = ContinuousClock.now
        try await show("tablet", "fetch", "docs:photo.jpg", "-o", path("photo.jpg"))
        try compare("photo.jpg")
        try await report("The photo", Self.photoByteCount, since: from, from: before)

        try say("\n# The tablet is carried out of range in the middle of a video, and back.")
        before = try await air.statistics()
        from = ContinuousClock.now
        try await fetchWhileWalking(before)
        try compare("video.mp4")
        try await report("The video", Self.videoByteCount, since: from, from: before)

        try say("\n# A large file waits for a network, and comes when there is one.")
        try await show("tablet", "select", "docs:archive.zip")
        try await wait("that the archive waits") { $0.folders.contains { $0.waiting != nil } }
        try await show("tablet", "ls", "-l", "docs:")
        before = try await air.statistics()
        from = ContinuousClock.now
        try await show(
            "tablet", "device", "add", laptop, "--address", try await networkAddress(), "--address", "virtual://laptop")
        try await wait("a link over the network") { $0.devices.contains { $0.transport?.hasPrefix("tcp") == true } }
        try await show("tablet", "wait", "docs", "--timeout", "120")
        try compare("archive.zip", at: "tablet-docs/archive.zip")
        try await show("tablet", "device", "list")
        try await report("The archive, over the network,", Self.archiveByteCount, since: from, from: before)
        try say("\nAll of it worked.")
    }

    // MARK: pairing

    /// `pair --nearby` on both, as two people do it who look at both screens.
    private func pair() async throws {
        try say("laptop$ synctrain pair --nearby --folder docs")
        try say("tablet$ synctrain pair --nearby")
        let agents = try ["laptop": ["docs"], "tablet": []].map { name, folders in
            (name: name, folders: folders, agent: connect(try places(path("home-\(name)"))))
        }
        let (events, heard) = AsyncStream.makeStream(of: (String, PairEvent).self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, folders, agent) in agents {
                group.addTask {
                    try await agent.call(Endpoints.pair, PairRequest(folders: folders, seconds: 60)) {
                        heard.yield((name, $0))
                    }
                }
            }
            var isDialled = false
            var codes: [String: String] = [:]
            var paired: Set<String> = []
            for await (name, event) in events {
                switch event {
                case .nearby(let devices) where name == "tablet" && !isDialled:
                    guard let laptop = devices.first(where: { $0.name == "laptop" }) else { continue }
                    isDialled = true
                    let signal = laptop.signal.map { ", \($0) dBm" } ?? ""
                    try say("tablet: found laptop nearby (\(laptop.transport)\(signal)); dialling it.")
                    try await agents.first { $0.name == name }?.agent.call(
                        Endpoints.answerPairing, .dial(address: laptop.address))
                case .code(let code, _, _, _, _):
                    codes[name] = code
                    try say("\(name) shows \(code.prefix(3)) \(code.suffix(3)). Does the other one show the same?")
                    guard codes.count == agents.count else { continue }
                    guard Set(codes.values).count == 1 else {
                        throw ControlError(.pairingMismatch, "The two devices show different digits.")
                    }
                    try say("laptop: yes. tablet: yes.")
                    for (_, _, agent) in agents { try await agent.call(Endpoints.answerPairing, .confirm(code: code)) }
                case .paired(_, let other, _, _, _):
                    try say("\(name): paired with \(other).")
                    paired.insert(name)
                default: break
                }
                if paired.count == agents.count { break }
            }
            try await group.waitForAll()
        }
    }

    /// Where the laptop listens on the network.
    private func networkAddress() async throws -> String {
        let listening = try await connect(try places(path("home-laptop"))).call(Endpoints.status).listening
        guard let address = listening.first(where: { $0.hasPrefix("tcp://") }) else {
            throw ControlError(.failed, "The laptop listens on no network.")
        }
        return address
    }

    private func fetchWhileWalking(_ before: AirStatistics) async throws {
        let air = air
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // A third of the way.
                while try await air.statistics().total.streamBytes - before.total.streamBytes < Self.videoByteCount / 3
                {
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await air.setSignal(-120, of: "tablet")
                while try await air.statistics().openConnections > 0 { try await Task.sleep(for: .milliseconds(20)) }
                try await air.setSignal(-70, of: "tablet")
            }
            try await show("tablet", "fetch", "docs:video.mp4", "-o", path("video.mp4"))
            try await group.waitForAll()
        }
        try say("The link was lost and made again on the way.")
    }

    // MARK: the laptop's files

    /// The number of files.
    private func writeFolder() throws -> Int {
        let folder = directory.appending(path: "laptop-docs")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "letters"), withIntermediateDirectories: true)
        for number in 1...Self.letters {
            try pattern(number, Self.letterByteCount).write(to: folder.appending(path: "letters/letter \(number).txt"))
        }
        try pattern(1001, Self.photoByteCount).write(to: folder.appending(path: "photo.jpg"))
        try pattern(1002, Self.videoByteCount).write(to: folder.appending(path: "video.mp4"))
        try pattern(1003, Self.archiveByteCount).write(to: folder.appending(path: "archive.zip"))
        return Self.letters + 3
    }

    /// Bytes that do not compress.
    private func pattern(_ seed: Int, _ byteCount: Int) -> Data {
        var state = UInt64(seed)
        return Data(
            (0..<byteCount).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            })
    }

    private func compare(_ name: String, at place: String? = nil) throws {
        let sent = try Data(contentsOf: directory.appending(path: "laptop-docs/\(name)"))
        let received = try Data(contentsOf: directory.appending(path: place ?? name))
        guard SHA256.digest(Array(sent)) == SHA256.digest(Array(received)) else {
            throw ControlError(.failed, "\(name) differs on the two devices.")
        }
        try say("\(name) has the same SHA-256 on both.")
    }

    // MARK: agents

    private func path(_ name: String) -> String { directory.appending(path: name).path }

    private func id(of name: String) async throws -> String {
        try await run(name, ["id"]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private var variables: [String: String] {
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SYNCTRAIN") }
        variables["SYNCTRAIN_VIRTUAL_AIR"] = air.path
        return variables
    }

    /// As `agent start` does it, but as a child of this process, which can end it at any time.
    private func startAgent(_ name: String) async throws {
        try say("\(name)$ synctrain agent start")
        let places = try places(path("home-\(name)"))
        try await AgentProcess.start(places, connect: connect, timeout: .seconds(30), environment: variables) {
            processes.add($0)
        }
        try say(AgentProcess.Start.inBackground.text(places).replacingOccurrences(of: directory.path, with: "…"))
    }

    /// Runs a command and prints it with what it says.
    private func show(_ name: String, _ arguments: String...) async throws {
        let shown = arguments.map { $0.replacingOccurrences(of: directory.path, with: "…") }
        try say("\(name)$ synctrain \(shown.joined(separator: " "))")
        let output = try await run(name, arguments).replacingOccurrences(of: directory.path, with: "…")
        if !output.isEmpty { try say(output.trimmingCharacters(in: .newlines)) }
    }

    /// What a command says on both outputs. Throws `ControlError` if it fails.
    private func run(_ name: String, _ arguments: [String]) async throws -> String {
        let outputPath = path("output")
        try Data().write(to: URL(filePath: outputPath))
        let child = try AgentProcess.spawn(
            [try AgentProcess.executable(), "--home", path("home-\(name)")] + arguments, output: outputPath,
            logFile: outputPath, environment: variables)
        let status = try await ChildEnd.status(of: child)
        let text = try String(contentsOfFile: outputPath, encoding: .utf8)
        guard status == 0 else { throw ControlError(.failed, "\(arguments.joined(separator: " ")): \(text)") }
        return text
    }

    /// Until the tablet is offered the folder.
    private func wait(_ what: String, pending folder: String) async throws {
        let agent = connect(try places(path("home-tablet")))
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !agent.call(Endpoints.pending).folders.contains(where: { $0.id == folder }) {
            guard ContinuousClock.now < deadline else { throw ControlError(.timeout, "No sign of \(what).") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Until the tablet's status meets the condition.
    private func wait(_ what: String, until condition: (AgentStatus) -> Bool) async throws {
        let agent = connect(try places(path("home-tablet")))
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !condition(agent.call(Endpoints.status)) {
            guard ContinuousClock.now < deadline else { throw ControlError(.timeout, "No sign of \(what).") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Also in a cancelled task, which cannot run commands any more. What the agents have is removed, so they need not end by themselves.
    private func end() async {
        processes.kill()
        await air.close()
    }

    // MARK: figures

    private func report(
        _ what: String, _ byteCount: Int?, since start: ContinuousClock.Instant, from before: AirStatistics
    ) async throws {
        let now = try await air.statistics()
        let elapsed = ContinuousClock.now - start
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let carried = now.total.frameBytes - before.total.frameBytes
        var text = "→ \(what): \(Self.decimal(seconds)) s, \(Self.kilobytes(carried)) on the radio"
        if let byteCount {
            text += " for \(Self.kilobytes(byteCount)) of files"
            text += ", \(Self.decimal(Double(byteCount) / 1000 / seconds)) KB/s"
        }
        let repeated = now.total.repeatedPackets - before.total.repeatedPackets
        if repeated > 0 { text += "; \(repeated) of \(now.total.packets - before.total.packets) packets sent again" }
        let lost = now.lostConnections - before.lostConnections
        if lost > 0 { text += "; the link was lost \(lost == 1 ? "once" : "\(lost) times")" }
        try say(text + ".")
    }

    private static func words(for conditions: RadioConditions) -> String {
        let interval =
            Double(conditions.connectionInterval.components.attoseconds) / 1e15
            + Double(conditions.connectionInterval.components.seconds) * 1000
        return "The radio: \(conditions.phy == .oneMegabit ? 1 : 2) Mbit/s on the air, \(decimal(interval)) ms between "
            + "connection events, \(decimal(conditions.loss * 100)) % of the packets lost."
    }

    private static func decimal(_ number: Double) -> String { String(format: "%.1f", number) }
    private static func kilobytes(_ count: Int) -> String { "\(decimal(Double(count) / 1000)) KB" }
}

/// The agents of a demonstration, which are children of this process.
final class DemoProcesses {
    private var children: [pid_t] = []

    func add(_ child: pid_t) { children.append(child) }

    /// Ends them and returns when they have ended. One that had ended, and whose end somebody has waited for, is left alone: its number
    /// may be another's by now.
    func kill() {
        for child in children where waitpid(child, nil, WNOHANG) == 0 {
            _ = Glibc.kill(child, SIGKILL)
            while waitpid(child, nil, 0) == -1, errno == EINTR {}
        }
        children.removeAll()
    }
}
