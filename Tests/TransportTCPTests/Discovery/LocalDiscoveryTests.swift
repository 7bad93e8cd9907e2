import BlockExchange
import Cryptography
import Glibc
import Logging
import NIOCore
import NIOPosix
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import TransportTCP

extension LinkTests {
    @Suite struct LocalDiscoveryTests {
        static let alice = DeviceID(digest: SHA256.digest(Array("alice".utf8)))
        static let bob = DeviceID(digest: SHA256.digest(Array("bob".utf8)))

        private func discovery(
            _ device: DeviceID, port: UInt16, peer: UInt16, clock: ManualClock, listening: [LinkAddress]
        ) throws -> LocalDiscovery {
            let destination = try SocketAddress(ipAddress: "127.0.0.1", port: Int(peer))
            return LocalDiscovery(
                device: device, instanceID: 1,
                network: .unicast(
                    bind: try SocketAddress(ipAddress: "127.0.0.1", port: Int(port)), destinations: { [destination] }),
                clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                listening: { listening }, isKnown: { _ in true })
        }

        /// Lets a second of the clock pass again and again until the condition holds.
        private func pass(_ clock: ManualClock, until condition: () -> Bool) async {
            while !condition(), !Task.isCancelled {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }

        @Test func devicesFindEachOtherAndAreForgotten() async throws {
            let clock = ManualClock()
            let ports = try freePorts(2)
            let alice = try discovery(
                Self.alice, port: ports[0], peer: ports[1], clock: clock, listening: [.tcp(host: "", port: 22001)])
            let bob = try discovery(
                Self.bob, port: ports[1], peer: ports[0], clock: clock,
                listening: [.tcp(host: "192.0.2.9", port: 22002), .tcp(host: "127.0.0.1", port: 1)])
            await withTaskGroup { tasks in
                let aliceRuns = Task { await alice.run() }
                tasks.addTask { await bob.run() }
                await pass(clock) {
                    !alice.addresses(of: Self.bob).isEmpty && !bob.addresses(of: Self.alice).isEmpty
                }
                #expect(alice.addresses(of: Self.bob) == [.tcp(host: "192.0.2.9", port: 22002)])
                #expect(bob.addresses(of: Self.alice) == [.tcp(host: "127.0.0.1", port: 22001)])
                #expect(alice.entries().map(\.device) == [Self.bob])
                #expect(alice.state == .running)

                var sightings = bob.sightings.makeAsyncIterator()
                let sighting = await sightings.next()
                #expect(sighting == .init(device: Self.alice, addresses: [.tcp(host: "127.0.0.1", port: 22001)]))

                aliceRuns.cancel()
                await aliceRuns.value
                #expect(alice.state == .off)
                // One announcement may still lie in Bob's socket, and be read after the clock has moved.
                while !bob.entries().isEmpty, !Task.isCancelled {
                    clock.advance(by: .seconds(91))
                    await Task.yield()
                }
                #expect(bob.addresses(of: Self.alice).isEmpty)
                tasks.cancelAll()
            }
        }

        /// Nothing is due on Alice's clock for half a minute when Bob appears.
        @Test func answersANewDeviceBeforeTheInterval() async throws {
            let clock = ManualClock()
            let ports = try freePorts(2)
            let alice = try discovery(
                Self.alice, port: ports[0], peer: ports[1], clock: clock, listening: [.tcp(host: "", port: 22001)])
            let bobsClock = ManualClock()
            let bob = try discovery(
                Self.bob, port: ports[1], peer: ports[0], clock: bobsClock, listening: [.tcp(host: "", port: 22002)])
            await withTaskGroup { tasks in
                tasks.addTask { await alice.run() }
                while !Task.isCancelled, alice.state != .running { await Task.yield() }
                // The first announcement and its gap are over; the next of its own is due at thirty seconds.
                for _ in 0..<5 {
                    clock.advance(by: .seconds(1))
                    for _ in 0..<100 { await Task.yield() }
                }
                tasks.addTask { await bob.run() }
                while bob.addresses(of: Self.alice).isEmpty {
                    await pass(bobsClock) { !alice.addresses(of: Self.bob).isEmpty }
                    if clock.now.offset < .seconds(20) { clock.advance(by: .seconds(1)) }
                    await Task.yield()
                }
                #expect(clock.now.offset <= .seconds(20))
                tasks.cancelAll()
            }
        }

        @Test func goesOnTryingWhenItsPortIsTaken() async throws {
            let clock = ManualClock()
            var blocker = PlainSocket(type: SOCK_DGRAM)
            let port = try #require(blocker?.port)
            let discovery = try discovery(
                Self.alice, port: port, peer: port, clock: clock, listening: [.tcp(host: "", port: 22001)])
            await withTaskGroup { tasks in
                tasks.addTask { await discovery.run() }
                await pass(clock) {
                    if case .failed = discovery.state { true } else { false }
                }
                withExtendedLifetime(blocker) {}
                blocker = nil
                await pass(clock) { discovery.state == .running }
                tasks.cancelAll()
            }
        }

        @Test func ignoresWhatIsNoAnnouncement() async throws {
            let clock = ManualClock()
            let ports = try freePorts(2)
            let alice = try discovery(
                Self.alice, port: ports[0], peer: ports[1], clock: clock, listening: [.tcp(host: "", port: 22001)])
            let peer = try #require(PlainSocket(type: SOCK_DGRAM, port: ports[1]))
            #expect(peer.connect(to: ports[0]))
            await withTaskGroup { tasks in
                tasks.addTask { await alice.run() }
                while !Task.isCancelled, alice.state != .running { await Task.yield() }
                let own = DiscoveryAnnouncement(device: Self.alice, addresses: ["tcp://192.0.2.1:1"], instanceID: 2)
                let good = DiscoveryAnnouncement(device: Self.bob, addresses: ["tcp://192.0.2.1:1"], instanceID: 2)
                for bytes in [
                    [], [1, 2, 3], [UInt8](repeating: 0x2E, count: 60_000), Array(own.encoded.readableBytesView),
                    Array(good.encoded.readableBytesView) + [UInt8](repeating: 0, count: 9000),
                ] { peer.send(bytes) }
                peer.send(Array(good.encoded.readableBytesView))
                var sightings = alice.sightings.makeAsyncIterator()
                #expect(
                    await sightings.next()
                        == .init(device: Self.bob, addresses: [.tcp(host: "192.0.2.1", port: 1)]))
                #expect(alice.entries().count == 1)
                tasks.cancelAll()
            }
        }

