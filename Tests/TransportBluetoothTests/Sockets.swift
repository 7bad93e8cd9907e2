import Glibc
import MessageBus

import Threads
@testable import TransportBluetooth

/// Reading and writing sockets outside of the tasks' threads.
enum Sockets {
    struct Failure: Error {
        var what: String
        var code: CInt
    }

    /// Runs what waits in a thread of its own: with a pool of few, tests that wait for one another would wait for ever.
    static func inThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do throws(SystemError) {
                try OwnedThread.startWaiting("test-socket") { continuation.resume(with: Result(catching: body)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func wait(_ descriptor: Descriptor, _ events: PollEvents) throws {
        var poll = Poll()
        poll.add(descriptor.number, events)
        if poll.wait(.seconds(30)).allSatisfy(\.isEmpty) { throw Failure(what: "nothing happens", code: ETIMEDOUT) }
    }

    static func write(_ bytes: [UInt8], to descriptor: Descriptor) async throws {
        try await inThread {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    send(descriptor.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    try wait(descriptor, .writable)
                } else {
                    throw Failure(what: "send", code: errno)
                }
            }
        }
    }

    static func write(_ packets: [[UInt8]], to descriptor: Descriptor) async throws {
        for packet in packets { try await write(packet, to: descriptor) }
    }

    /// Each packet as it came, until `byteCount` bytes are there; nil: to the end.
    static func packets(from descriptor: Descriptor, byteCount: Int?) async throws -> [[UInt8]] {
        try await inThread {
            var packets: [[UInt8]] = []
            var total = 0
            while total < byteCount ?? .max {
                try wait(descriptor, .readable)
                var buffer = [UInt8](repeating: 0, count: 65536)
                let count = recv(descriptor.number, &buffer, buffer.count, 0)
                if count == 0 { break }
                if count < 0, errno == EAGAIN { continue }
                guard count > 0 else { throw Failure(what: "recv", code: errno) }
                packets.append(Array(buffer[..<count]))
                total += count
            }
            return packets
        }
    }

    static func bytes(from descriptor: Descriptor, byteCount: Int?) async throws -> [UInt8] {
        try await packets(from: descriptor, byteCount: byteCount).flatMap(\.self)
    }

    /// Returns when a writer has filled the way from `descriptor` on.
    static func untilFull(_ descriptor: Descriptor) async throws {
        try await inThread {
            var poll = Poll()
            while true {
                poll = Poll()
                poll.add(descriptor.number, .writable)
                if poll.wait(.zero).allSatisfy(\.isEmpty) { return }
                sched_yield()
            }
        }
    }
}
