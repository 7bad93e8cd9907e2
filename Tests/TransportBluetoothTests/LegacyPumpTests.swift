import GhostDrop
import Glibc
import MessageBus
import Testing
import Threads

@testable import TransportBluetooth

@Suite(.timeLimit(.minutes(1))) struct LegacyPumpTests {
    /// What waits for it is lost with the link, also what was not read from the stream yet.
    @Test(arguments: [1, 1000]) func aPeerThatTakesNothingKeepsNoLink(frameCount: UInt32) async throws {
        let (stream, user) = try Descriptor.pair(.stream)
        let inbox = try PacketInbox()
        let (outcomes, continuation) = AsyncStream.makeStream(of: PacketPump.Outcome.self)
        try await Sockets.write((0..<frameCount).flatMap { DropFrame.ping(id: $0).bytes }, to: user)
        try OwnedThread.startWaiting("test-drop") {
            let full = GATTPump.Outlet.call { _ in false }
            var pump = LegacyPump(inlet: .inbox(inbox), bulk: full, control: full, valueLimit: 20)
            pump.lingering = .milliseconds(20)
            continuation.yield(pump.run(stream))
            continuation.finish()
        }
        shutdown(user.number, CInt(SHUT_RDWR))
        var outcome = outcomes.makeAsyncIterator()
        #expect(await outcome.next() == .closedHere)
    }
}
