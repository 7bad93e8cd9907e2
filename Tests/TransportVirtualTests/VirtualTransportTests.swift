import NIOCore
import Synchronization
import Testing
import Transport

@testable import TransportVirtual

/// Everything that opens sockets, one after the other: some of it counts the process's descriptors.
@Suite(.serialized, .timeLimit(.minutes(3)))
enum AirTests {}

extension AirTests {
    @Suite struct VirtualTransportTests {
        @Test func servesItsOwnAddressesOnly() async throws {
            let transport = VirtualTransport(air: "/nowhere/air")
            #expect(transport.serves(.virtual("a")))
            #expect(!transport.serves(.dynamic))
            for address in [LinkAddress.tcp(host: "127.0.0.1", port: 1), .bluetooth("00:00:00:00:00:00")] {
                let dial = await #expect(throws: LinkError.self) {
                    try await transport.dial(address, timeout: .seconds(1), install: raw)
                }
                #expect(dial?.code == .unsupportedAddress)
            }
        }

        @Test func saysThatThereIsNoAir() async throws {
            let path = temporarySocketPath()
            let transport = VirtualTransport(air: path)
            let dial = await #expect(throws: LinkError.self) {
                try await transport.dial(.virtual("bob"), timeout: .seconds(10), install: raw)
            }
            let listen = await #expect(throws: LinkError.self) {
                _ = try await transport.listen(on: .virtual("bob"), install: raw)
            }
            let nearby = await #expect(throws: LinkError.self) { _ = try await transport.nearby() }
            for error in [dial, listen, nearby] {
                #expect(error?.code == .unreachable)
                #expect(error?.message.contains(path) == true)
            }
        }

        /// An air that ends without reading what it was asked: the socket says so by an error, not by its end.
        @Test func saysThatTheAirBroke() async throws {
            let path = temporarySocketPath()
            let listening = try BrokenAir(at: path)
            async let _: Void = listening.breakOne()
            let dial = await #expect(throws: LinkError.self) {
                try await VirtualTransport(air: path).dial(.virtual("bob"), timeout: .seconds(60), install: raw)
            }
            #expect(dial?.code == .unreachable && dial?.isTransient == true)
            #expect(dial?.message.contains("broke") == true)
        }

        @Test func refusesAPathThatIsTooLong() async {
            let error = await #expect(throws: LinkError.self) {
                _ = try await VirtualAir.open(at: "/tmp/" + String(repeating: "a", count: 200))
            }
            #expect(error?.code == .addressUnavailable)
        }

        @Test func seesWhoIsNearby() async throws {
            try await withAir { air in
                let alice = VirtualTransport(air: air.path, name: "alice")
                let listeners = [
                    try await VirtualTransport(air: air.path).listen(on: .virtual("bob"), install: raw),
                    try await VirtualTransport(air: air.path, modes: [.gatt]).listen(
                        on: .virtual("carol"), install: raw),
                    try await alice.listen(on: .virtual("alice"), install: raw),
                ]
                try await air.setSignal(-50, of: "carol")
                #expect(
                    try await alice.nearby() == [
                        NearbyDevice(name: "bob", signal: -60, modes: [.l2cap, .gatt, .values]),
                        NearbyDevice(name: "carol", signal: -60, modes: [.gatt]),
                    ])
                try await air.setSignal(-70, of: "bob")
                #expect(try await alice.nearby().map(\.name) == ["carol", "bob"])
                try await air.setSignal(-101, of: "carol")
                #expect(
                    try await alice.nearby() == [
                        NearbyDevice(name: "bob", signal: -70, modes: [.l2cap, .gatt, .values])
                    ])
                await listeners[0].close()
                #expect(try await alice.nearby() == [])
                for listener in listeners { await listener.close() }
            }
        }

        @Test func anAdvertisedNameIsTaken() async throws {
            try await withAir { air in
                let transport = VirtualTransport(air: air.path)
                let listener = try await transport.listen(on: .virtual("bob"), install: raw)
                let error = await #expect(throws: LinkError.self) {
                    _ = try await transport.listen(on: .virtual("bob"), install: raw)
                }
                #expect(error?.code == .addressInUse)
                await listener.close()
                try await transport.listen(on: .virtual("bob"), install: raw).close()
            }
        }

        @Test func fallsBackToWhatBothSpeak() async throws {
            for (dialler, listener, refuses, expected) in [
                ([VirtualConnection.Mode.l2cap, .gatt], [VirtualConnection.Mode.gatt], false, LinkKind.gatt),
                ([.gatt, .l2cap], [.l2cap, .gatt], false, .gatt), ([.l2cap, .gatt], [.l2cap, .gatt], true, .gatt),
                ([.l2cap, .gatt], [.gatt, .l2cap], false, .l2cap),
            ] {
                try await withAir(conditions { $0.refusesChannels = refuses }) { air in
                    let informations = Mutex<[LinkInformation]>([])
                    let noting: LinkInstaller<RawLink> = { channel, information in
                        informations.withLock { $0.append(information) }
                        return raw(channel, information)
                    }
                    let bob = try await VirtualTransport(air: air.path, modes: listener).listen(
                        on: .virtual("bob"), install: noting)
                    let link = try await VirtualTransport(air: air.path, name: "alice", modes: dialler).dial(
                        .virtual("bob"), timeout: .seconds(60), install: noting)
                    var links = bob.makeAsyncIterator()
                    let accepted = try #require(await links.next())
                    try await link.executeThenClose { _, _ in }
                    try await accepted.executeThenClose { inbound, _ in for try await _ in inbound {} }
                    await bob.close()
                    let seen = informations.withLock { $0 }
                    #expect(seen.count == 2 && seen.allSatisfy { $0.kind == expected })
                    #expect(seen.first { $0.isInitiator }?.remoteAddress == "virtual://bob")
                    #expect(seen.first { !$0.isInitiator }?.remoteAddress == "virtual://alice")
                }
            }
        }

        @Test func devicesWithoutACommonWayAreToldSo() async throws {
            try await withAir { air in
                let bob = try await VirtualTransport(air: air.path, modes: [.gatt]).listen(
                    on: .virtual("bob"), install: raw)
                let error = await #expect(throws: LinkError.self) {
                    try await VirtualTransport(air: air.path, modes: [.l2cap]).dial(
                        .virtual("bob"), timeout: .seconds(60), install: raw)
                }
                #expect(error?.code == .refused)
                #expect(error?.isTransient == false)
                await bob.close()
            }
        }

        @Test func aDialEndsAtItsTimeLimit() async throws {
            try await withAir { air in
                let error = await #expect(throws: LinkError.self) {
                    try await VirtualTransport(air: air.path).dial(
                        .virtual("nobody"), timeout: .milliseconds(20), install: raw)
                }
                #expect(error?.code == .timedOut)
                #expect(error?.isTransient == true)
            }
        }

        /// The dial waits; advertising and coming into range end the wait.
        @Test func aDialWaitsForTheDeviceToCome() async throws {
            try await withAir { air in
                let transport = VirtualTransport(air: air.path, name: "alice")
                try await air.setSignal(-120, of: "bob")
                async let link = transport.dial(.virtual("bob"), timeout: .seconds(60), install: raw)
                let bob = try await VirtualTransport(air: air.path).listen(on: .virtual("bob"), install: raw)
                #expect(try await transport.nearby().isEmpty)
                try await air.setSignal(-90, of: "bob")
                try await link.executeThenClose { _, _ in }
                await bob.close()
            }
        }

        @Test func walkingAwayBreaksTheLink() async throws {
            try await withAir { air in
                let bob = try await VirtualTransport(air: air.path).listen(on: .virtual("bob"), install: raw)
                let link = try await VirtualTransport(air: air.path, name: "alice").dial(
                    .virtual("bob"), timeout: .seconds(60), install: raw)
                var links = bob.makeAsyncIterator()
                let accepted = try #require(await links.next())
                try await air.setSignal(-110, of: "alice")
                try await link.channel.closeFuture.get()
                try await accepted.channel.closeFuture.get()
                let statistics = try await air.statistics()
                #expect(statistics.connections == 1)
                #expect(statistics.lostConnections == 1)
                for link in [link, accepted] { try await link.executeThenClose { _, _ in } }
                await bob.close()
            }
        }

        @Test func countsWhatWentOverTheAir() async throws {
            try await withAir { air in
                let bob = try await VirtualTransport(air: air.path).listen(on: .virtual("bob"), install: raw)
                let link = try await VirtualTransport(air: air.path, name: "alice").dial(
                    .virtual("bob"), timeout: .seconds(60), install: raw)
                var links = bob.makeAsyncIterator()
                let accepted = try #require(await links.next())
                try await link.executeThenClose { _, outbound in
                    try await outbound.write(ByteBuffer(repeating: 1, count: 10_000))
                    try await accepted.executeThenClose { inbound, _ in
                        var count = 0
                        for try await piece in inbound {
                            count += piece.readableBytes
                            if count == 10_000 { break }
                        }
                    }
                }
                await bob.close()
                let statistics = try await air.statistics()
                let out = try #require(statistics.directions["alice>bob"])
                #expect(out.streamBytes == 10_000)
                #expect((10_100...10_500).contains(out.frameBytes))
                #expect(out.airBytes > out.frameBytes)
                #expect(statistics.json.hasPrefix("{\"connections\":1,"))
                #expect(statistics.json.contains("\"alice>bob\":{\"packets\":"))
            }
        }

        /// The radio as a switch: it goes and comes back, and whoever listened listens again.
        @Test func anAirThatComesBackIsJoinedAgain() async throws {
            let path = temporarySocketPath()
            let first = try await VirtualAir.open(at: path, speed: 100)
            let bob = try await VirtualTransport(air: path).listen(on: .virtual("bob"), install: raw)
            await first.close()
            let second = try await VirtualAir.open(at: path, speed: 100)
            let link = try await VirtualTransport(air: path).dial(.virtual("bob"), timeout: .seconds(60), install: raw)
            try await link.executeThenClose { _, _ in }
            await bob.close()
            await second.close()
        }

        @Test func nonsenseOnTheSocketHarmsNobody() async throws {
            try await withAir { air in
                for bytes in [
                    "\n", "dial\n", "GET / HTTP/1.1\r\n\r\n", String(repeating: "x", count: 100_000), "accept 1\n",
                ] {
                    let channel = try await VirtualTransport(air: air.path).bootstrap(on: NIOSingletons.loop)
                        .channelOption(.autoRead, value: true)
                        .connect(unixDomainSocketPath: air.path).get()
                    // A line that never ends may end the connection before it was written.
                    try? await channel.writeAndFlush(ByteBuffer(string: bytes)).get()
                    try? await channel.close().get()
                }
                let bob = try await VirtualTransport(air: air.path).listen(on: .virtual("bob"), install: raw)
                let link = try await VirtualTransport(air: air.path).dial(
                    .virtual("bob"), timeout: .seconds(60), install: raw)
                try await link.executeThenClose { _, _ in }
                await bob.close()
            }
        }
    }
}
