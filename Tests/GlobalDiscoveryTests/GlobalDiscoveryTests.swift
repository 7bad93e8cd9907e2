import BlockExchange
import GlobalDiscovery
import HTTPExchange
import NIOCore
import SyncTestKit
import Synchronization
import Testing

/// Discovery servers in memory: they keep what is announced, and answer as told.
private final class Servers: Sendable {
    struct Request: Equatable, Sendable {
        var server: String
        var text: String
        var hasIdentity: Bool
    }

    private struct State {
        var requests: [Request] = []
        var answers: [String: HTTPAnswer] = [:]
        var gates: [String: AsyncStream<Void>] = [:]
        /// How many requests are under way, and the most that were.
        var running = 0
        var peak = 0
    }

    private let state = Mutex(State())

    var requests: [Request] { state.withLock { $0.requests } }
    var peak: Int { state.withLock { $0.peak } }

    /// What the server of this host answers from now on; nil lets every connection fail.
    func set(_ host: String, _ answer: HTTPAnswer?) { state.withLock { $0.answers[host] = answer } }

    /// Holds the answers of this host until the stream ends.
    func hold(_ host: String, until gate: AsyncStream<Void>) { state.withLock { $0.gates[host] = gate } }

    func exchange(_ request: HTTPRequest, _ server: DiscoveryServer, _ hasIdentity: Bool) async throws -> HTTPAnswer {
        let (answer, gate) = state.withLock { state in
            let text = request.method == .post ? String(buffer: request.body) : request.url.query ?? ""
            state.requests.append(Request(server: server.url.host, text: text, hasIdentity: hasIdentity))
            state.running += 1
            state.peak = max(state.peak, state.running)
            return (state.answers[server.url.host], state.gates[server.url.host])
        }
        defer { state.withLock { $0.running -= 1 } }
        if let gate { for await _ in gate {} }
        try Task.checkCancellation()
        guard let answer else {
            throw HTTPExchangeError(.unreachable, "\(server.url.host) is gone; try again", isTransient: true)
        }
        return answer
    }
}

