import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport
import TransportTCP

extension LinkTests {
    @Suite struct TCPTransportTests {
        let transport = TCPTransport()

        @Test func carriesBytesBothWaysAndSaysWhoIsThere() async throws {
            let informations = Mutex<[LinkInformation]>([])
            let listener = try await transport.listen(on: anyPort) { channel, information in
                informations.withLock { $0.append(information) }
                return raw(channel, information)
            }
            let link = try await transport.dial(listener.address, timeout: .seconds(10)) { channel, information in
                informations.withLock { $0.append(information) }
                return raw(channel, information)
            }
            var links = listener.makeAsyncIterator()
            let accepted = try #require(await links.next())
            try await link.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "ping"))
                try await accepted.executeThenClose { inbound, outbound in
                    for try await piece in inbound {
                        #expect(String(buffer: piece) == "ping")
                        break
                    }
                    try await outbound.write(ByteBuffer(string: "pong"))
                }
                var received = ""
                for try await piece in inbound { received += String(buffer: piece) }
                #expect(received == "pong")
            }
            await listener.close()
            let seen = informations.withLock { $0 }
            #expect(seen.count == 2)
            #expect(seen.first { $0.isInitiator }?.remoteAddress == listener.address.description)
            #expect(seen.first { !$0.isInitiator }?.remoteAddress.hasPrefix("tcp://127.0.0.1:") == true)
            #expect(seen.allSatisfy { $0.kind == .tcp })
        }

        /// The listening side writes at once; the dialling side's installer takes its time.
        @Test func losesNoByteThatComesBeforeTheInstallerIsDone() async throws {
            let greeting = pattern(seed: 1, byteCount: 64 * 1024)
            let listener = try await transport.listen(on: anyPort) { channel, _ in
                channel.writeAndFlush(greeting).flatMapThrowing { channel }
            }
            let isHeld = Mutex<EventLoopPromise<Void>?>(nil)
            async let link = transport.dial(listener.address, timeout: .seconds(10)) { channel, information in
                let release = channel.eventLoop.makePromise(of: Void.self)
                isHeld.withLock { $0 = release }
                return raw(channel, information).and(release.futureResult).map(\.0)
            }
            var links = listener.makeAsyncIterator()
            let accepted = try #require(await links.next())
            // The greeting is in the kernel or beyond by now.
            while !Task.isCancelled, isHeld.withLock({ $0 == nil }) { await Task.yield() }
            isHeld.withLock { $0 }?.succeed()
            try await link.executeThenClose { inbound, _ in
                let (digest, byteCount) = try await TransportTCPTests.digest(of: inbound, byteCount: 64 * 1024)
                #expect(byteCount == 64 * 1024)
                #expect(digest == greeting.readableBytesView.sha256)
            }
            try await accepted.closeFuture.get()
            await listener.close()
        }

        @Test func boundsTheLinksBeingSetUp() async throws {
            let transport = TCPTransport(setUpLimit: 2)
            let state = Mutex((current: 0, most: 0, started: 0))
            let (starts, start) = AsyncStream.makeStream(of: EventLoopPromise<Int>.self)
            let listener = try await transport.listen(on: anyPort) { channel, _ in
                let number = state.withLock { state in
                    state.current += 1
                    state.most = max(state.most, state.current)
                    state.started += 1
                    return state.started
                }
                let promise = channel.eventLoop.makePromise(of: Int.self)
                start.yield(promise)
                return promise.futureResult.map { _ in number }
            }
            var clients: [RawLink] = []
            for _ in 0..<8 {
                clients.append(try await transport.dial(listener.address, timeout: .seconds(10), install: raw))
            }
            var pending = starts.makeAsyncIterator()
            var links = listener.makeAsyncIterator()
            for number in 1...8 {
                let promise = try #require(await pending.next())
                for _ in 0..<50 { try await clients[0].channel.eventLoop.submit {}.get() }
                state.withLock { $0.current -= 1 }
                if number.isMultiple(of: 2) {
                    promise.fail(ChannelError.eof)
                } else {
                    promise.succeed(number)
                    #expect(await links.next() != nil)
                }
            }
            #expect(state.withLock { $0.started } == 8)
            #expect(state.withLock { $0.most } == 2)
            for client in clients { try await client.executeThenClose { _, _ in } }
            await listener.close()
        }

        /// Links that say nothing have all places; one that is set up at once gets in all the same.
        @Test func aNewLinkReplacesTheOldestThatIsBeingSetUp() async throws {
            let transport = TCPTransport(setUpLimit: 8, setUpLimitPerAddress: 4)
            let silent = Mutex<[EventLoopPromise<Int>]>([])
            let listener = try await transport.listen(on: anyPort) { channel, _ in
                let promise = channel.eventLoop.makePromise(of: Int.self)
                let number = silent.withLock { silent in
                    silent.append(promise)
                    return silent.count
                }
                // The tenth is a device.
                if number == 10 { promise.succeed(number) }
                channel.closeFuture.whenComplete { _ in promise.fail(ChannelError.eof) }
                return promise.futureResult
            }
            var clients: [RawLink] = []
            for count in 1...10 {
                clients.append(try await transport.dial(listener.address, timeout: .seconds(10), install: raw))
                while !Task.isCancelled, silent.withLock({ $0.count < count }) { await Task.yield() }
            }
            var links = listener.makeAsyncIterator()
            #expect(await links.next() == 10)
            // Three silent ones are left, the newest.
            for client in clients[..<6] {
                try await client.executeThenClose { inbound, _ in
                    for try await _ in inbound { Issue.record("bytes from nowhere") }
                }
            }
            for client in clients[6...] {
                #expect(client.channel.isActive)
                try await client.executeThenClose { _, _ in }
            }
            await listener.close()
        }

        @Test func closingEndsTheSequenceAndWhatNobodyTook() async throws {
            let listener = try await transport.listen(on: anyPort, install: raw)
            let link = try await transport.dial(listener.address, timeout: .seconds(10), install: raw)
            await listener.close()
            try await link.executeThenClose { inbound, _ in
                // A link still in the kernel's queue is reset instead of closed.
                do { for try await _ in inbound { Issue.record("bytes from nowhere") } } catch is IOError {}
            }
            var links = listener.makeAsyncIterator()
            #expect(await links.next() == nil)
            await #expect(throws: LinkError.self) {
                _ = try await transport.dial(listener.address, timeout: .seconds(10), install: raw)
            }
        }

        @Test func saysWhichPortIsInUse() async throws {
            let listener = try await transport.listen(on: anyPort, install: raw)
            let error = await #expect(throws: LinkError.self) {
                _ = try await transport.listen(on: listener.address, install: raw)
            }
            #expect(error?.code == .addressInUse)
            #expect(error?.message.contains(listener.address.description) == true)
            await listener.close()
            let again = try await transport.listen(on: listener.address, install: raw)
            await again.close()
        }

        @Test(arguments: [
            ("tcp://192.0.2.1:22000", LinkError.Code.addressUnavailable), ("tcp://nas.example:22000", .invalidAddress),
            ("virtual://a", .unsupportedAddress), ("dynamic", .unsupportedAddress),
        ])
        func refusesToListen(on text: String, code: LinkError.Code) async throws {
            let address = try LinkAddress(parsing: text)
            let error = await #expect(throws: LinkError.self) {
                _ = try await transport.listen(on: address, install: raw)
            }
            #expect(error?.code == code)
        }

        @Test func listensOnAllAddressesWithoutAHost() async throws {
            let listener = try await transport.listen(on: .tcp(host: "", port: 0), install: raw)
            guard case .tcp("", let port) = listener.address else {
                Issue.record("\(listener.address)")
                return
            }
            let link = try await transport.dial(
                .tcp(host: "localhost", port: port), timeout: .seconds(10), install: raw)
            try await link.executeThenClose { _, _ in }
            await listener.close()
        }

        @Test func tellsWhyADialFailed() async throws {
            let free = try #require(PlainSocket(type: SOCK_STREAM)?.port)
            for (address, code) in [
                (LinkAddress.tcp(host: "127.0.0.1", port: free), LinkError.Code.refused),
                (.tcp(host: "no-such-host.invalid", port: 1), .hostNotFound), (.dynamic, .unsupportedAddress),
                (.tcp(host: "0.0.0.0", port: 1), .invalidAddress),
            ] {
                let error = await #expect(throws: LinkError.self) {
                    _ = try await transport.dial(address, timeout: .seconds(20), install: raw)
                }
                #expect(error?.code == code, "\(address): \(String(describing: error))")
            }
        }

        @Test func givesUpAtTheTimeLimit() async throws {
            let full = try #require(PlainSocket.full())
            defer { withExtendedLifetime(full) {} }
            let error = await #expect(throws: LinkError.self) {
                _ = try await transport.dial(
                    .tcp(host: "127.0.0.1", port: full.socket.port), timeout: .milliseconds(50), install: raw)
            }
            #expect(error?.code == .timedOut)
        }

        /// Half of the dials hang in connecting, half in the TLS handshake; all are cancelled at some point of it.
        @Test func cancelledDialsLeaveNoDescriptor() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let transport = TCPTransport(group: group)
            let security = try authenticator()
            let silent = try #require(PlainSocket(type: SOCK_STREAM))
            silent.ignorePeers(backlog: 256)
            let full = try #require(PlainSocket.full())
            defer { withExtendedLifetime((silent, full)) {} }
            func cancelledDial(_ number: Int) async -> Bool {
                let port = number.isMultiple(of: 2) ? silent.port : full.socket.port
                let dial = Task {
                    try await transport.dial(
                        .tcp(host: "127.0.0.1", port: port), timeout: .seconds(60), install: security.install)
                }
                for _ in 0..<number % 20 { try? await group.next().submit {}.get() }
                dial.cancel()
                if case .failure(let error) = await dial.result { return error is CancellationError }
                return false
            }
            #expect(await cancelledDial(0))
            let before = try FileDescriptors.count()
            for number in 0..<200 { #expect(await cancelledDial(number)) }
            #expect(try FileDescriptors.count() == before)
            try await group.shutdownGracefully()
        }

        @Test func connectAndDisconnectLeavesNoDescriptor() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let transport = TCPTransport(group: group)
            let listener = try await transport.listen(on: anyPort, install: raw)
            var links = listener.makeAsyncIterator()
            func once() async throws {
                let link = try await transport.dial(listener.address, timeout: .seconds(10), install: raw)
                let accepted = try #require(await links.next())
                try await link.executeThenClose { _, _ in }
                try await accepted.executeThenClose { inbound, _ in for try await _ in inbound {} }
            }
            try await once()
            let before = try FileDescriptors.count()
            for _ in 0..<500 { try await once() }
            #expect(try FileDescriptors.count() == before)
            await listener.close()
            try await group.shutdownGracefully()
        }
    }
}
