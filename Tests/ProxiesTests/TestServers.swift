import Glibc
import NIOCore
import NIOPosix
import Testing

/// One accepted connection of a test's server.
struct Conversation {
    var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var received = ByteBuffer()

    struct Ended: Error {}

    init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) {
        self.inbound = inbound.makeAsyncIterator()
        self.outbound = outbound
    }

    mutating func read(_ count: Int) async throws -> [UInt8] {
        while true {
            if let bytes = received.readBytes(length: count) { return bytes }
            try await readMore()
        }
    }

    /// A request's head up to its empty line.
    mutating func readHead() async throws -> [String] {
        while true {
            let text = String(buffer: received)
            if let end = text.firstRange(of: "\r\n\r\n") {
                received.moveReaderIndex(forwardBy: text[..<end.upperBound].utf8.count)
                return text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
            }
            try await readMore()
        }
    }

    func write(_ bytes: some Sequence<UInt8>) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Until the client closes.
    mutating func wait() async throws { while try await inbound.next() != nil {} }

    /// Carries bytes between the client and a port of this machine until either ends; `answer` goes first.
    mutating func tunnel(to port: UInt16, answer: [UInt8]) async throws {
        let target = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: Int(port)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let outbound = self.outbound
        try await target.executeThenClose { fromTarget, toTarget in
            try await write(answer)
            async let down: Void = {
                for try await piece in fromTarget { try await outbound.write(piece) }
                outbound.finish()
            }()
            if received.readableBytes > 0 { try await toTarget.write(received) }
            while let piece = try await inbound.next() { try await toTarget.write(piece) }
            toTarget.finish()
            try await down
        }
    }

    private mutating func readMore() async throws {
        guard var piece = try await inbound.next() else { throw Ended() }
        received.writeBuffer(&piece)
    }
}

typealias Serving = @Sendable (inout Conversation) async throws -> Void

private func converse(on channel: any Channel, _ serve: @escaping Serving) async throws {
    let connection = try await channel.eventLoop.submit {
        let connection = try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        channel.setOption(.autoRead, value: true).whenFailure { _ in }
        return connection
    }.get()
    try await connection.executeThenClose { inbound, outbound in
        var conversation = Conversation(inbound, outbound)
        try await serve(&conversation)
    }
}

/// Runs a server on a port of 127.0.0.1 while `body` runs.
func withServer<Output: Sendable>(
    _ serve: @escaping Serving, _ body: (_ port: UInt16) async throws -> Output
) async throws -> Output {
    // Plain channels, as one that is accepted while the server ends is dropped, which an async one does not bear.
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelOption(.autoRead, value: false)
        .bind(host: "127.0.0.1", port: 0) { $0.eventLoop.makeSucceededFuture($0) }
    let port = UInt16(server.channel.localAddress?.port ?? 0)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            try? await server.executeThenClose { accepted in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await channel in accepted {
                        // How a conversation ends is for the client to judge.
                        group.addTask { try? await converse(on: channel, serve) }
                    }
                }
            }
        }
        defer { group.cancelAll() }
        return try await body(port)
    }
}

/// A port of 127.0.0.1 at which nothing listens.
func closedPort() throws -> UInt16 {
    // Bound and never listened on, for as long as the tests run: nobody else is given it meanwhile.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(descriptor, address, length) == 0 ? getsockname(descriptor, address, &length) : -1
        }
    }
    try #require(status == 0)
    return UInt16(bigEndian: address.sin_port)
}

/// Greets, then says back what it hears.
let greeting = "hello from the target\n"
let echo: Serving = { conversation in
    try await conversation.write(greeting.utf8)
    while let piece = try await conversation.inbound.next() { try await conversation.outbound.write(piece) }
}

/// The name that the proxies below resolve, to 127.0.0.1; no name server knows it.
let targetName = "target.invalid"

/// A SOCKS5 proxy; with `credentials` it insists on them.
func socksProxy(credentials: (user: String, password: String)? = nil) -> Serving {
    { conversation in
        let methodCount = try await conversation.read(2)[1]
        let methods = try await conversation.read(Int(methodCount))
        if let credentials {
            guard methods.contains(2) else { return try await conversation.write([5, 0xFF]) }
            try await conversation.write([5, 2])
            let userByteCount = try await conversation.read(2)[1]
            let user = try await conversation.read(Int(userByteCount))
            let password = try await conversation.read(Int(conversation.read(1)[0]))
            let isRight = user == Array(credentials.user.utf8) && password == Array(credentials.password.utf8)
            try await conversation.write([1, isRight ? 0 : 1])
            guard isRight else { return }
        } else {
            try await conversation.write([5, 0])
        }
        let kind = try await conversation.read(4)[3]
        let host = try await conversation.read(kind == 1 ? 4 : kind == 4 ? 16 : Int(conversation.read(1)[0]))
        guard kind == 1 ? host == [127, 0, 0, 1] : host == Array(targetName.utf8) else {
            return try await conversation.write([5, 4, 0, 1, 0, 0, 0, 0, 0, 0])
        }
        let port = try await conversation.read(2)
        do {
            try await conversation.tunnel(
                to: UInt16(port[0]) << 8 | UInt16(port[1]), answer: [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        } catch is NIOConnectionError {
            try await conversation.write([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            try await conversation.write([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
        }
    }
}

/// An HTTP proxy; with `authorization` it insists on that value of the header.
func connectProxy(authorization: String? = nil) -> Serving {
    { conversation in
        let head = try await conversation.readHead()
        if let authorization, !head.contains("Proxy-Authorization: Basic \(authorization)") {
            return try await conversation.write("HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm=x\r\n\r\n".utf8)
        }
        let request = head[0].split(separator: " ")
        let target = request[1].split(separator: ":")
        guard request[0] == "CONNECT", ["127.0.0.1", targetName].contains(String(target[0])),
            let port = UInt16(target[1])
        else { return try await conversation.write("HTTP/1.1 403 No\r\n\r\n".utf8) }
        do {
            try await conversation.tunnel(to: port, answer: Array("HTTP/1.1 200 Connected\r\n\r\n".utf8))
        } catch is NIOConnectionError {
            try await conversation.write("HTTP/1.1 502 Bad gateway\r\n\r\n".utf8)
        }
    }
}
