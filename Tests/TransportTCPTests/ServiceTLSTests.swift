import BlockExchange
import NIOCore
import SyncTestKit
import Synchronization
import Testing
import Transport
import TransportTCP

@testable import LinkSecurity

extension LinkTests {
    @Suite struct ServiceTLSTests {
        /// Runs the handshake, writes before it is done, and gives what was agreed on.
        private func negotiate(
            _ tls: ServiceTLS, port: UInt16, host: String = "127.0.0.1"
        ) async throws -> NegotiatedService {
            try await DirectStreams().connect(to: "127.0.0.1", port: port, timeout: .seconds(10)) { channel in
                let service = tls.install(on: channel, host: host)
                channel.writeAndFlush(ByteBuffer(string: "secret"), promise: nil)
                // Not at once, as the handshake's last message and what was written are sent after this callback.
                service.whenSuccess { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
                return service
            }
        }

        private func server<Output>(
            _ arguments: [String], _ body: (UInt16, TestIdentity) async throws -> Output
        ) async throws -> Output {
            let identity = try TestIdentity(
                .p256, subject: "/CN=localhost", extensions: ["subjectAltName=DNS:localhost,DNS:example.org"])
            let running = try await OpenSSL.Running(
                [
                    "s_server", "-accept", "127.0.0.1:0", "-cert", identity.certificatePath, "-key",
                    identity.keyPath,
                ] + arguments)
            defer { running.kill() }
            let port = try #require(await running.first(/ACCEPT 127\.0\.0\.1:(\d+)/).flatMap { UInt16($0) })
            return try await body(port, identity)
        }

        private func code(_ body: () async throws -> NegotiatedService) async -> LinkSecurityError.Code? {
            await #expect(throws: LinkSecurityError.self) { _ = try await body() }?.code
        }

        @Test(arguments: TestIdentity.Kind.allCases)
        func showsItsCertificateToThePinnedServer(kind: TestIdentity.Kind) async throws {
            let own = try #require(TestIdentity.shared[.p256])
            let server = kind == .p256 ? try TestIdentity.other.get() : try #require(TestIdentity.shared[kind])
            try await withListener(otherAuthenticator(server)) { listener, port, _ in
                let tls = try ServiceTLS(
                    identity: own.identity, trust: .pinned(server.identity.device),
                    applicationProtocols: ["nonsense", LinkAuthenticator.blockExchangeProtocol])
                let service = try await negotiate(tls, port: port)
                #expect(service.certificate == server.identity.device)
                #expect(service.applicationProtocol == LinkAuthenticator.blockExchangeProtocol)
                var links = listener.makeAsyncIterator()
                let accepted = try #require(await links.next())
                #expect(accepted.peer == own.identity.device)
                try await accepted.executeThenClose { inbound, _ in
                    var text = ""
                    for try await piece in inbound { text += String(buffer: piece) }
                    #expect(text == "secret")
                }
            }
        }

        /// The server learns neither who came nor what was to be said.
        @Test func refusesAnotherServerThanThePinnedOne() async throws {
            let own = try #require(TestIdentity.shared[.p256]), server = try TestIdentity.other.get()
            try await withListener(otherAuthenticator(server)) { _, port, outcomes in
                let tls = try ServiceTLS(
                    identity: own.identity, trust: .pinned(own.identity.device),
                    applicationProtocols: [LinkAuthenticator.blockExchangeProtocol])
                let error = await #expect(throws: LinkSecurityError.self) {
                    _ = try await negotiate(tls, port: port)
                }
                #expect(error?.code == .otherDevice)
                #expect(error?.message.contains(server.identity.device.description) == true)
                // The handshake has failed there, before a certificate was presented.
                let refusal = await outcomes.nextRefusal()
                #expect(refusal?.code == .refusedByPeer)
            }
        }

