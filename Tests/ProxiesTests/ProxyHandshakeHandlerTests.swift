import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Proxies

@Suite struct ProxyHandshakeHandlerTests {
    let proxy = ProxyAddress(kind: .socks5, host: "proxy", port: 1080)
    let channel = EmbeddedChannel()

    func begin() throws -> EventLoopFuture<Void> {
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1080)).wait()
        let output = channel.eventLoop.makePromise(of: Void.self)
        let handler = ProxyHandshakeHandler(
            proxy: proxy, target: "target:1", handshake: try proxy.handshake(to: "192.0.2.7", port: 1),
            limit: .seconds(10), output: output
        ) { channel in
            channel.eventLoop.makeSucceededVoidFuture()
        }
        try channel.pipeline.syncOperations.addHandler(handler)
        return output.futureResult
    }

    func code(of future: EventLoopFuture<Void>) -> ProxyError.Code? {
        let result = Mutex<ProxyError.Code?>(nil)
        future.whenFailure { error in result.withLock { $0 = (error as? ProxyError)?.code } }
        return result.withLock { $0 }
    }

    @Test func givesUpAtTheLimit() throws {
        let output = try begin()
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(9999))
        #expect(channel.isActive)
        #expect(code(of: output) == nil)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(code(of: output) == .timedOut)
        #expect(!channel.isActive)
    }

    /// A proxy that answers byte by byte has no more time than another.
    @Test func givesNoMoreTimeForDribbling() throws {
        let output = try begin()
        for byte in [5, 0, 5, 0, 0] as [UInt8] {
            channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            if channel.isActive { try channel.writeInbound(ByteBuffer(bytes: [byte])) }
        }
        #expect(code(of: output) == .timedOut)
    }

    @Test func leavesThePipelineAndPassesOnWhatIsTheTargets() throws {
        let output = try begin()
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [5, 1, 0]))
        try channel.writeInbound(ByteBuffer(bytes: [5, 0]))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        try channel.writeInbound(ByteBuffer(bytes: [5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 8]))
        try output.wait()
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(bytes: [7, 8]))
        #expect(throws: (any Error).self) {
            try channel.pipeline.syncOperations.handler(type: ProxyHandshakeHandler<Void>.self)
        }
        // The limit is of the handshake only.
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func failsWhenTheProxyCloses() throws {
        let output = try begin()
        try channel.close().wait()
        #expect(code(of: output) == .closedByProxy)
    }

    @Test func failsOnceForSeveralReasons() throws {
        struct Broken: Error {}
        let output = try begin()
        channel.pipeline.fireErrorCaught(Broken())
        #expect(code(of: output) == .closedByProxy)
        #expect(!channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
    }
}
