import BlockExchange
import LinkSecurity
import NIOCore
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportRelay
import TransportTCP

extension RelayTests {
    @Suite struct MembershipTests {
        @Test func theTokenAdmits() async throws {
            var switches = TestRelay.Switches()
            switches.token = "s3cret"
            try await withPair(switches) { pair in
                #expect(pair.listening.status.announcement == pair.relay.address.announcement)
                #expect(pair.listening.status.announcement?.contains("token") == false)
                // Who dials needs none.
                try await pair.withLink { dialled, accepted in
                    let got = try await carry([1], from: dialled, to: accepted)
                    #expect(got == [1])
                }
            }
        }

        @Test(arguments: [nil, "wrong"]) func aWrongTokenIsForGood(token: String?) async throws {
            let clock = ManualClock()
            var switches = TestRelay.Switches()
            switches.token = "s3cret"
            let relay = try await TestRelay.start(device: TestDevice(), switches)
            var address = relay.address
            address.token = token
            let listening = try TestDevice().listen(at: .fixed(address), clock: clock)
            let status = try await listening.status { $0.phase == .stopped }
            #expect(status.problem?.code == .wrongToken)
            #expect(status.announcement == nil)
            #expect(relay.joinRequestCount == 1)
            #expect(clock.sleeperCount == 0)
            await listening.links.close()
            await relay.stop()
        }

        /// Nothing is sent to a relay whose certificate is another than the address says.
        @Test func thePinIsCheckedFirst() async throws {
            let relay = try await TestRelay.start(device: TestDevice())
            var address = relay.address
            address.id = try TestDevice().id.description
            let listening = try TestDevice().listen(at: .fixed(address), clock: ManualClock())
            let status = try await listening.status { $0.phase == .waiting }
            #expect(status.problem?.code == .wrongRelay)
            #expect(relay.joinRequestCount == 0)
            await listening.links.close()
            await relay.stop()
        }

        @Test func anIdThatIsNoneIsNotReadAsNoPin() async throws {
            let relay = try await TestRelay.start(device: TestDevice())
            var address = relay.address
            address.id = "ABC"
            let listening = try TestDevice().listen(at: .fixed(address), clock: ManualClock())
            let status = try await listening.status { $0.phase == .stopped }
            #expect(status.problem?.code == .invalidAddress)
            #expect(relay.joinRequestCount == 0)
            await listening.links.close()
            await relay.stop()
        }

        @Test func withoutAPinAnyRelayWillDo() async throws {
            let relay = try await TestRelay.start(device: TestDevice())
            var address = relay.address
            address.id = nil
            let listening = try TestDevice().listen(at: .fixed(address))
            try await listening.joined()
            await listening.links.close()
            await relay.stop()
        }

        /// What listens there is a device: it chooses another protocol, or none.
        @Test func aServerThatIsNoRelay() async throws {
            let device = try TestDevice()
            let server = try await TCPTransport().listen(
                on: .tcp(host: "127.0.0.1", port: 0), install: device.authenticator().install)
            guard case .tcp(_, let port) = server.address else { return }
            let listening = try TestDevice().listen(
                at: .fixed(RelayAddress(host: "127.0.0.1", port: port)), clock: ManualClock())
            let status = try await listening.status { $0.phase == .waiting }
            #expect(status.problem.map { [.notRelay, .closed, .failed].contains($0.code) } == true)
            await listening.links.close()
            await server.close()
        }

        @Test func aRestartedRelayIsJoinedAgain() async throws {
            let clock = ManualClock()
            let (device, other) = (try TestDevice(), try TestDevice())
            let first = try await TestRelay.start(device: TestDevice())
            let listening = try other.listen(at: .fixed(first.address), clock: clock)
            try await listening.joined()
            // Long enough for the joining to count as a success.
            clock.advance(by: .seconds(61))
            let link = try await device.dial(other.id, at: first.address)
            await first.stop()
            try await link.closeFuture.get()
            let waiting = try await listening.status { $0.phase == .waiting }
            #expect(waiting.announcement == nil)
            #expect(waiting.nextTry.map { $0 - clock.now.offset <= .seconds(1) } == true)
            let second = try await TestRelay.start(device: first.device, port: first.address.port)
            await clock.advance(whenAsleep: 1)
            let joined = try await listening.joined()
            #expect(joined.problem == nil)
            #expect(joined.joinedSince == clock.now.offset)
            let again = try await device.dial(other.id, at: second.address)
            #expect(again.peer == other.id)
            await again.close()
            await listening.links.close()
            await second.stop()
        }

        @Test func aSecondJoiningWaitsForTheFirstToEnd() async throws {
            let clock = ManualClock()
            let device = try TestDevice()
            let relay = try await TestRelay.start(device: TestDevice())
            let first = try device.listen(at: .fixed(relay.address))
            try await first.joined()
            let second = try device.listen(at: .fixed(relay.address), clock: clock)
            let status = try await second.status { $0.phase == .waiting }
            #expect(status.problem?.code == .alreadyConnected)
            await first.links.close()
            while !Task.isCancelled, relay.state.withLock({ !$0.joined.isEmpty }) { await Task.yield() }
            await clock.advance(whenAsleep: 1)
            try await second.joined()
            await second.links.close()
            await relay.stop()
        }

        @Test func aFullRelayIsTriedAgain() async throws {
            let clock = ManualClock()
            var switches = TestRelay.Switches()
            switches.isFull = true
            let relay = try await TestRelay.start(device: TestDevice(), switches)
            let listening = try TestDevice().listen(at: .fixed(relay.address), clock: clock)
            #expect(try await listening.status { $0.phase == .waiting }.problem?.code == .full)
            relay.switches.isFull = false
            await clock.advance(whenAsleep: 1)
            try await listening.joined()
            await listening.links.close()
            await relay.stop()
        }

