import Glibc
import Logging
import SyncTestKit
import Synchronization
import Testing

@testable import PeerLinks

@Suite(.timeLimit(.minutes(1))) struct NetworkWatchTests {
    /// Hands out ends of sockets, whose other ends tell of changes.
    private final class Sockets: Sendable {
        private let others = Mutex<[CInt]>([])

        deinit { for other in others.withLock({ $0 }) { close(other) } }

        var count: Int { others.withLock { $0.count } }

        func open() -> CInt {
            var ends: [CInt] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                return -1
            }
            others.withLock { $0.append(ends[1]) }
            return ends[0]
        }

        func tell() { _ = others.withLock { write($0.last ?? -1, [1], 1) } }

        /// The last one tells of nothing any more.
        func end() { _ = others.withLock { shutdown($0.last ?? -1, Int32(SHUT_RDWR)) } }
    }

    /// As a socket of the kernel's does when its reader gets an error.
    @Test func whatEndsIsOpenedAgain() async throws {
        let (sockets, clock) = (Sockets(), ManualClock())
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        let watch = NetworkWatch(openEvents: sockets.open)
        let running = Task {
            await watch.run(clock: clock, logger: Logger(label: "test")) { change.yield() }
        }
        var seen = changes.makeAsyncIterator()
        while sockets.count < 1 { await Task.yield() }
        // What changed before the first was open, while the agent started, is looked for.
        await clock.advance(whenAsleep: 1)
        await seen.next()
        sockets.tell()
        // Changes that belong together are waited for.
        await clock.advance(whenAsleep: 1)
        await seen.next()
        sockets.end()
        await clock.advance(whenAsleep: 1)
        while sockets.count < 2 { await Task.yield() }
        // What changed while nothing was open is looked for.
        await clock.advance(whenAsleep: 1)
        await seen.next()
        sockets.tell()
        await clock.advance(whenAsleep: 1)
        await seen.next()
        running.cancel()
        await running.value
        #expect(sockets.count == 2)
    }

    @Test func withoutEventsNothingIsFollowed() async {
        await NetworkWatch(openEvents: { -1 }).run(clock: ManualClock(), logger: Logger(label: "test")) {}
    }

    /// A burst of changes that nobody has read yet is no error.
    @Test func aFullBufferIsNoError() throws {
        let descriptor = NetworkWatch.systemEvents()
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        // SOL_NETLINK and NETLINK_NO_ENOBUFS of netlink(7).
        var (isOn, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
        #expect(getsockopt(descriptor, 270, 5, &isOn, &length) == 0 && isOn == 1)
    }
}
