import AgentServer
import ControlAPI
import ControlClient
import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A real server on a socket in a directory of its own.
struct ServerHarness {
    let socketPath: String
    /// Where the server listens over TCP, too; nil for nowhere.
    var links: LinkEndpoint?

    var client: ControlClient { ControlClient(socketPath: socketPath) }

    /// Runs the server while `body` runs.
    static func run(
        _ control: ScriptedControl, limits: AgentServer.Limits = .patient, links: LinkEndpoint? = nil,
        pace: @escaping @Sendable (Int) async -> Void = { _ in },
        surroundings: AgentServer.Surroundings = AgentServer.Surroundings(),
        _ body: @escaping @Sendable (ServerHarness) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let harness = ServerHarness(socketPath: directory + "/run/s.sock", links: links)
            try await harness.serve(control, limits: limits, pace: pace, surroundings: surroundings) {
                try await body(harness)
            }
        }
    }

    func serve(
        _ control: ScriptedControl, limits: AgentServer.Limits = .patient,
        pace: @escaping @Sendable (Int) async -> Void = { _ in },
        surroundings: AgentServer.Surroundings = AgentServer.Surroundings(),
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = AgentServer(
            agent: control.handlers, socketPath: socketPath, links: links, pace: pace, surroundings: surroundings,
            limits: limits, logger: .quiet
        ) { continuation.finish() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            group.addTask {
                for await _ in listening {}
                try await body()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Sends bytes as they are and gives all that comes back until the server closes.
    func exchange(_ request: String) async throws -> RawResponse { try await exchange(Array(request.utf8)) }

    func exchange(_ request: [UInt8]) async throws -> RawResponse {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: socketPath) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await Self.exchange(request, over: channel)
    }

    /// The same over TCP.
    func exchangeOverTCP(_ request: String) async throws -> RawResponse {
        try await Self.exchange(Array(request.utf8), over: try await connectOverTCP())
    }

    func connectOverTCP() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let port = try #require(links?.address?.split(separator: ":").last.flatMap { Int($0) })
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }

    /// Opens `count` connections that send nothing, in order.
    static func idle(
        _ count: Int, _ connect: (ClientBootstrap) async throws -> any Channel
    ) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(try await connect(ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)))
        }
        return channels
    }

    /// Waits until so many of the connections have ended.
    static func waitForEnds(_ count: Int, of channels: [any Channel]) async {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        for channel in channels { channel.closeFuture.whenComplete { _ in ended.yield() } }
        var iterator = ends.makeAsyncIterator()
        for _ in 0..<count { await iterator.next() }
    }

    private static func exchange(
        _ request: [UInt8], over channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    ) async throws -> RawResponse {
        try await channel.executeThenClose { inbound, outbound in
            do {
                try await outbound.write(ByteBuffer(bytes: request))
            } catch let error as ChannelError where error == .ioOnClosedChannel {
                // Where time is short, the server may be done before the request is written.
            }
            var bytes: [UInt8] = []
            do {
                for try await part in inbound { bytes += part.readableBytesView }
            } catch let error as IOError where error.errnoCode == ECONNRESET {
                // The server has closed on bytes that it did not want: as good an end as any.
            }
            return RawResponse(bytes: bytes)
        }
    }

    func get(_ target: String, headers: String = "", method: String = "GET") async throws -> RawResponse {
        try await exchange("\(method) \(target) HTTP/1.1\r\nHost: x\r\n\(headers)\r\n")
    }

    func post(_ target: String, json: String, method: String = "POST") async throws -> RawResponse {
        try await exchange(
            "\(method) \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)")
    }
}

struct RawResponse {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    init(bytes: [UInt8]) {
        let separator = Array("\r\n\r\n".utf8)
        var end = bytes.count
        for index in bytes.indices where bytes[index...].starts(with: separator) {
            end = index
            break
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        headers = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            if halves.count == 2 { headers[halves[0].lowercased()] = halves[1].trimmingCharacters(in: .whitespaces) }
        }
        body = Array(bytes.dropFirst(end + 4))
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    var error: ControlError? { try? ControlJSON.decode(ControlError.self, from: body) }
}

extension Logger {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "st-" + UUID().uuidString.prefix(8)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// The error that `body` throws.
func controlError(_ body: () async throws -> Void) async -> ControlError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? ControlError
    }
}

/// Values that closures bring together.
final class Box<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    var current: Value { value.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
}

extension AgentServer.Limits {
    /// Of tests that are not about time: a machine that is busy with others must not end a request.
    static let patient = AgentServer.Limits(requestTime: .minutes(5))
}