        @Test func verifiesAuthoritiesAndNames() async throws {
            try await server([]) { port, identity in
                let trusted = try ServiceTLS(identity: nil, trust: .authorities(pem: identity.certificatePEM))
                for host in ["localhost", "example.org", "example.org."] {
                    let service = try await negotiate(trusted, port: port, host: host)
                    #expect(service.certificate == identity.identity.device)
                }
                #expect(
                    await code { try await negotiate(trusted, port: port, host: "example.com") } == .unusableCertificate
                )
                // The certificate names no number.
                #expect(await code { try await negotiate(trusted, port: port) } == .unusableCertificate)
                #expect(await code { try await negotiate(trusted, port: port, host: "") } == .failed)
                let system = try ServiceTLS(identity: nil, trust: .webPKI)
                #expect(
                    await code { try await negotiate(system, port: port, host: "localhost") } == .unusableCertificate)
                let unchecked = try ServiceTLS(identity: nil, trust: .unchecked)
                #expect(try await negotiate(unchecked, port: port).certificate == identity.identity.device)
            }
        }

        /// A minimal system or container: whoever needs no authorities works, the others say what is missing.
        @Test func withoutAuthoritiesOnlyConnectionsThatNeedThemFail() async throws {
            try await server([]) { port, _ in
                let tls = try ServiceTLS(
                    identity: nil, trust: .webPKI, handshakeLimit: .seconds(10),
                    system: .file("/nonexistent/authorities.pem"))
                let error = await #expect(throws: LinkSecurityError.self) {
                    _ = try await negotiate(tls, port: port, host: "localhost")
                }
                #expect(error?.code == .unusableCertificate)
                #expect(error?.message.contains("install the package ca-certificates") == true)
            }
        }

        @Test func needsTLS12() async throws {
            for (arguments, isGood) in [(["-tls1_2"], true), (["-tls1_3"], true), (["-tls1_1"], false)] {
                try await server(arguments + ["-cipher", "DEFAULT@SECLEVEL=0"]) { port, identity in
                    let tls = try ServiceTLS(identity: nil, trust: .pinned(identity.identity.device))
                    if isGood {
                        let service = try await negotiate(tls, port: port)
                        #expect(
                            service
                                == NegotiatedService(applicationProtocol: nil, certificate: identity.identity.device))
                    } else {
                        #expect(await code { try await negotiate(tls, port: port) } == .oldTLS)
                    }
                }
            }
        }

        @Test func saysWhatElseAnswers() async throws {
            let tls = try ServiceTLS(identity: nil, trust: .unchecked)
            let impatient = try ServiceTLS(identity: nil, trust: .unchecked, handshakeLimit: .milliseconds(50))
            let talker = try await TCPTransport().listen(on: anyPort) { channel, _ in
                channel.writeAndFlush(ByteBuffer(string: "SSH-2.0-OpenSSH_9.2\r\n"))
            }
            let closer = try await TCPTransport().listen(on: anyPort) { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ClosingHandler())
                }
            }
            let silent = try await TCPTransport().listen(on: anyPort) { channel, _ in
                channel.eventLoop.makeSucceededVoidFuture()
            }
            for (listener, tls, expected) in [
                (talker, tls, LinkSecurityError.Code.notTLS), (closer, tls, .closedInHandshake),
                (silent, impatient, .handshakeTimeout),
            ] {
                guard case .tcp(_, let port) = listener.address else { continue }
                #expect(await code { try await negotiate(tls, port: port) } == expected)
                await listener.close()
            }
        }

        /// Closes at the first byte.
        private final class ClosingHandler: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
        }
    }

    @Suite struct DirectStreamsTests {
        private func listening<Output>(_ body: (UInt16) async throws -> Output) async throws -> Output {
            let listener = try await TCPTransport().listen(on: anyPort) { channel, _ in
                channel.eventLoop.makeSucceededFuture(channel.remoteAddress?.ipAddress)
            }
            guard case .tcp(_, let port) = listener.address else {
                throw LinkError(.failed, "no port", isTransient: false)
            }
            let output = try await body(port)
            await listener.close()
            return output
        }

        @Test(arguments: ["127.0.0.1", "localhost"])
        func connectsToNumbersAndNames(host: String) async throws {
            try await listening { port in
                let remote = try await DirectStreams().connect(to: host, port: port, timeout: .seconds(10)) { channel in
                    channel.close(promise: nil)
                    return channel.eventLoop.makeSucceededFuture(channel.remoteAddress?.port)
                }
                #expect(remote == Int(port))
            }
        }

        @Test func connectsFromTheAddressChosen() async throws {
            try await listening { port in
                let streams = DirectStreams(localAddress: IPAddress("127.0.0.9"))
                let local = try await streams.connect(to: "127.0.0.1", port: port, timeout: .seconds(10)) { channel in
                    channel.close(promise: nil)
                    return channel.eventLoop.makeSucceededFuture(channel.localAddress?.ipAddress)
                }
                #expect(local == "127.0.0.9")
            }
            let foreign = DirectStreams(localAddress: IPAddress("192.0.2.1"))
            await #expect(throws: LinkError.self) {
                try await foreign.connect(to: "127.0.0.1", port: 9, timeout: .seconds(10)) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }
            }
        }

        @Test(
            arguments: [
                ("", 22, LinkError.Code.invalidAddress), ("0.0.0.0", 22, .invalidAddress),
                ("127.0.0.1", 0, .invalidAddress),
            ] as [(String, UInt16, LinkError.Code)])
        func refusesWhatIsNoDestination(host: String, port: UInt16, code: LinkError.Code) async {
            let error = await #expect(throws: LinkError.self) {
                try await DirectStreams().connect(to: host, port: port, timeout: .seconds(10)) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }
            }
            #expect(error?.code == code)
        }

        @Test func givesUpOnAHostThatDoesNotAnswer() async throws {
            let full = try #require(PlainSocket.full())
            let error = await #expect(throws: LinkError.self) {
                try await DirectStreams().connect(to: "127.0.0.1", port: full.socket.port, timeout: .milliseconds(50)) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }
            }
            #expect(error?.code == .timedOut)
        }

        @Test func closesWhatItsInstallerRefuses() async throws {
            struct Refusal: Error {}
            try await listening { port in
                let closed = Mutex<EventLoopFuture<Void>?>(nil)
                await #expect(throws: Refusal.self) {
                    try await DirectStreams().connect(to: "127.0.0.1", port: port, timeout: .seconds(10)) { channel in
                        closed.withLock { $0 = channel.closeFuture }
                        return channel.eventLoop.makeFailedFuture(Refusal()) as EventLoopFuture<Void>
                    }
                }
                try await closed.withLock { $0 }?.get()
            }
        }
    }
}