        @Test func aSilentRelayIsLeft() async throws {
            var switches = TestRelay.Switches()
            switches.isSilent = true
            let relay = try await TestRelay.start(device: TestDevice(), switches)
            var limits = RelayTransport.Limits()
            limits.join.response = .milliseconds(50)
            let listening = try TestDevice().listen(at: .fixed(relay.address), clock: ManualClock(), limits: limits)
            #expect(try await listening.status { $0.phase == .waiting }.problem?.code == .timedOut)
            await listening.links.close()
            await relay.stop()
        }

        /// After a change of network a relay that does not answer is left at once, and a wait is cut short.
        @Test func networkChanges() async throws {
            let clock = ManualClock()
            let relay = try await TestRelay.start(device: TestDevice())
            var limits = RelayTransport.Limits()
            limits.join.doubt = .milliseconds(50)
            let listening = try TestDevice().listen(at: .fixed(relay.address), clock: clock, limits: limits)
            _ = try await listening.status { $0.roundTrip != nil }
            relay.switches.isSilent = true
            listening.networkChanged()
            #expect(try await listening.status { $0.phase == .waiting }.problem?.code == .silent)
            relay.switches.isSilent = false
            while !Task.isCancelled, relay.state.withLock({ !$0.joined.isEmpty }) { await Task.yield() }
            listening.networkChanged()
            try await listening.joined()
            await listening.links.close()
            await relay.stop()
        }

        @Test func thePoolsNextRelayIsJoinedWhenOneGoes() async throws {
            let clock = ManualClock()
            let relays = [
                try await TestRelay.start(device: TestDevice()), try await TestRelay.start(device: TestDevice()),
            ]
            let dead = try await TestRelay.start(device: TestDevice())
            await dead.stop()
            let fetched = Mutex(0)
            let list = (relays + [dead]).map { "{\"url\":\"\($0.address.announcement)\"}" }.joined(separator: ",")
            let listening = try TestDevice().listen(
                at: .pool(url: "http://127.0.0.1/endpoint"), clock: clock,
                fetchPool: { url in
                    #expect(url == "http://127.0.0.1/endpoint")
                    fetched.withLock { $0 += 1 }
                    return Array("{\"relays\":[\(list)]}".utf8)
                })
            let first = try #require(try await listening.joined().relay)
            let others = relays.filter { $0.address != first }
            #expect(others.count == 1)
            for relay in relays where relay.address == first { await relay.stop() }
            await clock.advance(whenAsleep: 1)
            let second = try await listening.status { $0.phase == .joined && $0.relay != first }
            #expect(second.relay == others.first?.address)
            #expect(fetched.withLock { $0 } == 1)
            for relay in others { await relay.stop() }
            // The dead relay comes next, and then a new list.
            while fetched.withLock({ $0 }) == 1 { await clock.advance(whenAsleep: 1) }
            await listening.links.close()
        }

        @Test func aPoolThatCannotBeFetched() async throws {
            let clock = ManualClock()
            let listening = try TestDevice().listen(at: .publicPool, clock: clock) { _ in
                throw LinkError(.unreachable, "no network", isTransient: true)
            }
            #expect(try await listening.status { $0.phase == .waiting }.problem?.code == .invalidPool)
            await listening.links.close()
        }

        @Test func unwantedDevicesAreNotFollowed() async throws {
            let (first, second) = (try TestDevice(), try TestDevice())
            let relay = try await TestRelay.start(device: TestDevice())
            let listening = second.transport().listen(
                at: .fixed(relay.address), standing: { $0 == first.id ? .refused : .known },
                install: try second.authenticator().install)
            try await listening.joined()
            let dial = Task { try await first.dial(second.id, at: relay.address) }
            let status = try await listening.status { $0.refusedInvitationCount == 1 }
            #expect(status.sessionCount == 0)
            dial.cancel()
            _ = await dial.result
            await listening.links.close()
            await relay.stop()
        }

        /// Somebody who has added this device, and is not added here, becomes pending; a crowd of them does not get in.
        @Test func strangersComeOneAtATime() async throws {
            let (first, second) = (try TestDevice(), try TestDevice())
            let relay = try await TestRelay.start(device: TestDevice())
            let listening = second.transport().listen(
                at: .fixed(relay.address), standing: { _ in .stranger }, install: try second.authenticator().install)
            try await listening.joined()
            let links = Task { for await link in listening.links { await link.close() } }
            for number in 1...StrangerBudget.perMinute {
                let link = try await first.dial(second.id, at: relay.address)
                #expect(link.peer == second.id)
                await link.close()
                _ = try await listening.status { $0.sessionCount == number }
            }
            let beyond = Task { try await first.dial(second.id, at: relay.address) }
            _ = try await listening.status { $0.refusedInvitationCount >= 1 }
            beyond.cancel()
            _ = await beyond.result
            await listening.links.close()
            await links.value
            await relay.stop()
        }

        @Test func closingLeavesTheRelayAndEndsTheSequences() async throws {
            let relay = try await TestRelay.start(device: TestDevice())
            let listening = try TestDevice().listen(at: .fixed(relay.address))
            try await listening.joined()
            await listening.links.close()
            for await _ in listening.links {}
            for await _ in listening.statuses {}
            while !Task.isCancelled, relay.state.withLock({ !$0.joined.isEmpty }) { await Task.yield() }
            await relay.stop()
        }
    }
}
