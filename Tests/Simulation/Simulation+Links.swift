import BlockExchange
import SyncTestKit

@testable import FolderSync
@testable import SessionTestKit

/// What goes over the wires between agents, and when.
extension Simulation {
    /// More messages than this between two silences never end.
    private static let chatterLimit = 50_000
    /// What was announced waits for so long for what else is announced.
    private static let pause: Duration = .milliseconds(50)

    // MARK: wires

    func changeLink() async throws {
        let pairs = pairs.filter { $0.from < $0.to && agents[$0.from].isUp && agents[$0.to].isUp }
        guard !pairs.isEmpty else { return }
        // Most are there most of the time.
        let down = pairs.filter { !network.isUp($0) }
        let pair = generator.pick(down.isEmpty || generator.isOne(in: 4) ? pairs : down)
        let (from, to) = (agents[pair.from], agents[pair.to])
        if network.isUp(pair) {
            if weather.connections > 1, generator.isOne(in: 2) {
                trace.note("one link more")
                if generator.isOne(in: 4) { _ = try dial(from, to) } else { try await connect(from, to) }
            } else if generator.isOne(in: 3) {
                await cut(pair)
            }
        } else if generator.isOne(in: 4) {
            _ = try dial(from, to)
        } else {
            try await connect(from, to)
        }
    }

    /// Breaks all wires between two agents, or one of several. Some of what is on its way still arrives, up to any byte; the rest is lost, and both
    /// ends know that they are apart.
    func cut(_ pair: Network.Pair) async {
        var lines = network.lines.filter { $0.joins(pair) }
        if weather.connections > 1, !lines.isEmpty, generator.isOne(in: 2) { lines = [generator.pick(lines)] }
        let numbers = Set(lines.map(\.number))
        for lane in network.waiting where numbers.contains(lane.line.number) && generator.isOne(in: 2) {
            lane.line.wire.releaseBytes(generator.int(1...2000), from: lane.side)
        }
        for line in lines {
            trace.note("link \(pair.from)-\(pair.to) breaks")
            line.wire.cut()
        }
        network.prune()
        await executor.idle()
    }

    /// Gives both a new wire, on which nothing has arrived yet.
    func dial(_ left: SimulatedAgent, _ right: SimulatedAgent) throws -> Network.Line? {
        guard left.isUp, right.isUp else { return nil }
        let isSwapped = generator.isOne(in: 2)
        let (dialler, answerer) = isSwapped ? (right, left) : (left, right)
        let line = network.connect(dialler.number, answerer.number, trace)
        trace.note("link \(dialler.number)-\(answerer.number)")
        try dialler.serve(.dialler, of: line.wire, to: answerer.id)
        try answerer.serve(.answerer, of: line.wire, to: dialler.id)
        return line
    }

    /// Both tell what they have and what they know, and begin to send what the other lacks.
    func connect(_ left: SimulatedAgent, _ right: SimulatedAgent) async throws {
        guard let line = try dial(left, right) else { return }
        // A Hello, a config, and what either has to say of the other's, each way.
        for _ in 0..<2 {
            for side in MemoryWire.Side.allCases {
                await executor.idle()
                line.wire.releaseOne(side)
            }
        }
        await executor.idle()
    }

    // MARK: what arrives

    /// Returns when nobody can go on without something that arrives, or time.
    private func settled() async {
        repeat { await executor.idle() } while liar?.react() == true
    }

    func deliver() async {
        guard let lane = network.waiting.isEmpty ? nil : generator.pick(network.waiting) else { return }
        if generator.isOne(in: 2) { return await carry(lane.pair) }
        for _ in 0..<generator.int(1...3) {
            if generator.isOne(in: 4) {
                lane.line.wire.releaseBytes(generator.int(1...300), from: lane.side)
            } else {
                lane.line.wire.releaseOne(lane.side)
            }
        }
        await executor.idle()
    }

    /// Lets all that one agent has to say to another arrive.
    func carry(_ pair: Network.Pair) async { await carry { $0.pair == pair } }

    /// Lets all that anybody has to say arrive, until nobody says anything any more.
    func carry() async { await carry { _ in true } }

