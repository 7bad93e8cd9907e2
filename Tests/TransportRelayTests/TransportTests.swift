import BlockExchange
import LinkSecurity
import NIOCore
import SyncTestKit
import Testing
import Transport
import TransportRelay
import TransportTCP

extension RelayTests {
    @Suite struct SessionTests {
        @Test func twoDevicesMeetAtARelay() async throws {
            try await withPair { pair in
                try await pair.withLink { dialled, accepted in
                    #expect(dialled.peer == pair.second.id)
                    #expect(accepted.peer == pair.first.id)
                    #expect(dialled.applicationProtocol == LinkAuthenticator.blockExchangeProtocol)
                    #expect(dialled.information.isInitiator)
                    #expect(!accepted.information.isInitiator)
                    #expect(dialled.information.remoteAddress == pair.relay.address.authority)
                    var random = SeededGenerator(seed: 5)
                    let bytes = random.bytes(3 << 20)
                    let got = try await carry(bytes, from: dialled, to: accepted)
                    #expect(got == bytes)
                }
                #expect(pair.listening.status.sessionCount == 1)
                #expect(pair.listening.status.roundTrip != nil)
            }
        }

        /// The relay says who is the TLS client, and says it either way.
        @Test func theRelayDecidesTheRoles() async throws {
            var switches = TestRelay.Switches()
            switches.swapsRoles = true
            try await withPair(switches) { pair in
                try await pair.withLink { dialled, accepted in
                    #expect(!dialled.information.isInitiator)
                    #expect(accepted.information.isInitiator)
                    #expect(dialled.peer == pair.second.id)
                    let got = try await carry([1, 2, 3], from: dialled, to: accepted)
                    #expect(got == [1, 2, 3])
                }
            }
        }

        @Test func noAddressIsTheRelays() async throws {
            var switches = TestRelay.Switches()
            switches.saysNoAddress = true
            try await withPair(switches) { pair in
                try await pair.withLink { dialled, accepted in
                    let got = try await carry([4, 5], from: accepted, to: dialled)
                    #expect(got == [4, 5])
                }
            }
        }

        /// The peer's first bytes arrive in one read with the response, and belong to the pipe.
        @Test func bytesBehindTheResponseAreNotLost() async throws {
            var switches = TestRelay.Switches()
            switches.gluesResponse = true
            try await withPair(switches) { pair in
                try await pair.withLink { dialled, accepted in
                    #expect(pair.relay.gluedCount == 1)
                    let got = try await carry([6, 7], from: dialled, to: accepted)
                    #expect(got == [6, 7])
                }
            }
        }

        /// What passes the relay is TLS: neither what is sent nor the devices' certificates can be read there.
        @Test func theRelaySeesCiphertextOnly() async throws {
            try await withPair { pair in
                let secret = Array("the secret that the relay must not see. ".utf8)
                let bytes = [[UInt8]](repeating: secret, count: 5000).flatMap(\.self)
                try await pair.withLink { dialled, accepted in
                    let got = try await carry(bytes, from: dialled, to: accepted)
                    #expect(got == bytes)
                }
                let passed = pair.relay.passed
                #expect(passed.count > bytes.count)
                #expect(passed.firstRange(of: secret.prefix(16)) == nil)
                #expect(passed.firstRange(of: Array("syncthing".utf8)) == nil)
                #expect(passed.first == 0x16)
            }
        }

        @Test(arguments: [
            TestRelay.PipeFault.truncates(after: 100_000), .reorders(after: 100_000), .replays(after: 100_000),
        ])
        func aRelayThatChangesBytesEndsTheLink(fault: TestRelay.PipeFault) async throws {
            try await withPair { pair in
                var random = SeededGenerator(seed: 9)
                let bytes = random.bytes(1 << 20)
                let dialled = try await pair.first.dial(pair.second.id, at: pair.relay.address)
                var links = pair.listening.links.makeAsyncIterator()
                let accepted = try #require(await links.next())
                pair.relay.switches.pipe = fault
                async let sending: Void = dialled.executeThenClose { _, outbound in
                    for start in stride(from: 0, to: bytes.count, by: 16 * 1024) {
                        try await outbound.write(ByteBuffer(bytes: bytes[start...].prefix(16 * 1024)))
                    }
                }
                var got: [UInt8] = []
                // Whether it ends with an error or without is TLS's matter; what came before is right.
                try? await accepted.executeThenClose { inbound, _ in
                    for try await piece in inbound { got += piece.readableBytesView }
                }
                try? await sending
                #expect(got.count < bytes.count)
                #expect(bytes.starts(with: got))
            }
        }

        @Test func aReplayedInvitationOpensNoSecondSession() async throws {
            var switches = TestRelay.Switches()
            switches.repeatsInvitations = true
            try await withPair(switches) { pair in
                try await pair.withLink { dialled, accepted in
                    let status = try await pair.listening.status { $0.failedSessionCount == 1 && $0.sessionCount == 1 }
                    #expect(status.sessionProblem?.code == .sessionExpired)
                    let got = try await carry([1, 2, 3], from: dialled, to: accepted)
                    #expect(got == [1, 2, 3])
                }
            }
        }

