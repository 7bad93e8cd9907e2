import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import NIOCore
import NIOPosix
import Reconciliation
import Selection
import SyncTestKit

@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SyncDecisions

/// A few agents with real folders, indexes and files, their users, and the links between them. All that happens follows
/// from a seed: one thing at a time, and what is next is drawn.
actor Simulation {
    /// What may go wrong.
    struct Weather: Sendable {
        var kills = false
        var powerLoss = false
        var diskFaults = false
        /// Users and looks at the disk come between two blocks of a file.
        var interruptions = false
        /// Not all agents keep everything.
        var selections = true
        var stepCount = 130
        var agentCount = 2...4
        /// What each agent's folder is set to, by the agent's number.
        var versions: [FolderVersions] = []
        var conflicts: [FolderConflicts] = []
        /// Users settle conflicts and bring versions back.
        var settles = false
        /// Which files all agents take for groups.
        var groups: [String] = []
        /// Agents whose changes the others refuse until the end.
        var readers: Set<Int> = []
        /// Users note things of files.
        var hasNotes = false

        /// Every seed has its own.
        init(seed: UInt64) {
            kills = seed % 3 > 0
            powerLoss = seed % 3 == 2
            diskFaults = seed % 4 == 3
            interruptions = seed % 5 > 1
            if seed % 4 == 1 { groups = ["**/{a.txt,b}"] }
        }

        /// Nothing goes wrong, and everything is kept.
        init(agentCount: Int) {
            selections = false
            self.agentCount = agentCount...agentCount
        }

        /// As for every seed, and the second agent may only read.
        init(readers seed: UInt64) {
            self.init(seed: seed)
            readers = [1]
        }

        /// As for every seed, and users note things of files.
        init(notes seed: UInt64) {
            self.init(seed: seed)
            hasNotes = true
        }

        /// As for every seed, and all have archives and policies of their own.
        init(policies seed: UInt64) {
            self.init(seed: seed)
            var generator = SeededGenerator(seed: seed &+ 77)
            settles = true
            versions = (0..<4).map { _ in
                // Nothing goes that is looked for in the end.
                FolderVersions(kind: .simple, keep: 10_000)
            }
            let policies: [FolderConflicts.Policy] = [.newest, .mine, .theirs, .both]
            conflicts = (0..<4).map { _ in
                FolderConflicts(policy: generator.pick(policies), deletedPolicy: generator.pick(policies))
            }
        }
    }

    struct Outcome: Sendable {
        var seed: UInt64
        var hash: String
        var lines: [String]
        var problems: [String]
    }

    let seed: UInt64
    let trace = Trace()
    let time = VirtualTime()
    let network = Network()
    let weather: Weather
    let home: String
    var generator: SeededGenerator
    var ledger = Ledger()
    var notes = NoteLedger()
    private(set) var agents: [SimulatedAgent] = []
    /// Everything works, and nobody changes anything any more.
    var isQuiet = false
    private var isInterrupted = false
    /// Whether the readers have become writers.
    var hasReleasedReaders = false
    /// Watchers see nothing.
    var isUnseen = false

    init(seed: UInt64, weather: Weather? = nil) throws {
        self.seed = seed
        self.weather = weather ?? Weather(seed: seed)
        generator = SeededGenerator(seed: seed)
        home = try Self.makeDirectory()
    }

    /// In memory where there is such a file system: nothing is to be durable.
    private static func makeDirectory() throws -> String {
        let places = [ProcessInfo.processInfo.environment["SYNCTRAIN_SIMULATION_DIRECTORY"], "/dev/shm"]
        let place = places.compactMap { $0 }.first { access($0, W_OK) == 0 } ?? NSTemporaryDirectory()
        var template = Array("\(place)/synctrain-simulation-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Runs all of it, and says what is wrong in the end.
    func run() async throws -> Outcome {
        defer { try? FileManager.default.removeItem(atPath: home) }
        try await prepare()
        for pair in pairs where pair.from < pair.to && !generator.isOne(in: 3) {
            try await connect(agents[pair.from], agents[pair.to])
        }
        for _ in 0..<weather.stepCount { try await step() }
        // What is not durable by now, though an index says that it is there, is not seen otherwise.
        for agent in agents where weather.powerLoss && agent.isUp {
            agent.disk.kill(.powerLost)
            bury(agent)
        }
        trace.note("quiet")
        isQuiet = true
        var problems = try await settle()
        if problems.isEmpty, !weather.readers.isEmpty { problems += try await releaseReaders() }
        if problems.isEmpty { problems += try await check() + checkNotes() }
        problems = trace.violations + problems
        leave()
        return Outcome(seed: seed, hash: trace.hash, lines: trace.lines, problems: problems)
    }

    /// Runs `body` with agents that nobody else touches; for tests of one course of events.
    func run(_ body: @Sendable (isolated Simulation) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(atPath: home) }
        try await prepare()
        try await body(self)
        leave()
    }

    /// Makes the agents and starts them.
    private func prepare() async throws {
        for number in 0..<generator.int(weather.agentCount) {
            let skew = generator.isOne(in: 3) ? 0 : Int64(generator.int(-20_000...20_000))
            let agent = try SimulatedAgent(
                number: number, seed: generator.next(), home: "\(home)/\(number)", time: time, skew: skew, trace: trace)
            agents.append(agent)
            if weather.selections, number > 0, !generator.isOne(in: 4) { writeIgnoreFile(agent) }
            trace.note("agent \(number), clock \(skew)")
        }
        for agent in agents { try await start(agent) }
    }

    /// Ends all processes.
    private func leave() {
        for agent in agents { agent.drop() }
        agents = []
    }

    // MARK: one step

    private func step() async throws {
        time.advance(by: .milliseconds(generator.int(1...20_000)))
        network.prefer(generator.int(0...11))
        let agent = generator.pick(agents)
        switch generator.int(0...99) {
        case 0..<26: await actAsUser(of: agent)
        case 26..<54: try await work(busyAgent)
        case 54..<58: try await race()
        case 58..<80: try await deliver()
        case 80..<90: try await changeLink()
        case 90..<93: weatherDisk(agent)
        case 93..<99: try await endProcess(of: busyAgent)
        default:
            let skew = Int64(generator.int(-10_000...10_000))
            agent.skewClock(by: skew)
            trace.note("agent \(agent.number): clock moved by \(skew)")
        }
    }

    /// One that has something to do, if there is one.
    private var busyAgent: SimulatedAgent {
        let busy = agents.filter { agent in
            agent.process.map { $0.folder.boards.inbox.hasWork } ?? true
        }
        return generator.pick(busy.isEmpty ? agents : busy)
    }

    /// Lets an agent do what is due.
    func work(_ agent: SimulatedAgent) async throws {
        guard agent.isUp else { return try await start(agent) }
        for _ in 0..<generator.int(1...3) {
            let (trace, number) = (trace, agent.number)
            trace.note("agent \(number) works")
            await inProcess(of: agent) { process in
                let isDone = await process.folder.runner.performDue()
                if !isDone { trace.note("agent \(number): nothing is due") }
            }
            guard agent.isUp else { return }
        }
    }

    /// Runs `body` in the agent's process, and buries it if it died.
    func inProcess(of agent: SimulatedAgent, _ body: @escaping @Sendable (SimulatedAgent.Process) async -> Void) async {
        await noteGroups(agent)
        await agent.run(body)
        agent.noteAppliedSelection()
        recordNoteFile(of: agent)
        await checkGroups(agent)
        if agent.disk.isDead { bury(agent) }
        hideRealTimes(agent)
        if let process = agent.process {
            let halt = process.folder.boards.status.snapshot.halt?.reason.rawValue
            let own = try? await process.index.localIndex(of: SimulatedAgent.folder).maxSequence
            trace.note("agent \(agent.number): sequence \(own ?? -1)\(halt.map { ", \($0)" } ?? "")")
        }
    }

    func hideRealTimes(_ agent: SimulatedAgent) {
        let wall = agent.wall
        agent.files.hideRealTimes(FileTime(seconds: wall.seconds, nanoseconds: wall.nanoseconds))
    }

    // MARK: processes

    func start(_ agent: SimulatedAgent) async throws {
        trace.note("agent \(agent.number) starts")
        let number = agent.number
        let environment = FetchEnvironment(
            sessions: { [network, agents] ids in
                let candidates = ids.compactMap { id in agents.first { $0.id == id && $0.isUp }?.number }
                guard let choice = network.choice(for: number, among: candidates) else { return [:] }
                return [agents[choice].id: SimulatedSource(simulation: self, pair: .init(from: choice, to: number))]
            },
            linksChanged: { AsyncStream { _ in } }, dialNow: { _ in }, localBlock: { _ in nil },
            budget: Budget(limit: 64 << 20), threads: NIOThreadPool.singleton, time: agent.agentTime,
            settings: BlockScheduler.Settings(
                windowByteCount: 1, windowRequestCount: 1, minimumPatience: .seconds(1 << 40)),
            firstHolderPatience: .zero, lostHolderPatience: .zero)
        try await agent.start(
            environment,
            rules: rules(number))
        // What a disk that fails has not made durable, a later look takes for what it finds.
        if !weather.diskFaults { agent.lostClaims.forEach(trace.violate) }
        hideRealTimes(agent)
    }

    private func rules(_ number: Int) -> FolderConfiguration {
        var rules = FolderConfiguration(
            id: SimulatedAgent.folder, path: "", mode: .full, devices: agents.map(\.id), rescanInterval: 0,
            isWatched: false, groups: weather.groups, minimumFree: .byteCount(0),
            versions: weather.versions.indices.contains(number) ? weather.versions[number] : FolderVersions(),
            conflicts: weather.conflicts.indices.contains(number) ? weather.conflicts[number] : FolderConflicts())
        if !hasReleasedReaders {
            rules.readers = agents.filter { weather.readers.contains($0.number) && $0.number != number }.map(\.id)
        }
        return rules
    }

    private func bury(_ agent: SimulatedAgent) {
        trace.note("agent \(agent.number) died")
        for other in agents { cut(.init(from: agent.number, to: other.number)) }
        agent.drop()
    }

    private func endProcess(of agent: SimulatedAgent) async throws {
        guard weather.kills, agent.isUp else { return }
        let end: FaultyDisk.End = weather.powerLoss && !generator.isOne(in: 4) ? .powerLost : .killed
        if generator.isOne(in: 3) {
            agent.disk.kill(end)
            return bury(agent)
        }
        let count = generator.int(0...25)
        trace.note("agent \(agent.number): will be \(end) after \(count)")
        agent.disk.plan(end, after: count)
        try await work(agent)
    }

    private func weatherDisk(_ agent: SimulatedAgent) {
        guard weather.diskFaults else { return }
        agent.disk.condition =
            agent.disk.condition != .healthy
            ? .healthy : generator.isOne(in: 2) ? .full : .failing(oneIn: generator.int(2...10))
        trace.note("agent \(agent.number): disk \(agent.disk.condition)")
    }

    // MARK: links

    private func changeLink() async throws {
        let pairs = pairs.filter { $0.from < $0.to && agents[$0.from].isUp && agents[$0.to].isUp }
        guard !pairs.isEmpty else { return }
        // Most are there most of the time.
        let down = pairs.filter { !network.isUp($0) }
        let pair = generator.pick(down.isEmpty || generator.isOne(in: 4) ? pairs : down)
        let (from, to) = (agents[pair.from], agents[pair.to])
        if network.isUp(pair) {
            guard generator.isOne(in: 3) else { return }
            trace.note("link \(pair.from)-\(pair.to) breaks")
            cut(pair)
        } else {
            try await connect(from, to)
        }
    }

    /// Breaks a link: what is on its way is lost, and both ends know that they are apart.
    func cut(_ pair: Network.Pair) {
        network.cut(pair)
        for (agent, other) in [(pair.from, pair.to), (pair.to, pair.from)] {
            agents[agent].process?.folder.exchange.linkEnded(with: agents[other].id)
        }
    }

    /// Both tell what they have and what they know, and begin to send what the other lacks.
    func connect(_ left: SimulatedAgent, _ right: SimulatedAgent) async throws {
        guard let leftProcess = left.process, let rightProcess = right.process else { return }
        let fromLeft = try await leftProcess.folder.exchange.clusterConfigEntry(for: right.id, localDevice: left.id)
        let fromRight = try await rightProcess.folder.exchange.clusterConfigEntry(for: left.id, localDevice: right.id)
        let toRight = try await exchange(leftProcess, of: left, hearing: fromRight, from: right)
        let toLeft = try await exchange(rightProcess, of: right, hearing: fromLeft, from: left)
        trace.note("link \(left.number)-\(right.number) from \(toRight.after) and \(toLeft.after)")
        network.set(
            .init(from: left.number, to: right.number),
            Network.Feed(position: toRight.after, isFull: toRight.isWhole))
        network.set(
            .init(from: right.number, to: left.number),
            Network.Feed(position: toLeft.after, isFull: toLeft.isWhole))
        leftProcess.folder.boards.inbox.pullEverything()
        rightProcess.folder.boards.inbox.pullEverything()
    }

    /// An agent hears what another shares; gives what it sends from then on.
    private func exchange(
        _ process: SimulatedAgent.Process, of agent: SimulatedAgent, hearing offered: ClusterConfig.Folder,
        from other: SimulatedAgent
    ) async throws -> IndexExchange.Feed {
        let folder = process.folder.exchange
        let facts = try await folder.facts(of: other.id)
        var exchange = IndexExchange(local: agent.id, peer: other.id)
        exchange.share([folder.id: .open])
        for action in try exchange.heard(ClusterConfig(folders: [offered]), [folder.id: facts]) {
            guard case .settle(let settlement) = action else { continue }
            try await folder.settle(settlement, with: other.id, mode: PeerMode(settlement.mode, client: "synctrain"))
        }
        exchange.performed()
        return exchange.feed(of: folder.id) ?? IndexExchange.Feed(indexID: facts.own.indexID, after: 0)
    }

    private func deliver() async throws {
        let pairs = pairs.filter { network.isUp($0) }
        guard !pairs.isEmpty else { return }
        let pair = generator.pick(pairs)
        if generator.isOne(in: 2) {
            while try await send(pair, limit: 100) {}
            while try await receive(pair) {}
            return
        }
        if !generator.isOne(in: 3) { try await send(pair, limit: generator.int(1...20)) }
        if !generator.isOne(in: 3) { try await receive(pair) }
    }

    /// Puts the next page of an index on its way. False if there is none.
    @discardableResult
    func send(_ pair: Network.Pair, limit: Int) async throws -> Bool {
        guard let feed = network.feed(pair), let process = agents[pair.from].process else { return false }
        let page = try await process.folder.exchange.updates(after: feed.position, limit: limit)
        guard let last = page.last?.sequence else { return false }
        let batch = IndexBatch(
            folder: SimulatedAgent.folder, files: page, isFullIndex: feed.isFull, lastSequence: last,
            previousSequence: feed.position)
        network.update(pair) { feed in
            feed.position = last
            feed.isFull = false
            feed.waiting.append(batch)
        }
        return true
    }

    /// Takes in what arrives next. False if nothing is on its way.
    @discardableResult
    func receive(_ pair: Network.Pair) async throws -> Bool {
        guard let batch = network.feed(pair)?.waiting.first, let process = agents[pair.to].process else { return false }
        network.update(pair) { $0.waiting.removeFirst() }
        try await process.folder.exchange.apply(batch, from: agents[pair.from].id)
        let words = batch.files.map { file in
            "\(file.name)\(file.isDeleted ? " gone" : "")\(file.isInvalid ? " invalid" : "") \(file.version)"
        }
        trace.noteChange("\(pair.from) tells \(pair.to): \(words.joined(separator: "; "))")
        return true
    }

    /// A block that one agent asks of another.
    func request(_ request: BlockRequest, over pair: Network.Pair) async throws -> ByteBuffer {
        await interrupt(pair)
        guard network.isUp(pair), let process = agents[pair.from].process else {
            trace.note("    \(pair.to): \(request.name) at \(request.offset) from \(pair.from): the link is gone")
            throw RequestError.linkLost
        }
        let answer = await process.folder.server.serve([request])[0]
        trace.note("    \(pair.to): \(request.name) at \(request.offset) from \(pair.from): \(answer.code)")
        guard answer.code == .ok else { throw RequestError.refused(answer.code) }
        return answer.data
    }

    /// What else may happen while a file is fetched: it takes as long as it takes.
    private func interrupt(_ pair: Network.Pair) async {
        guard !isQuiet, !isInterrupted else { return }
        isInterrupted = true
        defer { isInterrupted = false }
        if generator.isOne(in: 20) {
            trace.note("link \(pair.from)-\(pair.to) breaks")
            return cut(pair)
        }
        guard weather.interruptions else { return }
        let agent = agents[generator.isOne(in: 3) ? pair.from : pair.to]
        switch generator.int(0...9) {
        case 0, 1: await actAsUser(of: agent, isByHand: true)
        case 2:
            guard let folder = agent.process?.folder else { return }
            trace.note("agent \(agent.number) looks meanwhile")
            _ = try? await folder.runner.perform(ScanStep(paths: nil))
            hideRealTimes(agent)
        default: break
        }
    }
}