    private func carry(_ isMeant: (Network.Lane) -> Bool) async {
        var pauses = 0
        for _ in 0..<Self.chatterLimit {
            await settled()
            if let lane = network.waiting.first(where: isMeant) {
                lane.line.wire.releaseOne(lane.side)
                pauses = 0
            } else if pauses < 2 {
                time.advance(by: Self.pause)
                pauses += 1
            } else {
                return network.prune()
            }
        }
        trace.violate("the agents never fall silent")
    }

    /// Lets time pass while everything arrives at once.
    func pass(_ duration: Duration) async {
        let end = time.now + duration
        await executor.idle()
        while let wake = time.nextWake, wake <= end {
            time.advance(by: wake - time.now)
            await executor.idle()
            while let lane = network.waiting.first {
                lane.line.wire.releaseOne(lane.side)
                await executor.idle()
            }
        }
        time.advance(by: end - time.now)
        network.prune()
        await executor.idle()
    }

    /// Both ends of each pair use the same links, and have the indexes on the same one.
    func checkLinks() async -> [String] {
        await pass(.seconds(60))
        return pairs.filter { $0.from < $0.to }.compactMap { pair in
            let (left, right) = (agents[pair.from], agents[pair.to])
            let (leftLinks, rightLinks) = (left.links(to: right), right.links(to: left))
            if !leftLinks.isEmpty, leftLinks == rightLinks { return nil }
            return "\(pair.from) uses \(leftLinks) with \(pair.to), which uses \(rightLinks)"
        }
    }

    // MARK: while an agent does something

    /// Lets what a step waits for arrive until it has ended.
    func carry(until step: Task<Void, Never>) async {
        let isDone = Flag()
        let watcher = Task(executorPreference: executor) {
            await step.value
            isDone.set()
        }
        for _ in 0..<Self.chatterLimit {
            await settled()
            if isDone.isSet { return }
            if Task.isCancelled { break }
            if let lane = nextLane() {
                await arrive(lane)
            } else if let wake = time.nextWake {
                time.advance(by: max(.zero, wake - time.now))
            } else {
                trace.violate("an agent waits for nothing")
                break
            }
        }
        if !isDone.isSet, !Task.isCancelled { trace.violate("an agent never ends what it does") }
        step.cancel()
        await watcher.value
    }

    /// Blocks and requests for them go before most of what else waits.
    private func nextLane() -> Network.Lane? {
        let waiting = network.waiting
        guard !waiting.isEmpty else { return nil }
        let blocks = waiting.filter { lane in
            lane.waitingTypes.contains { $0 == Frame.request || $0 == Frame.response }
        }
        return generator.pick(blocks.isEmpty || generator.isOne(in: 16) ? waiting : blocks)
    }

    private func arrive(_ lane: Network.Lane) async {
        if lane.waitingTypes.first == Frame.request {
            await interrupt(lane.pair)
        } else if weather.cuts, !isQuiet, generator.isOne(in: 30) {
            return lane.line.wire.releaseBytes(generator.int(1...100_000), from: lane.side)
        }
        lane.line.wire.releaseOne(lane.side)
    }

    /// What else may happen while a file is fetched: it takes as long as it takes.
    ///
    /// - Parameter pair: who asks whom.
    private func interrupt(_ pair: Network.Pair) async {
        guard !isQuiet, !isInterrupted, pair.from != liar?.number, pair.to != liar?.number else { return }
        isInterrupted = true
        defer { isInterrupted = false }
        if weather.cuts, generator.isOne(in: 20) { return await cut(pair) }
        guard weather.interruptions else { return }
        let agent = agents[generator.isOne(in: 3) ? pair.to : pair.from]
        switch generator.int(0...9) {
        case 0, 1: await actAsUser(of: agent, isByHand: true)
        case 2:
            guard let folder = agent.process?.folder else { return }
            trace.note("agent \(agent.number) looks meanwhile")
            let look = Task(executorPreference: executor) {
                _ = try? await folder.runner.perform(ScanStep(paths: nil))
            }
            await carry(until: look)
            hideRealTimes(agent)
        default: break
        }
    }
}
