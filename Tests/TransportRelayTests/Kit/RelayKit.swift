import BlockExchange
import LinkSecurity
import NIOCore
import SyncTestKit
import Testing
import Transport
import TransportRelay
import TransportTCP

/// Tests over sockets, one after the other.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum RelayTests {}

extension TestDevice {
    func transport(
        clock: ManualClock? = nil, limits: RelayTransport.Limits = .init(),
        fetchPool: @escaping RelayTransport.PoolFetch = { _ in [] }
    ) -> RelayTransport {
        var limits = limits
        // A clock that stands still would hold up every session.
        if clock != nil { limits.courtesy = .zero }
        let time = clock.map { clock in RelayTime(clock: clock) { clock.now.offset } } ?? .system
        return RelayTransport(
            identity: identity, dialing: DirectStreams(), limits: limits, time: time, fetchPool: fetchPool)
    }

    /// What the agent installs on a link.
    func authenticator() throws -> LinkAuthenticator { try LinkAuthenticator(identity: identity) }

    func listen(
        at source: RelaySource, clock: ManualClock? = nil, limits: RelayTransport.Limits = .init(),
        fetchPool: @escaping RelayTransport.PoolFetch = { _ in [] }
    ) throws -> RelayListening<SecureLink> {
        transport(clock: clock, limits: limits, fetchPool: fetchPool)
            .listen(at: source, install: try authenticator().install)
    }

    func dial(
        _ device: DeviceID, at relay: RelayAddress, limits: RelayTransport.Limits = .init()
    ) async throws -> SecureLink {
        try await transport(limits: limits).dial(
            relay, device: device, timeout: .seconds(30), install: try authenticator().install)
    }
}

extension RelayListening {
    /// The first status that is as `isMeant` says.
    func status(where isMeant: (RelayStatus) -> Bool) async throws -> RelayStatus {
        for await status in statuses where isMeant(status) { return status }
        throw RelayError(.closed, "the links were closed before")
    }

    @discardableResult
    func joined() async throws -> RelayStatus { try await status { $0.phase == .joined } }
}

/// Two devices and a relay, of which the second device has joined the relay.
struct RelayedPair {
    var first: TestDevice
    var second: TestDevice
    var relay: TestRelay
    var listening: RelayListening<SecureLink>

    /// Runs `body` with both ends of a link: that of the device that dialled, and the other.
    func withLink(_ body: (SecureLink, SecureLink) async throws -> Void) async throws {
        let dialled = try await first.dial(second.id, at: relay.address)
        var links = listening.links.makeAsyncIterator()
        let accepted = try #require(await links.next())
        try await body(dialled, accepted)
        await dialled.close()
        await accepted.close()
    }
}

func withPair(
    _ switches: TestRelay.Switches = .init(), _ body: (RelayedPair) async throws -> Void
) async throws {
    let (first, second) = (try TestDevice(), try TestDevice())
    let relay = try await TestRelay.start(device: TestDevice(), switches)
    var address = relay.address
    if !switches.token.isEmpty { address.token = switches.token }
    let listening = try second.listen(at: .fixed(address))
    do {
        try await listening.joined()
        try await body(RelayedPair(first: first, second: second, relay: relay, listening: listening))
    } catch {
        await listening.links.close()
        await relay.stop()
        throw error
    }
    await listening.links.close()
    await relay.stop()
}

/// Sends `bytes` and takes what arrives at the other end until there are as many, or until the end.
func carry(_ bytes: [UInt8], from sender: SecureLink, to receiver: SecureLink) async throws -> [UInt8] {
    try await withThrowingTaskGroup(of: [UInt8].self) { group in
        group.addTask {
            try await sender.executeThenClose { inbound, outbound in
                for start in stride(from: 0, to: bytes.count, by: 64 * 1024) {
                    try await outbound.write(ByteBuffer(bytes: bytes[start...].prefix(64 * 1024)))
                }
                // Until the other end has everything and closes.
                for try await _ in inbound {}
            }
            return []
        }
        group.addTask {
            try await receiver.executeThenClose { inbound, _ in
                var got: [UInt8] = []
                got.reserveCapacity(bytes.count)
                for try await piece in inbound {
                    got += piece.readableBytesView
                    if got.count >= bytes.count { break }
                }
                return got
            }
        }
        var result: [UInt8] = []
        for try await part in group where !part.isEmpty { result = part }
        return result
    }
}
