import BlockExchange
import ControlAPI
import Cryptography
import LinkSecurity
import Logging
import NIOCore
import Pairing
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportTCP

@testable import AgentContext
@testable import SyncAgent

/// Sessions over real links, by a clock of the tests' own.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PairingSessionTests {
    /// A device that pairs, as far as a session knows it.
    struct Device: Sendable {
        let identity: LinkIdentity
        let clock: ManualClock
        let failures: PairingFailures
        let stored = Shared<[PairedDevice]>([])
        let connected = Shared<[DeviceID]>([])

        init(clock: ManualClock) throws {
            let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_700_000_000)
            identity = try LinkIdentity(
                certificatePEM: certificate.certificatePEM, keyPEM: certificate.privateKeyPEM)
            self.clock = clock
            failures = PairingFailures(now: { clock.now.offset })
        }

        func authenticator(_ protocols: [String] = [LinkAuthenticator.pairingProtocol]) throws -> LinkAuthenticator {
            try LinkAuthenticator(identity: identity, applicationProtocols: protocols)
        }

        func session(
            address: LinkAddress? = nil, target: PairingTarget? = nil, scope: SearchScope = SearchScope(),
            found: @escaping @Sendable (DeviceID) async -> [LinkAddress] = { _ in [] }, folders: [FolderID] = [],
            knowing known: [DeviceID: String] = [:],
            dialling: (@Sendable (LinkAddress) async throws -> SecureLink)? = nil,
            storing: @escaping @Sendable (PairedDevice) async throws -> Void = { _ in }
        ) throws -> PairingSession {
            let (stored, connected, clock) = (stored, connected, clock)
            let authenticator = try authenticator()
            let time = AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0.5 })
            return PairingSession(
                target: target ?? address.map { .address($0) }, folders: folders, seconds: 120,
                environment: PairingEnvironment(
                    localDevice: identity.device,
                    introduction: { PairingIntroduction(name: "a device", addresses: []) },
                    knownName: { known[$0] },
                    dial: dialling
                        ?? { try await TCPTransport().dial($0, timeout: .seconds(10), install: authenticator.install) },
                    scope: scope, find: found,
                    connect: { _, addresses in
                        var last: any Error = CancellationError()
                        for address in addresses {
                            do {
                                return try await TCPTransport().dial(
                                    address, timeout: .seconds(10), install: authenticator.install)
                            } catch { last = error }
                        }
                        throw last
                    },
                    store: { device in
                        try await storing(device)
                        stored.change { $0.append(device) }
                    }, paired: { device in connected.change { $0.append(device) } }, nearby: [],
                    nonce: { .random() }, events: EventHub(wall: { WallTime(seconds: 0) }), time: time,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }),
                failures: failures)
        }
    }

    final class Shared<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        var current: Value { value.withLock { $0 } }
        func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
    }

    /// Runs `body` while `session` of `device` is served at an address.
    private func serving(
        _ session: PairingSession, of device: Device, _ body: @escaping @Sendable (LinkAddress) async throws -> Void
    ) async throws {
        let authenticator = try device.authenticator([
            LinkAuthenticator.blockExchangeProtocol, LinkAuthenticator.pairingProtocol,
        ])
        let listener = try await TCPTransport().listen(
            on: .tcp(host: "127.0.0.1", port: 0), install: authenticator.install)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { links in
                    for await link in listener { links.addTask { await session.serve(link) } }
                }
            }
            group.addTask { try await body(listener.address) }
            defer { group.cancelAll() }
            do { try await group.next() } catch {
                await listener.close()
                throw error
            }
            await listener.close()
        }
    }

    /// Follows a session to its end: gives its events, and the error's code.
    private func follow(
        _ session: PairingSession, _ each: @escaping @Sendable (PairEvent) async -> Void = { _ in }
    ) async -> (events: [PairEvent], error: ControlError.Code?) {
        let events = Shared<[PairEvent]>([])
        do {
            try await session.run { event in
                events.change { $0.append(event) }
                await each(event)
            }
            return (events.current, nil)
        } catch {
            return (events.current, (error as? ControlError)?.code ?? .failed)
        }
    }

    /// Pairs `two` with `one`, whose session waits at `address`; both users confirm, and `one` stores `two`.
    private func expectPairing(
        of one: Device, _ waiting: PairingSession, with two: Device, at address: LinkAddress
    ) async throws {
        let calling = try two.session(address: address)
        async let there = follow(waiting, Self.confirming(waiting))
        async let dialled: Void = calling.dialTarget()
        let here = await follow(calling, Self.confirming(calling))
        await dialled
        #expect(here.error == nil)
        #expect(await there.error == nil)
        #expect(one.stored.current.map(\.id) == [two.identity.device])
    }

    /// Lets time pass, a second at a time, until `isOver`. Gives how much it was.
    private func pass(_ clock: ManualClock, until isOver: @Sendable () async -> Bool) async -> Duration {
        let start = clock.now
        while await !isOver(), !Task.isCancelled {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        return start.duration(to: clock.now)
    }

    /// The code is confirmed on whatever session it is shown.
    private static func confirming(_ session: PairingSession) -> @Sendable (PairEvent) async -> Void {
        { event in
            if case .code(let code, _, _, _, _) = event { try? await session.confirm(code) }
        }
    }

    @Test func nobodyComes() async throws {
        let device = try Device(clock: ManualClock())
        let session = try device.session()
        let isOver = Shared(false)
        async let passed = pass(device.clock) { isOver.current }
        let (_, error) = await follow(session)
        isOver.change { $0 = true }
        #expect(error == .timeout)
        #expect(await passed >= .seconds(120))
        #expect(device.failures.wait == nil)
    }

    @Test func twoPairAndConnect() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session(folders: [FolderID("photos")])
        try await serving(waiting, of: one) { address in
            try await expectPairing(of: one, waiting, with: two, at: address)
            #expect(one.stored.current.first?.folders == [FolderID("photos")])
            #expect(two.stored.current.map(\.id) == [one.identity.device])
            #expect(two.stored.current.first?.addresses == ["dynamic", address.description])
        }
        #expect(one.connected.current == [two.identity.device])
        #expect(two.connected.current == [one.identity.device])
    }

    /// Of a session that searches, three tasks sleep by the clock, the shortest for half a second.
    private static func pass(_ clock: ManualClock, halfSeconds: Int) async {
        for _ in 0..<halfSeconds { await clock.advance(whenAsleep: 3) }
    }

    /// A device is given by its id: where it is, others say, and it may start to pair later.
    @Test func oneIsSearchedFor() async throws {
        let (one, two) = (try Device(clock: ManualClock()), try Device(clock: ManualClock()))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            let asked = Shared<[DeviceID]>([])
            let calling = try two.session(
                target: .device(one.identity.device),
                found: { device in
                    asked.change { $0.append(device) }
                    return asked.current.count < 3 ? [] : [address]
                })
            async let there = follow(waiting, Self.confirming(waiting))
            async let dialled: Void = calling.dialTarget()
            async let passed: Void = Self.pass(two.clock, halfSeconds: 14)
            let here = await follow(calling, Self.confirming(calling))
            await dialled
            await passed
            #expect(here.error == nil)
            #expect(await there.error == nil)
            #expect(asked.current == [DeviceID](repeating: one.identity.device, count: 3))
            let failures = here.events.filter { if case .attemptFailed = $0 { true } else { false } }
            #expect(failures.count == 1, "the same reason is told once")
            // It was not the user who said where it is.
            #expect(two.stored.current.first?.addresses == ["dynamic"])
        }
    }

    /// One that is searched for may dial this one first: nothing is searched or told to have failed while the users compare.
    @Test func oneThatHasDialledIsNotSearchedFor() async throws {
        let (one, two) = (try Device(clock: ManualClock()), try Device(clock: ManualClock()))
        let asked = Shared(0)
        let waiting = try one.session(
            target: .device(two.identity.device),
            found: { _ in
                asked.change { $0 += 1 }
                return []
            })
        try await serving(waiting, of: one) { address in
            async let searched: Void = waiting.dialTarget()
            async let there = follow(waiting) { event in
                guard case .code(let code, _, _, _, _) = event else { return }
                // Beside the three tasks of a search, one looks after the attempt.
                for _ in 0..<10 { await one.clock.advance(whenAsleep: 4) }
                try? await waiting.confirm(code)
            }
            while !Task.isCancelled, asked.current == 0 { await Task.yield() }
            let calling = try two.session(address: address)
            async let dialled: Void = calling.dialTarget()
            let here = await follow(calling, Self.confirming(calling))
            await dialled
            #expect(here.error == nil)
            #expect(await there.error == nil)
            // The search sees the end when its pause is over.
            one.clock.advance(by: .seconds(10))
            await searched
        }
        #expect(asked.current == 1)
        #expect(one.stored.current.map(\.id) == [two.identity.device])
    }

    /// Another device dials while one is dialled in vain: that is not told between the digits and their answer.
    @Test func aDialThatFailsIsNotToldWhileDigitsAreCompared() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let (isDialling, isOver) = (Shared(false), Shared(false))
        let (ending, end) = AsyncStream.makeStream(of: Void.self)
        let waiting = try one.session(
            address: .tcp(host: "127.0.0.1", port: 1),
            dialling: { _ in
                isDialling.change { $0 = true }
                for await _ in ending {}
                throw LinkError(.failed, "nobody is there", isTransient: true)
            })
        try await serving(waiting, of: one) { address in
            async let dialled: Void = {
                await waiting.dialTarget()
                isOver.change { $0 = true }
            }()
            async let there = follow(waiting) { event in
                guard case .code(let code, _, _, _, _) = event else { return }
                end.finish()
                while !Task.isCancelled, !isOver.current { await Task.yield() }
                try? await waiting.confirm(code)
            }
            while !Task.isCancelled, !isDialling.current { await Task.yield() }
            let calling = try two.session(address: address)
            async let called: Void = calling.dialTarget()
            #expect(await follow(calling, Self.confirming(calling)).error == nil)
            await called
            await dialled
            let (events, error) = await there
            #expect(error == nil)
            #expect(!events.contains { if case .attemptFailed = $0 { true } else { false } })
        }
        #expect(one.stored.current.map(\.id) == [two.identity.device])
    }

    @Test func oneThatIsNotFoundIsNamed() async throws {
        let device = try Device(clock: ManualClock())
        let other = try Device(clock: device.clock).identity.device
        let calling = try device.session(target: .device(other))
        async let dialled: Void = calling.dialTarget()
        async let passed: Void = Self.pass(device.clock, halfSeconds: 240)
        let (events, error) = await follow(calling)
        await passed
        // The search sees the end when its pause is over.
        device.clock.advance(by: .seconds(10))
        await dialled
        #expect(error == .pairingFailed)
        #expect(events.contains(.dialling(address: other.description)))
        #expect(events.contains { if case .attemptFailed = $0 { true } else { false } })
    }

    /// What was not asked is not named, and nothing is searched where there is nothing to ask.
    @Test(arguments: [
        (SearchScope(), ["network", "discovery servers"]),
        (SearchScope(servers: false), ["not found on this network", "discovery servers are off"]),
        (SearchScope(network: false), ["not found by the discovery servers", "local discovery is off"]),
        (SearchScope(network: false, servers: false), ["cannot be searched for", "discovery is off", "its address"]),
    ]) func whatWasAskedIsSaid(scope: SearchScope, parts: [String]) async throws {
        let device = try Device(clock: ManualClock())
        let error = ControlError.deviceNotFound(device.identity.device, in: scope)
        #expect(parts.allSatisfy { error.message.contains($0) }, "\(error.message)")
        guard scope.isEmpty else { return }
        let asked = Shared(0)
        let calling = try device.session(
            target: .device(device.identity.device), scope: scope,
            found: { _ in
                asked.change { $0 += 1 }
                return []
            })
        await calling.dialTarget()
        #expect(asked.current == 0)
        #expect(await calling.status.state == .waiting, "the other may still dial")
        await calling.refuse()
    }

    /// A code that nobody answers is there for two minutes; then it is a failure on both, and nothing is stored.
    @Test func nobodyAnswers() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            let calling = try two.session(address: address)
            let isShown = Shared(false), isOver = Shared(false)
            async let passed: Duration = {
                while !Task.isCancelled, !isShown.current { await Task.yield() }
                // Both have to be there: else the time for opening would be over on the other.
                while !Task.isCancelled, await waiting.status.state != .comparing { await Task.yield() }
                return await pass(clock) { isOver.current }
            }()
            async let dialled: Void = calling.dialTarget()
            let here = await follow(calling) { event in
                if case .code = event { isShown.change { $0 = true } }
            }
            isOver.change { $0 = true }
            await dialled
            #expect(here.error == .timeout)
            #expect(await passed >= .seconds(120))
        }
        #expect(one.stored.current.isEmpty && two.stored.current.isEmpty)
    }

    /// Whoever says nothing is shown out after 20 seconds, and does not count as a failure.
    @Test func aSilentStrangerDoesNotStay() async throws {
        let clock = ManualClock()
        let (one, stranger) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            for _ in 0..<4 {
                let link = try await TCPTransport().dial(
                    address, timeout: .seconds(10), install: try stranger.authenticator().install)
                while !Task.isCancelled, await waiting.status.state != .opening { await Task.yield() }
                let passed = await pass(clock) { await waiting.status.state == .waiting }
                #expect(passed >= .seconds(20))
                let said = try await link.executeThenClose { inbound, _ in
                    var bytes: [UInt8] = []
                    for try await piece in inbound { bytes += piece.readableBytesView }
                    return bytes
                }
                #expect(said == PairingRefusal.time.message)
            }
        }
        #expect(one.failures.wait == nil)
    }

    /// It holds the place for no device that comes behind it, however often it comes again.
    @Test func aSilentStrangerGivesWay() async throws {
        let clock = ManualClock()
        let (one, two, stranger) = (try Device(clock: clock), try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            var last: SecureLink?
            for _ in 0..<3 {
                let link = try await TCPTransport().dial(
                    address, timeout: .seconds(10), install: try stranger.authenticator().install)
                if let last { #expect(try await Self.farewell(on: last) == PairingRefusal.busy.message) }
                while !Task.isCancelled, await waiting.status.state != .opening { await Task.yield() }
                last = link
            }
            try await expectPairing(of: one, waiting, with: two, at: address)
            let link = try #require(last)
            #expect(try await Self.farewell(on: link) == PairingRefusal.busy.message)
        }
        #expect(one.failures.wait == nil)
    }

    /// What the other end says until it closes the link.
    private static func farewell(on link: SecureLink) async throws -> [UInt8] {
        try await link.executeThenClose { inbound, _ in
            var bytes: [UInt8] = []
            for try await piece in inbound { bytes += piece.readableBytesView }
            return bytes
        }
    }

    @Test func whatCannotBeStoredIsSaidOnBoth() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session(storing: { _ in throw ControlError(.noSpace, "the disk is full") })
        try await serving(waiting, of: one) { address in
            let calling = try two.session(address: address)
            async let there = follow(waiting, Self.confirming(waiting))
            async let dialled: Void = calling.dialTarget()
            let here = await follow(calling, Self.confirming(calling))
            await dialled
            #expect(await there.error == .pairingFailed)
            // It had stored the other, or was told before it did.
            switch here.error {
            case nil:
                guard case .paired(_, _, _, _, isMutual: false)? = here.events.last else {
                    Issue.record("\(here.events)")
                    return
                }
            case let error?: #expect(error == .pairingFailed)
            }
        }
        #expect(one.stored.current.isEmpty && one.connected.current.isEmpty && two.connected.current.isEmpty)
    }

    /// The user goes away: the other side is told so, which is no refusal, and what both have confirmed is finished.
    @Test func theUserGoesAway() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            let calling = try two.session(address: address)
            async let there = follow(waiting)
            async let dialled: Void = calling.dialTarget()
            await withTaskGroup(of: Void.self) { group in
                let (shown, show) = AsyncStream.makeStream(of: Void.self)
                group.addTask {
                    _ = await follow(calling) { event in
                        if case .code = event { show.finish() }
                    }
                }
                for await _ in shown {}
                group.cancelAll()
            }
            await dialled
            #expect(await there.error == .pairingFailed)
        }
        #expect(one.stored.current.isEmpty && two.stored.current.isEmpty)
        #expect(ControlError(PairingFailure(.interruptedThere, "it was interrupted there")).isRetryable)
    }

    /// A device of the configuration is shown with its name beside the digits.
    @Test func aKnownDeviceIsShownByItsName() async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session(knowing: [two.identity.device: "tablet"])
        try await serving(waiting, of: one) { address in
            let calling = try two.session(address: address)
            async let here = follow(waiting) { event in
                if case .code = event { await waiting.refuse() }
            }
            async let there = follow(calling)
            await calling.dialTarget()
            let names = [await here.events, await there.events].map { events in
                events.compactMap { if case .code(_, _, let name, _, _) = $0 { name ?? "nobody" } else { nil } }
            }
            #expect(names == [["tablet"], ["nobody"]])
        }
    }

    /// Any device of the configuration may dial: one that nobody has named gets a folder only once the digits are confirmed.
    @Test(arguments: [false, true]) func aKnownDeviceGetsNoFolderUnasked(isConfirmed: Bool) async throws {
        let clock = ManualClock()
        let (one, two) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session(folders: [FolderID("secret")], knowing: [two.identity.device: "tablet"])
        try await serving(waiting, of: one) { address in
            let calling = try two.session(address: address, knowing: [one.identity.device: "nas"])
            async let here = follow(waiting) { event in
                guard case .code(let code, _, _, _, _) = event else { return }
                if isConfirmed { try? await waiting.confirm(code) } else { await waiting.refuse() }
            }
            async let dialled: Void = calling.dialTarget()
            let there = await follow(calling, Self.confirming(calling))
            await dialled
            #expect((await here.error == nil) == isConfirmed)
            #expect((there.error == nil) == isConfirmed)
        }
        #expect(one.stored.current.map(\.folders) == (isConfirmed ? [[FolderID("secret")]] : []))
    }

    /// No other device takes the place of the one that the user has named, which gets the folder without digits if it is known.
    @Test func onlyTheNamedDeviceIsServed() async throws {
        let clock = ManualClock()
        let (one, two, other) = (try Device(clock: clock), try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session(
            target: .device(two.identity.device), folders: [FolderID("secret")],
            knowing: [two.identity.device: "tablet", other.identity.device: "colleague"])
        try await serving(waiting, of: one) { address in
            let link = try await TCPTransport().dial(
                address, timeout: .seconds(10), install: try other.authenticator().install)
            #expect(try await Self.farewell(on: link) == PairingRefusal.busy.message)
            #expect(one.stored.current.isEmpty)
            let calling = try two.session(address: address, knowing: [one.identity.device: "nas"])
            async let here = follow(waiting)
            async let dialled: Void = calling.dialTarget()
            #expect(await follow(calling).error == nil)
            await dialled
            #expect(await here.error == nil)
        }
        #expect(one.stored.current.map(\.id) == [two.identity.device])
        #expect(one.stored.current.map(\.folders) == [[FolderID("secret")]])
    }

    @Test func threeFailuresEndIt() async throws {
        let clock = ManualClock()
        let (one, stranger) = (try Device(clock: clock), try Device(clock: clock))
        let waiting = try one.session()
        try await serving(waiting, of: one) { address in
            async let there = follow(waiting)
            for _ in 0..<3 {
                let link = try await TCPTransport().dial(
                    address, timeout: .seconds(10), install: try stranger.authenticator().install)
                // A commitment, and away with the nonce that it is answered with.
                try await link.executeThenClose { inbound, outbound in
                    try await outbound.write(ByteBuffer(bytes: [1, 0, 33] + [UInt8](repeating: 0, count: 33)))
                    for try await _ in inbound { break }
                }
                while !Task.isCancelled, await waiting.status.state == .opening { await Task.yield() }
            }
            let (events, error) = await there
            #expect(error == .pairingBlocked)
            #expect(events.filter { if case .attemptFailed = $0 { true } else { false } }.count == 3)
        }
        #expect(one.failures.wait == AttemptLimit.firstPause)
    }
}