        /// Two agents of one machine share the port, as one of ours does with Syncthing: each hears the other's broadcast
        /// or multicast on a real interface.
        @Test(
            .enabled(if: hasBroadcast, "no interface with IPv4 broadcast and IPv6 multicast here"),
            arguments: ["IPv4", "IPv6"])
        func devicesShareThePortOnRealInterfaces(family: String) async throws {
            let clock = ManualClock()
            let port = try #require(try freePorts(1).first)
            let network = DiscoveryNetwork(
                endpoints: try DiscoveryNetwork.local(port: Int(port)).endpoints.filter { $0.name == family })
            #expect(network.endpoints.count == 1)
            func discovery(_ device: DeviceID) throws -> LocalDiscovery {
                LocalDiscovery(
                    device: device, instanceID: 1, network: network, clock: clock,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                    listening: { [.tcp(host: "", port: 22001)] }, isKnown: { _ in true })
            }
            let alice = try discovery(Self.alice), bob = try discovery(Self.bob)
            await withTaskGroup { tasks in
                tasks.addTask { await alice.run() }
                tasks.addTask { await bob.run() }
                await pass(clock) {
                    !alice.addresses(of: Self.bob).isEmpty && !bob.addresses(of: Self.alice).isEmpty
                }
                let found = alice.addresses(of: Self.bob)
                #expect(found.allSatisfy { $0.isDialable && $0.ipAddress?.isIPv4 == (family == "IPv4") }, "\(found)")
                tasks.cancelAll()
            }
        }

        private static let hasBroadcast: Bool = {
            let devices = (try? System.enumerateDevices()) ?? []
            return devices.contains { $0.broadcastAddress != nil }
                && (try? DiscoveryNetwork.multicastInterfaces())?.isEmpty == false
        }()

        private func freePorts(_ count: Int) throws -> [UInt16] {
            // Held together, so that all differ.
            if count == 0 { return [] }
            let socket = try #require(PlainSocket(type: SOCK_DGRAM))
            return try withExtendedLifetime(socket) { try [socket.port] + freePorts(count - 1) }
        }
    }
}