        @Test func manySessionsAtOnce() async throws {
            try await withPair { pair in
                let count = 20
                async let peers = withTaskGroup(of: DeviceID?.self) { group in
                    for _ in 0..<count {
                        group.addTask {
                            guard let device = try? TestDevice(),
                                let link = try? await device.dial(pair.second.id, at: pair.relay.address)
                            else { return nil }
                            let echo = try? await carryBack([7, 8, 9], over: link)
                            return echo == [7, 8, 9] ? device.id : nil
                        }
                    }
                    return await group.reduce(into: Set<DeviceID>()) { if let id = $1 { $0.insert(id) } }
                }
                var links = pair.listening.links.makeAsyncIterator()
                var accepted: Set<DeviceID> = []
                await withDiscardingTaskGroup { group in
                    for _ in 0..<count {
                        guard let link = await links.next() else { return }
                        accepted.insert(link.peer)
                        group.addTask { try? await echo(over: link) }
                    }
                }
                #expect(await peers == accepted)
                #expect(accepted.count == count)
            }
        }

        /// The side that is dialled comes later, so the first ends are those of the side that dials.
        @Test(arguments: [1, 2]) func aDroppedSessionIsAskedForAgain(count: Int) async throws {
            var switches = TestRelay.Switches()
            switches.missedCount = count
            try await withMissing(switches) { first, second, relay in
                let link = try await first.dial(second, at: relay)
                #expect(link.peer == second)
                await link.close()
            }
        }

        @Test func aRelayThatDropsEverySessionIsGivenUp() async throws {
            var switches = TestRelay.Switches()
            switches.missedCount = 3
            try await withMissing(switches) { first, second, relay in
                await #expect {
                    try await first.dial(second, at: relay)
                } throws: { ($0 as? LinkError)?.code == .refused && ($0 as? LinkError)?.isTransient == true }
            }
        }

        @Test func aDeviceThatIsNotThere() async throws {
            try await withPair { pair in
                await #expect {
                    try await pair.first.dial(pair.relay.device.id, at: pair.relay.address)
                } throws: { ($0 as? LinkError)?.code == .unreachable && ($0 as? LinkError)?.isTransient == true }
            }
        }

        @Test func nobodyAtTheAddress() async throws {
            let relay = try await TestRelay.start(device: TestDevice())
            await relay.stop()
            let device = try TestDevice()
            await #expect {
                try await device.dial(relay.device.id, at: relay.address)
            } throws: { ($0 as? LinkError)?.code == .unreachable && "\($0)".contains(relay.address.authority) }
        }

        @Test func silentRelays() async throws {
            var switches = TestRelay.Switches()
            switches.hasSilentSessions = true
            try await withPair(switches) { pair in
                var limits = RelayTransport.Limits()
                limits.session = .milliseconds(50)
                await #expect {
                    try await pair.first.dial(pair.second.id, at: pair.relay.address, limits: limits)
                } throws: { ($0 as? LinkError)?.code == .timedOut }
                pair.relay.switches.isSilent = true
                limits.invitation = .milliseconds(50)
                await #expect {
                    try await pair.first.dial(pair.second.id, at: pair.relay.address, limits: limits)
                } throws: { ($0 as? LinkError)?.code == .timedOut }
            }
        }

        @Test func aCancelledDialEndsAtOnce() async throws {
            try await withPair { pair in
                pair.relay.switches.isSilent = true
                let dial = Task { try await pair.first.dial(pair.second.id, at: pair.relay.address) }
                dial.cancel()
                await #expect(throws: CancellationError.self) { _ = try await dial.value }
            }
        }
    }
}

/// Two devices and a relay that drops ends of sessions; the device that is dialled follows no invitation whose session
/// the relay is still to drop, so that only the dialling side is hit.
func withMissing(
    _ switches: TestRelay.Switches, _ body: (TestDevice, DeviceID, RelayAddress) async throws -> Void
) async throws {
    let (first, second) = (try TestDevice(), try TestDevice())
    let relay = try await TestRelay.start(device: TestDevice(), switches)
    var limits = RelayTransport.Limits()
    limits.courtesy = .zero
    let listening = second.transport(limits: limits).listen(
        at: .fixed(relay.address),
        standing: { _ in
            // The end that dials has to come first; this waits until it has been dropped, or the drops are over.
            relay.switches.missedCount == 0 ? .known : .refused
        }, install: try second.authenticator().install)
    try await listening.joined()
    do {
        try await body(first, second.id, relay.address)
    } catch {
        await listening.links.close()
        await relay.stop()
        throw error
    }
    await listening.links.close()
    await relay.stop()
}

/// Sends `bytes` and gives as many that come back.
func carryBack(_ bytes: [UInt8], over link: SecureLink) async throws -> [UInt8] {
    try await link.executeThenClose { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: bytes))
        var got: [UInt8] = []
        for try await piece in inbound {
            got += piece.readableBytesView
            if got.count >= bytes.count { break }
        }
        return got
    }
}

/// Sends back what comes until the other end closes.
func echo(over link: SecureLink) async throws {
    try await link.executeThenClose { inbound, outbound in
        for try await piece in inbound { try await outbound.write(piece) }
    }
}
