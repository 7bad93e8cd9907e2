import AgentConfiguration
import BlockExchange
import Cryptography
import FileAccess
import Foundation
import IndexStore
import Reconciliation
import Selection
import SyncTestKit

@testable import AgentContext
@testable import AsyncTools
@testable import Fetching
@testable import FolderSync
@testable import SessionTestKit
@testable import SyncDecisions

/// A few agents with real folders, indexes, files and sessions, their users, and the wires between them. All that happens
/// follows from a seed: one thing at a time, on one thread, and what is next is drawn.
actor Simulation {
    /// What may go wrong.
    struct Weather: Sendable {
        var kills = false
        var powerLoss = false
        var diskFaults = false
        /// Users and looks at the disk come between two blocks of a file.
        var interruptions = false
        /// Links break between two blocks of a file.
        var cuts = false
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
        /// Users pause folders and devices, share folders no longer and again, and restart agents.
        var sharing = false
        /// A device that everybody shares the folder with lies.
        var hasLiar = false
        /// Files that an agent fetches at the same time.
        var filesAtOnce = 1
        /// How many links two agents want with each other.
        var connections = 1
        /// Everybody frees space all the time, also unattended, in groups that are apart and meet.
        var frees = false
        /// Disks are brought back from backups, each with its index.
        var restores = false
        /// Users make files where others make directories.
        var collides = false
        /// What some agents' disks make of names, by the agent's number; users make names that are one there.
        var folding: [Int: FoldedNames] = [:]
        /// Agents give one of two files another name whose names are one to their disk.
        var renamesClashes = false
        /// What no disk makes durable, whatever it says; then something must be found wrong.
        var forgetting: FaultyDisk.Forgetting?

        /// Every seed has its own.
        init(seed: UInt64) {
            kills = seed % 3 > 0
            powerLoss = seed % 3 == 2
            diskFaults = seed % 4 == 3
            interruptions = seed % 5 > 1
            cuts = true
            if seed % 4 == 1 { groups = ["**/{a.txt,b}"] }
            sharing = seed % 5 != 0
            hasLiar = seed % 7 == 2
            filesAtOnce = seed % 2 == 0 ? 1 : 4
            connections = seed % 3 == 0 ? 3 : 1
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

        /// As for every seed, but users do little else than free space.
        init(freeing seed: UInt64) {
            self.init(seed: seed)
            frees = true
            stepCount = 220
            restores = seed % 2 == 0
            if restores { (powerLoss, diskFaults) = (false, false) }
            (sharing, groups) = (false, [])
            // Who says that it has a file is believed while it is away: the device that lies is asked.
            hasLiar = seed % 5 == 2
        }

        /// As for every seed, but everything is kept, and users make files where others make directories.
        init(collisions seed: UInt64) {
            self.init(seed: seed)
            (selections, collides) = (false, true)
            (groups, hasLiar) = ([], false)
        }

        /// As for every seed, but everything is kept, and the second disk, of some seeds also the third, takes names that differ in
        /// case, or in how their letters are composed, for one.
        init(folding seed: UInt64) {
            self.init(seed: seed)
            let kinds = [
                FoldedNames(), FoldedNames(normalizes: false), FoldedNames(foldsCase: false), FoldedNames(),
            ]
            folding[1] = kinds[Int(seed % 4)]
            if seed % 5 == 0 { folding[2] = FoldedNames() }
            selections = false
            (groups, hasLiar) = ([], false)
        }

        /// As for every seed, on disks that say of something that it is durable when it is not.
        init(seed: UInt64, forgetting: FaultyDisk.Forgetting) {
            self.init(seed: seed)
            self.forgetting = forgetting
        }

        /// The same, and agents give one of two files another name.
        init(clashes seed: UInt64) {
            self.init(folding: seed)
            renamesClashes = true
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
    let trace: Trace
    let time = VirtualTime()
    let executor: SerialTaskExecutor
    let weather: Weather
    let home: String
    var generator: SeededGenerator
    var network = Network()
    var sharing = Sharing()
    /// A device that lies, for as long as the others know it.
    var liar: Liar?
    var ledger = Ledger()
    var notes = NoteLedger()
    private(set) var agents: [SimulatedAgent] = []
    /// Everything works, and nobody changes anything any more.
    var isQuiet = false
    var isInterrupted = false
    /// Whether the readers have become writers.
    var hasReleasedReaders = false
    /// Those that were changed, by agent.
    var modes: [Int: FolderConfiguration.Mode] = [:]
    /// Watchers see nothing.
    var isUnseen = false

    private init(seed: UInt64, weather: Weather, executor: SerialTaskExecutor) throws {
        self.seed = seed
        trace = Trace(seed: seed)
        self.weather = weather
        self.executor = executor
        generator = SeededGenerator(seed: seed)
        home = try Self.makeDirectory()
    }

    /// Runs all of one seed, and says what is wrong in the end.
    static func run(seed: UInt64, weather: Weather? = nil) async throws -> Outcome {
        try await SerialTaskExecutor.run { executor in
            try await Simulation(seed: seed, weather: weather ?? Weather(seed: seed), executor: executor).run()
        }
    }

    /// Runs `body` with agents that nobody else touches; for tests of one course of events.
    static func run(
        seed: UInt64, weather: Weather, _ body: @escaping @Sendable (isolated Simulation) async throws -> Void
    ) async throws {
        try await SerialTaskExecutor.run { executor in
            try await Simulation(seed: seed, weather: weather, executor: executor).run(body)
        }
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

    private func run() async throws -> Outcome {
        defer { try? FileManager.default.removeItem(atPath: home) }
        try await prepare()
        for pair in pairs where pair.from < pair.to && !generator.isOne(in: 3) {
            try await connect(agents[pair.from], agents[pair.to])
        }
        for _ in 0..<weather.stepCount { try await step() }
        // What is not durable by now, though an index says that it is there, is not seen otherwise.
        for agent in agents where weather.powerLoss && agent.isUp {
            agent.disk.kill(.powerLost)
            await bury(agent)
        }
        trace.note("quiet")
        isQuiet = true
        try await banishLiar()
        try await shareAll()
        var problems = try await settle()
        if problems.isEmpty, !weather.readers.isEmpty { problems += try await releaseReaders() }
        if weather.restores {
            // A name that a restored index says nothing of may be asked for in vain; what was written is there all the same.
            problems = checkContents(agents.map { $0.files.tree() })
        } else if problems.isEmpty {
            problems += try await check() + checkNotes()
        }
        if problems.isEmpty { problems += await checkLinks() }
        problems = trace.violations + problems
        await leave()
        return Outcome(seed: seed, hash: trace.hash, lines: trace.lines, problems: problems)
    }

    private func run(_ body: @Sendable (isolated Simulation) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(atPath: home) }
        try await prepare()
        do {
            try await body(self)
        } catch {
            await leave()
            throw error
        }
        await leave()
    }

    /// Makes the agents and starts them.
    private func prepare() async throws {
        for number in 0..<generator.int(weather.agentCount) {
            let skew = generator.isOne(in: 3) ? 0 : Int64(generator.int(-20_000...20_000))
            let agent = try SimulatedAgent(
                number: number, seed: generator.next(), home: "\(home)/\(number)", folding: weather.folding[number],
                time: time, skew: skew, executor: executor, trace: trace)
            agent.disk.forgetting = weather.forgetting
            agents.append(agent)
            if weather.frees {
                selectEverything(agent)
            } else if weather.selections, number > 0, !generator.isOne(in: 4) {
                writeIgnoreFile(agent)
            }
            trace.note("agent \(number), clock \(skew)")
        }
        if weather.hasLiar {
            liar = Liar(
                number: agents.count, seed: generator.next(), claimsToHave: weather.frees)
        }
        for agent in agents { try await start(agent) }
    }

    /// Ends all processes.
    private func leave() async {
        for line in network.lines { line.wire.cut() }
        for agent in agents { await agent.drop() }
        agents = []
        await executor.idle()
    }

    // MARK: one step

    private func step() async throws {
        time.advance(by: .milliseconds(generator.int(1...20_000)))
        await executor.idle()
        try lie()
        let agent = generator.pick(agents)
        if weather.frees {
            switch generator.int(0...59) {
            case 0...1: return await part()
            case 4...5: return try await backUpOrRestore(agent)
            case 6: return time.advance(by: .seconds(20 * 86_400))
            case 7...9: return try await meet()
            default: break
            }
        }
        switch generator.int(0...103) {
        case 0..<26: await actAsUser(of: agent)
        case 26..<54: try await work(busyAgent)
        case 54..<58: try await race()
        case 58..<80: await deliver()
        case 80..<90: try await changeLink()
        case 90..<93: weatherDisk(agent)
        case 93..<99: try await endProcess(of: busyAgent)
        case 99..<103: try await changeSharing(of: agent)
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
        guard !sharing.pausedFolders.contains(agent.number) else { return }
        for _ in 0..<generator.int(1...3) {
            let (trace, number) = (trace, agent.number)
            trace.note("agent \(number) works")
            let before = weather.frees ? contents(agent) : []
            agent.selectionChanged()
            let selection = agent.selection
            await inProcess(of: agent) { process in
                let isDone = await process.folder.runner.performDue()
                if !isDone { trace.note("agent \(number): nothing is due") }
            }
            await checkKeptFree(before, selection, agent)
            guard agent.isUp else { return }
        }
    }

    /// Runs `body` in the agent's process, and buries it if it died.
    func inProcess(of agent: SimulatedAgent, _ body: @escaping @Sendable (SimulatedAgent.Process) async -> Void) async {
        await noteGroups(agent)
        await supersedeWhatNobodyAnnounces(to: agent)
        await supersedeWhatWasWrittenOver(by: agent)
        if let step = agent.begin(body) { await carry(until: step) }
        agent.endStep()
        agent.noteAppliedSelection()
        recordNoteFile(of: agent)
        await checkGroups(agent)
        if agent.disk.isDead { await bury(agent) }
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
        try await agent.start(
            rules(agent.number), peers: (agents.map(\.id) + [liar?.id].compactMap(\.self)).filter { $0 != agent.id },
            connections: weather.connections, filesAtOnce: weather.filesAtOnce)
        agent.lostClaims.forEach(trace.violate)
        noteLoss(of: agent)
        hideRealTimes(agent)
    }

    func rules(_ number: Int) -> FolderConfiguration {
        var rules = FolderConfiguration(
            id: SimulatedAgent.folder, path: "", mode: mode(of: number), devices: sharers(of: number),
            isPaused: sharing.pausedFolders.contains(number), rescanInterval: 0, isWatched: false,
            groups: weather.groups, minimumFree: .byteCount(0),
            versions: weather.versions.indices.contains(number) ? weather.versions[number] : FolderVersions(),
            conflicts: weather.conflicts.indices.contains(number) ? weather.conflicts[number] : FolderConflicts())
        if weather.renamesClashes { rules.caseClash = .rename }
        if weather.frees {
            if number % 2 == 0 || seed % 3 == 0 { rules.keepFree = .byteCount(.max / 4) }
            if weather.hasLiar { rules.copiesMaximumAgeDays = 0 }
        }
        if !hasReleasedReaders {
            rules.readers = agents.filter { weather.readers.contains($0.number) && $0.number != number }.map(\.id)
        }
        return rules
    }

    /// What a process that died had sent may still arrive, or not.
    private func bury(_ agent: SimulatedAgent) async {
        trace.note("agent \(agent.number) died")
        for line in network.lines(of: agent.number) {
            if generator.isOne(in: 2) { line.wire.cut() } else { line.wire.end(line.side(of: agent.number)) }
        }
        await agent.drop()
        await executor.idle()
        network.prune()
    }

    private func endProcess(of agent: SimulatedAgent) async throws {
        guard weather.kills, agent.isUp else { return }
        let end: FaultyDisk.End = weather.powerLoss && !generator.isOne(in: 4) ? .powerLost : .killed
        if generator.isOne(in: 3) {
            agent.disk.kill(end)
            return await bury(agent)
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
}