private func json(_ addresses: String...) -> HTTPAnswer {
    HTTPAnswer(
        status: 200,
        body: ByteBuffer(string: #"{"seen":"2026-11-22T15:15:00Z","addresses":\#(addresses.description)}"#))
}

private let gone = HTTPAnswer(status: 404, fields: [HTTPField("Retry-After", "1800")])
private let accepted = HTTPAnswer(status: 204, fields: [HTTPField("Reannounce-After", "3400")])

@Suite(.timeLimit(.minutes(1))) struct GlobalDiscoveryTests {
    private let servers = Servers()
    private let clock = ManualClock()
    private let a = device(1)

    private func discovery(
        _ urls: [String], announced: @escaping @Sendable () -> [String] = { ["tcp://0.0.0.0:22000"] }
    ) throws -> GlobalDiscovery {
        let servers = servers
        return GlobalDiscovery(
            servers: try DiscoveryServer.list(urls), exchange: { try await servers.exchange($0, $1, $2) }, clock: clock,
            jitter: { 0 }, announced: announced)
    }

    /// Runs `body` beside the discovery, and gives what it reported.
    private func running(
        _ discovery: GlobalDiscovery, found: @escaping @Sendable (DeviceID) async -> Void = { _ in },
        _ body: (inout AsyncStream<GlobalDiscoveryEvent>.Iterator) async throws -> Void
    ) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: GlobalDiscoveryEvent.self)
        var iterator = events.makeAsyncIterator()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await discovery.run(found: found) { continuation.yield($0) } }
            try await body(&iterator)
            tasks.cancelAll()
        }
    }

    @Test func announcesToEachServerInItsOwnTime() async throws {
        servers.set("a.example", accepted)
        let discovery = try discovery(["https://a.example/?nolookup", "https://b.example/?nolookup"])
        let a = discovery.servers[0], b = discovery.servers[1]
        try await running(discovery) { events in
            await clock.advance(whenAsleep: 2)
            #expect(clock.now.offset == .seconds(3))
            var first: [GlobalDiscoveryEvent] = []
            for _ in 0..<2 { if let event = await events.next() { first.append(event) } }
            #expect(first.contains(.announced(a, ["tcp://0.0.0.0:22000"])))
            #expect(first.contains(.announcementFailed(b, "b.example is gone; try again")))
            let states = discovery.states
            #expect(states[0].announcing == .init(sinceSuccess: .zero, untilNext: .seconds(3400)))
            #expect(
                states[1].announcing == .init(untilNext: .seconds(300), problem: "b.example is gone; try again"))
            #expect(states[0].lookingUp == nil)
            #expect(discovery.problem == nil)
            servers.set("b.example", accepted)
            await clock.advance(whenAsleep: 2)
            #expect(clock.now.offset == .seconds(303))
            #expect(await events.next() == .announced(b, ["tcp://0.0.0.0:22000"]))
        }
        #expect(servers.requests.allSatisfy { $0.hasIdentity && $0.text == #"{"addresses":["tcp://0.0.0.0:22000"]}"# })
        #expect(servers.requests.map(\.server).sorted() == ["a.example", "b.example", "b.example"])
    }

    /// Two devices that start at the same moment: the one that is announced later asks again, whatever pause the server wants.
    @Test func whoIsAnnouncedAsksAgainForThoseNotFound() async throws {
        servers.set("a.example", accepted)
        servers.set("b.example", gone)
        let discovery = try discovery(["https://a.example/?nolookup", "https://b.example/?noannounce"])
        let missed = Mutex<[DeviceID]>([])
        try await running(discovery, found: { device in missed.withLock { $0.append(device) } }) { events in
            while !Task.isCancelled, clock.sleeperCount < 1 { await Task.yield() }
            _ = await discovery.addresses(of: a)
            #expect(discovery.pause(beforeLookingUp: a) == .seconds(1800))
            await clock.advance(whenAsleep: 1)
            #expect(await events.next() == .announced(discovery.servers[0], ["tcp://0.0.0.0:22000"]))
            while !Task.isCancelled, missed.withLock({ $0.isEmpty }) { await Task.yield() }
            #expect(missed.withLock { $0 } == [a])
            #expect(discovery.pause(beforeLookingUp: a) <= LookupTable.gap)
            clock.advance(by: LookupTable.gap)
            _ = await discovery.addresses(of: a)
        }
        #expect(servers.requests.count { $0.server == "b.example" } == 2)
    }

    @Test func announcesWhatChanged() async throws {
        servers.set("a.example", accepted)
        let addresses = Mutex<[String]>([])
        let own: @Sendable () -> [String] = { addresses.withLock { $0 } }
        let discovery = try discovery(["https://a.example/?nolookup"], announced: own)
        try await running(discovery) { events in
            // Nothing to announce: soon after the start nothing is sent, and nothing is wrong.
            await clock.advance(whenAsleep: 1)
            while !Task.isCancelled, discovery.states[0].announcing?.untilNext != .seconds(300) { await Task.yield() }
            #expect(servers.requests.isEmpty)
            #expect(discovery.problem == nil)
            addresses.withLock { $0 = ["tcp://198.51.100.7:1"] }
            discovery.addressesChanged()
            while !Task.isCancelled, servers.requests.isEmpty {
                clock.advance(within: .seconds(2))
                await Task.yield()
            }
            #expect(await events.next() == .announced(discovery.servers[0], ["tcp://198.51.100.7:1"]))
            #expect(clock.now.offset == .seconds(5))
            addresses.withLock { $0 = ["tcp://203.0.113.9:1"] }
            clock.advance(by: .seconds(20))
            discovery.networkChanged()
            #expect(await events.next() == .announced(discovery.servers[0], ["tcp://203.0.113.9:1"]))
        }
    }

    @Test func saysWhyAnnouncementsAreRefused() async throws {
        for (status, word) in [(400, "forward a port"), (403, "certificate"), (404, "address"), (429, "overloaded")] {
            servers.set("a.example", HTTPAnswer(status: status, fields: [HTTPField("Retry-After", "1600")]))
            let clock = ManualClock()
            let servers = servers
            let discovery = GlobalDiscovery(
                servers: try DiscoveryServer.list(["https://a.example/"]),
                exchange: { try await servers.exchange($0, $1, $2) }, clock: clock, jitter: { 0 },
                announced: { ["tcp://0.0.0.0:22000"] })
            try await running(discovery) { events in
                await clock.advance(whenAsleep: 1)
                guard case .announcementFailed(_, let problem) = await events.next() else {
                    Issue.record("no failure for \(status)")
                    return
                }
                #expect(problem.contains(word))
                #expect(discovery.problem == problem)
                #expect(discovery.states[0].announcing?.untilNext == .seconds(1600))
            }
        }
    }

    @Test func asksAllServersWithoutSayingWhoAsks() async throws {
        servers.set("a.example", json("tcp://198.51.100.7:1"))
        servers.set("b.example", json("relay://198.51.100.8:2/?id=A"))
        let discovery = try discovery(["https://a.example/?noannounce", "https://b.example/?noannounce"])
        let sightings = Mutex<[DeviceID]>([])
        try await running(discovery, found: { device in sightings.withLock { $0.append(device) } }) { _ in
            #expect(discovery.cachedAddresses(of: a).isEmpty)
            #expect(await self.addresses(discovery) == ["tcp://198.51.100.7:1", "relay://198.51.100.8:2/?id=A"])
            #expect(discovery.cachedAddresses(of: a).count == 2)
            // Fresh enough: nobody is asked again.
            #expect(await discovery.addresses(of: a).count == 2)
            while !Task.isCancelled, sightings.withLock({ $0.count < 2 }) { await Task.yield() }
        }
        #expect(servers.requests.count == 2)
        #expect(servers.requests.allSatisfy { !$0.hasIdentity && $0.text == "device=\(a)" })
        #expect(sightings.withLock { $0 } == [a, a])
        // Not running: what is known, without waiting.
        clock.advance(by: .seconds(3600))
        #expect(await discovery.addresses(of: a).count == 2)
        #expect(servers.requests.count == 2)
    }

    /// `addresses(of:)` once the discovery runs.
    private func addresses(_ discovery: GlobalDiscovery) async -> [String] {
        while true {
            let addresses = await discovery.addresses(of: a)
            if Task.isCancelled || !servers.requests.isEmpty { return addresses }
            await Task.yield()
        }
    }

    @Test func aMissIsRememberedUntilThePairing() async throws {
        servers.set("a.example", gone)
        let discovery = try discovery(["https://a.example/?noannounce"])
        try await running(discovery) { _ in
            #expect(await addresses(discovery).isEmpty)
            clock.advance(by: .seconds(600))
            servers.set("a.example", json("tcp://198.51.100.7:1"))
            #expect(await discovery.addresses(of: a).isEmpty)
            #expect(discovery.problem == nil)
            discovery.expect(a)
            #expect(await discovery.addresses(of: a) == ["tcp://198.51.100.7:1"])
            clock.advance(by: .seconds(20))
            servers.set("a.example", json("tcp://198.51.100.7:2"))
            #expect(await discovery.addresses(of: a) == ["tcp://198.51.100.7:1"])
            discovery.networkChanged()
            #expect(await discovery.addresses(of: a) == ["tcp://198.51.100.7:2"])
            discovery.forget(a)
            #expect(discovery.cachedAddresses(of: a).isEmpty)
        }
    }

    @Test func saysWhatIsWrongWithLookups() async throws {
        for (answer, word) in [
            (nil, "gone"), (HTTPAnswer(status: 429), "overloaded"), (HTTPAnswer(status: 500), "500"),
            (HTTPAnswer(status: 200, body: ByteBuffer(string: "<html>")), "not a discovery server"),
        ] as [(HTTPAnswer?, String)] {
            let servers = Servers()
            servers.set("a.example", answer)
            let discovery = GlobalDiscovery(
                servers: try DiscoveryServer.list(["https://a.example/?noannounce"]),
                exchange: { try await servers.exchange($0, $1, $2) }, clock: clock, announced: { [] })
            try await running(discovery) { events in
                while !Task.isCancelled, servers.requests.isEmpty {
                    #expect(await discovery.addresses(of: a).isEmpty)
                    await Task.yield()
                }
                guard case .lookupFailed(_, let problem) = await events.next() else {
                    Issue.record("no failure")
                    return
                }
                #expect(problem.contains(word))
                #expect(discovery.problem == problem)
                clock.advance(by: .seconds(119))
                #expect(discovery.problem == problem)
                // Nobody is looked for any more: of how the server does now, nothing is known.
                clock.advance(by: .seconds(1))
                #expect(discovery.problem == nil)
            }
        }
    }

    @Test func whatWasWrongInAnotherNetworkIsNotTold() async throws {
        let discovery = try discovery(["https://a.example/?noannounce"])
        try await running(discovery) { events in
            #expect(await addresses(discovery).isEmpty)
            guard case .lookupFailed(_, let problem) = await events.next() else {
                Issue.record("no failure")
                return
            }
            #expect(discovery.problem == problem)
            discovery.networkChanged()
            #expect(discovery.problem == nil)
        }
    }

    /// A hundred devices at once: each gets its answer, with a few connections at a time; who asks twice asks once.
    @Test func looksUpAHundredDevicesAFewAtATime() async throws {
        servers.set("a.example", json("tcp://198.51.100.7:1"))
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        servers.hold("a.example", until: gate)
        let discovery = try discovery(["https://a.example/?noannounce"])
        try await running(discovery) { _ in
            while !Task.isCancelled, servers.requests.isEmpty {
                // Cancelled askers return; what they began goes on.
                let asker = Task { await discovery.addresses(of: device(0)) }
                for _ in 0..<100 where servers.requests.isEmpty { await Task.yield() }
                asker.cancel()
                #expect(await asker.value.isEmpty)
            }
            try await withThrowingTaskGroup(of: [String].self) { tasks in
                for number in 0..<200 {
                    tasks.addTask { await discovery.addresses(of: device(number % 100)) }
                }
                while !Task.isCancelled, servers.requests.count < GlobalDiscovery.parallelLookups { await Task.yield() }
                open.finish()
                for try await addresses in tasks { #expect(addresses == ["tcp://198.51.100.7:1"]) }
            }
        }
        #expect(servers.requests.count == 100)
        #expect(servers.peak == GlobalDiscovery.parallelLookups)
    }

    /// Ending the discovery frees who waits, and the next run asks again.
    @Test func endsAndBeginsAgain() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        servers.set("a.example", json("tcp://198.51.100.7:1"))
        servers.hold("a.example", until: gate)
        let discovery = try discovery(["https://a.example/?noannounce"])
        let waiting = Mutex<Task<[String], Never>?>(nil)
        try await running(discovery) { _ in
            while !Task.isCancelled, servers.requests.isEmpty {
                let asker = Task { await discovery.addresses(of: a) }
                waiting.withLock { $0 = asker }
                for _ in 0..<100 where servers.requests.isEmpty { await Task.yield() }
                if servers.requests.isEmpty { asker.cancel() }
            }
        }
        #expect(await waiting.withLock { $0 }?.value.isEmpty == true)
        open.finish()
        let before = servers.requests.count
        try await running(discovery) { _ in
            while !Task.isCancelled, servers.requests.count == before {
                _ = await discovery.addresses(of: a)
                await Task.yield()
            }
            #expect(discovery.cachedAddresses(of: a) == ["tcp://198.51.100.7:1"])
        }
    }

    /// Who waits for a device asks again when the servers want to be asked, and not before.
    @Test func saysWhenALookupIsOfUse() async throws {
        servers.set("a.example", gone)
        let discovery = try discovery(["https://a.example/?noannounce"])
        #expect(discovery.pause(beforeLookingUp: a) == .zero)
        discovery.lookUp(a)
        #expect(servers.requests.isEmpty, "it does not run yet")
        try await running(discovery) { _ in
            while !Task.isCancelled, discovery.pause(beforeLookingUp: a) == .zero { await Task.yield() }
            discovery.lookUp(a)
            while !Task.isCancelled, discovery.pause(beforeLookingUp: a) != .seconds(1800) { await Task.yield() }
            clock.advance(by: .seconds(1000))
            discovery.lookUp(a)
            #expect(discovery.pause(beforeLookingUp: a) == .seconds(800))
            clock.advance(by: .seconds(800))
            #expect(discovery.pause(beforeLookingUp: a) == .zero)
            discovery.lookUp(a)
            while !Task.isCancelled, discovery.pause(beforeLookingUp: a) != .seconds(1800) { await Task.yield() }
        }
        #expect(servers.requests.count == 2)
    }
}
