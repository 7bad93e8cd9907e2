import AsyncTools
import BlockExchange
import Fetching
import LinkSecurity
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import PeerLinks
@testable import SessionTestKit

/// Tests of how one device is reached, made by another over their link.
@Suite struct ReachTestTests {
    /// What came of a task.
    private final class Outcome<Value: Sendable>: Sendable {
        private let state = Mutex<Value?>(nil)

        var value: Value? { state.withLock { $0 } }
        func set(_ value: Value) { state.withLock { $0 = value } }
    }

    private static let addresses = (1...4).map { "tcp://203.0.113.\($0):22000" }

    /// A peer that has said Hello and ClusterConfig, as far as the agent.
    private func peer(
        _ scene: SessionScene, as number: Int = 1, takesReachTests: Bool = true
    ) async throws -> ScriptedPeer {
        let peer = try await scene.peer(as: number)
        peer.sayHello(client: "synctrain")
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        var config = peer.config(has: 0)
        config.takesReachTests = takesReachTests
        peer.say(.clusterConfig(config))
        try await scene.until { scene[0].session(peer.id)?.peerConfig != nil }
        return peer
    }

    /// Both ends are real: each address is dialled by the one that is asked, and its word comes back.
    @Test func oneAsksAndTheOtherAnswers() async throws {
        try await SessionScene.run(2) { scene in
            let wire = try await scene.connect()
            try await scene.until { scene[0].session(scene[1].id)?.takesReachTests == true }
            let session = try #require(scene[0].session(scene[1].id))
            scene[1].testDials.set([
                Self.addresses[0]: .device(scene[0].id), Self.addresses[1]: .device(scene.ids[2]),
                Self.addresses[2]: .failure(.refused), Self.addresses[3]: .silence,
            ])
            let found = Outcome<ReachAnswer>()
            let wanted = Self.addresses + ["tcp://192.168.1.1:22000", "tcp://:22000", "nonsense"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    found.set(try await session.test(ReachRequest(addresses: wanted)))
                }
                try await scene.until {
                    // A dial that hangs is given up after 5 s.
                    scene.clock.advance(within: .seconds(5))
                    return found.value != nil
                }
            }
            #expect(
                found.value?.results.map(\.outcome) == [
                    .reached, .otherDevice, .refused, .timedOut, .privateAddress, .unknownHost, .unusable,
                ])
            #expect(Set(scene[1].testDials.addresses) == Set(Self.addresses))
            #expect(wire.isOpen)
        }
    }

    @Test func aSyncthingIsNeverAsked() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await peer(scene, takesReachTests: false)
            let session = try #require(scene[0].session(peer.id))
            #expect(!session.takesReachTests)
            let failure = Outcome<any Error>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do { _ = try await session.test(ReachRequest(addresses: Self.addresses)) } catch {
                        failure.set(error)
                    }
                }
                try await scene.until { failure.value != nil || !peer.reachRequests.isEmpty }
                group.cancelAll()
            }
            #expect(failure.value is RequestError)
            #expect(peer.reachRequests.isEmpty && !peer.hasEnded)
        }
    }

    @Test func aTestIsMadeOnceEachTenSeconds() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await peer(scene)
            scene[0].testDials.set([Self.addresses[0]: .device(peer.id)])
            peer.test([Self.addresses[0]])
            try await scene.until { peer.reachAnswers.count == 1 }
            peer.test([Self.addresses[0]])
            try await scene.until { peer.reachAnswers.count == 2 }
            #expect(
                peer.reachAnswers == [
                    ReachAnswer(results: [.init(.reached)]), ReachAnswer(refusal: .tooSoon),
                ])
            #expect(scene[0].testDials.addresses == [Self.addresses[0]])
            scene.clock.advance(by: .seconds(10))
            peer.test([Self.addresses[0]])
            try await scene.until { peer.reachAnswers.count == 3 }
            #expect(peer.reachAnswers[2] == ReachAnswer(results: [.init(.reached)]))
            // Another device is not held up by it.
            let other = try await self.peer(scene, as: 2)
            other.test([Self.addresses[0]])
            try await scene.until { other.reachAnswers.count == 1 }
            #expect(other.reachAnswers == [ReachAnswer(results: [.init(.otherDevice)])])
        }
    }

    /// Eight at a time; more than two requests that wait end the link.
    @Test func thereAreLimits() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await peer(scene)
            let addresses = (1...16).map { "tcp://203.0.113.\($0):22000" }
            scene[0].testDials.set(Dictionary(uniqueKeysWithValues: addresses.map { ($0, .silence) }))
            peer.test(addresses)
            try await scene.until { scene[0].testDials.addresses.count >= 8 }
            #expect(scene[0].testDials.addresses.count == 8)
            #expect(peer.reachAnswers.isEmpty)
            for _ in 0..<3 { peer.test(addresses) }
            try await scene.until { peer.hasEnded }
            #expect(peer.closeReason?.contains("requests to test addresses") == true)
            #expect(scene[0].testDials.addresses.count == 8)
        }
    }

    /// Whoever waits is told when the link goes.
    @Test func aLinkThatGoesEndsTheTest() async throws {
        try await SessionScene.run(1) { scene in
            let wire = MemoryWire()
            let peer = try await scene.peer(over: wire)
            peer.sayHello(client: "synctrain")
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(ClusterConfig(takesReachTests: true)))
            try await scene.until { scene[0].session(peer.id)?.takesReachTests == true }
            let session = try #require(scene[0].session(peer.id))
            let failure = Outcome<any Error>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do { _ = try await session.test(ReachRequest(addresses: Self.addresses)) } catch {
                        failure.set(error)
                    }
                }
                try await scene.until { peer.reachRequests.count == 1 }
                #expect(peer.reachRequests.first?.request.addresses == Self.addresses)
                wire.cut()
                try await scene.until { failure.value != nil }
            }
            #expect(failure.value as? RequestError == .linkLost)
        }
    }

    /// A link on which nobody says Hello, as a test from outside is, leaves the link that there is alone.
    @Test func aLinkThatEndsAfterTLSDisturbsNothing() async throws {
        try await SessionScene.run(2) { scene in
            let wire = try await scene.connect()
            try await scene.until { scene[0].session(scene[1].id) != nil && scene[1].session(scene[0].id) != nil }
            let before = try #require(scene[0].session(scene[1].id))
            for number in 1...3 {
                let test = MemoryWire(number: number)
                let peer = try await scene.peer(over: test)
                let device = try #require(scene[0].device(peer.id))
                try await scene.until { device.state.sessions.count == 2 || peer.hasEnded }
                test.end(.dialler)
                try await scene.until { device.state.sessions.count == 1 && peer.hasEnded }
            }
            #expect(scene[0].session(scene[1].id) === before && before.isOpen && wire.isOpen)
            #expect(scene[0].device(scene[1].id)?.status.lastError == nil)
        }
    }

    @Test(arguments: [
        (LinkError.Code.refused, ReachAnswer.Outcome.refused), (.timedOut, .timedOut), (.unreachable, .unreachable),
        (.permissionDenied, .unreachable), (.failed, .unreachable),
    ])
    func failuresOfDials(_ code: LinkError.Code, _ outcome: ReachAnswer.Outcome) {
        #expect(ReachTester.outcome(of: LinkError(code, "", isTransient: true)) == outcome)
    }

    @Test(arguments: [
        (LinkSecurityError.Code.notTLS, ReachAnswer.Outcome.otherDevice), (.handshakeTimeout, .timedOut),
        (.closedInHandshake, .otherDevice), (.ownDevice, .otherDevice),
    ])
    func failuresOfHandshakes(_ code: LinkSecurityError.Code, _ outcome: ReachAnswer.Outcome) {
        #expect(ReachTester.outcome(of: LinkSecurityError(code, "")) == outcome)
    }
}
