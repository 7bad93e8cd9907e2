import BlockExchange
import Cryptography
import Glibc
import LinkSecurity
import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport
import TransportTCP

extension LinkTests {
    @Suite struct SecureLinkTests {
        @Test func carriesFiftyMegabytesBothWaysAtOnce() async throws {
            let dialling = try authenticator(), listening = try otherAuthenticator()
            let chunk = pattern(seed: 5, byteCount: 200_000), back = pattern(seed: 6, byteCount: 200_000)
            let rounds = 250
            @Sendable func exchange(_ link: SecureLink, send: ByteBuffer, expect: ByteBuffer) async throws {
                try await link.executeThenClose { inbound, outbound in
                    async let sent: Void = {
                        for _ in 0..<rounds { try await outbound.write(send) }
                    }()
                    let (digest, byteCount) = try await TransportTCPTests.digest(
                        of: inbound, byteCount: rounds * expect.readableBytes)
                    try await sent
                    #expect(byteCount == 50_000_000)
                    #expect(digest == repeated(expect, times: rounds))
                }
            }
            try await withSecurePair(dialling, listening) { link, accepted in
                async let one: Void = exchange(link, send: chunk, expect: back)
                try await exchange(accepted, send: back, expect: chunk)
                try await one
            }
        }

        @Test func knowsThePeerByItsCertificate() async throws {
            let mine = try #require(TestIdentity.shared[.p256]), other = try TestIdentity.other.get()
            try await withSecurePair(authenticator(), otherAuthenticator()) { link, accepted in
                #expect(link.peer.digest == other.fingerprint)
                #expect(accepted.peer.digest == mine.fingerprint)
                #expect(other.identity.device.digest == other.fingerprint)
                #expect(link.applicationProtocol == "bep/1.0")
                #expect(accepted.applicationProtocol == "bep/1.0")
                #expect(link.isNamedSyncthing)
                #expect(link.information.isInitiator)
                #expect(!accepted.information.isInitiator)
            }
        }

        @Test(arguments: TestIdentity.Kind.allCases)
        func meetsEachKindOfKey(kind: TestIdentity.Kind) async throws {
            let expected = try #require(TestIdentity.shared[kind]).fingerprint
            try await withSecurePair(authenticator(kind), otherAuthenticator()) { _, accepted in
                #expect(accepted.peer.digest == expected)
            }
            try await withSecurePair(otherAuthenticator(), authenticator(kind)) { link, _ in
                #expect(link.peer.digest == expected)
            }
        }

        /// The other end is OpenSSL here, as client and as server.
        @Test(arguments: TestIdentity.Kind.allCases)
        func meetsOpenSSL(kind: TestIdentity.Kind) async throws {
            let identity = try #require(TestIdentity.shared[kind])
            let own = try otherAuthenticator()
            try await withListener(own) { listener, port, _ in
                var links = listener.makeAsyncIterator()
                let client = try await OpenSSL.Running([
                    "s_client", "-connect", "127.0.0.1:\(port)", "-cert", identity.certificatePath, "-key",
                    identity.keyPath, "-alpn", "bep/1.0",
                ])
                defer { client.kill() }
                let link = try #require(await links.next())
                #expect(link.peer.digest == identity.fingerprint)
                #expect(await client.first(/ALPN protocol: (bep\/1\.0)/) != nil)
                await link.close()
            }
            let server = try await OpenSSL.Running([
                "s_server", "-accept", "127.0.0.1:0", "-cert", identity.certificatePath, "-key", identity.keyPath,
                "-verify", "1", "-alpn", "bep/1.0", "-naccept", "1",
            ])
            defer { server.kill() }
            let port = try #require(await server.first(/ACCEPT 127\.0\.0\.1:(\d+)/).flatMap { UInt16($0) })
            let link = try await TCPTransport().dial(
                .tcp(host: "127.0.0.1", port: port), timeout: .seconds(10), install: own.install)
            #expect(link.peer.digest == identity.fingerprint)
            #expect(link.applicationProtocol == "bep/1.0")
            await link.close()
        }

        @Test func refusesAnOldServer() async throws {
            let identity = try #require(TestIdentity.shared[.p256])
            let server = try await OpenSSL.Running([
                "s_server", "-accept", "127.0.0.1:0", "-cert", identity.certificatePath, "-key", identity.keyPath,
                "-verify", "1", "-tls1_2", "-naccept", "1",
            ])
            defer { server.kill() }
            let port = try #require(await server.first(/ACCEPT 127\.0\.0\.1:(\d+)/).flatMap { UInt16($0) })
            let error = await #expect(throws: LinkSecurityError.self) {
                _ = try await TCPTransport().dial(
                    .tcp(host: "127.0.0.1", port: port), timeout: .seconds(10), install: otherAuthenticator().install)
            }
            #expect(error?.code == .oldTLS)
        }

        @Test func readsNamesOfCertificates() async throws {
            for (subject, extensions, isNamed) in [
                ("/CN=syncthing", [String](), true),
                ("/O=x/CN=other", ["subjectAltName=DNS:a.example,DNS:syncthing"], true),
                ("/O=x/CN=other", ["subjectAltName=DNS:a.example"], false), ("/O=syncthing", [], false),
            ] {
                let identity = try TestIdentity(.p256, subject: subject, extensions: extensions)
                try await withSecurePair(otherAuthenticator(identity), authenticator()) { _, accepted in
                    #expect(accepted.isNamedSyncthing == isNamed, "\(subject) \(extensions): \(accepted.names)")
                }
            }
        }

        @Test func refusesOldTLS() async throws {
            let identity = try #require(TestIdentity.shared[.p256])
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                _ = try await OpenSSL.client(
                    port: port, ["-tls1_2", "-cert", identity.certificatePath, "-key", identity.keyPath])
                #expect(await outcomes.nextRefusal()?.code == .oldTLS)
                try await expectAlive(listener)
            }
        }

        @Test func refusesAClientWithoutACertificate() async throws {
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                _ = try await OpenSSL.client(port: port, ["-tls1_3"])
                #expect(await outcomes.nextRefusal()?.code == .noCertificate)
                try await expectAlive(listener)
            }
        }

        @Test func refusesAChain() async throws {
            let identity = try #require(TestIdentity.shared[.p256]), second = try #require(TestIdentity.shared[.p384])
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                _ = try await OpenSSL.client(
                    port: port,
                    [
                        "-cert", identity.certificatePath, "-key", identity.keyPath, "-cert_chain",
                        second.certificatePath,
                    ])
                #expect(await outcomes.nextRefusal()?.code == .severalCertificates)
                try await expectAlive(listener)
            }
        }

        @Test func toleratesNoProtocolAndRefusesAnother() async throws {
            let identity = try #require(TestIdentity.shared[.p256])
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                let arguments = [
                    "s_client", "-connect", "127.0.0.1:\(port)", "-cert", identity.certificatePath, "-key",
                    identity.keyPath,
                ]
                let plain = try await OpenSSL.Running(arguments)
                defer { plain.kill() }
                #expect(await outcomes.nextRefusal() == nil)
                var links = listener.makeAsyncIterator()
                let link = try #require(await links.next())
                #expect(link.applicationProtocol == nil)
                await link.close()
                let foreign = try await OpenSSL.Running(arguments + ["-alpn", "h2,http/1.1"])
                defer { foreign.kill() }
                #expect(await outcomes.nextRefusal()?.code == .otherProtocol)
                try await expectAlive(listener)
            }
        }

        @Test func choosesAmongSeveralProtocols() async throws {
            let both = try otherAuthenticator(protocols: ["bep/1.0", "synctrain-pair/1"])
            try await withSecurePair(authenticator(protocols: ["synctrain-pair/1"]), both) { link, accepted in
                #expect(link.applicationProtocol == "synctrain-pair/1")
                #expect(accepted.applicationProtocol == "synctrain-pair/1")
            }
        }

        /// A device that does not wait to be paired closes before a byte of it was read, and goes on with BEP; one that does
        /// speaks BEP all the same.
        @Test func pairsOnlyWhenItWaitsForIt() async throws {
            let pairing = LinkAuthenticator.pairingProtocol
            try await withListener(otherAuthenticator()) { listener, _, outcomes in
                let error = await #expect(throws: LinkSecurityError.self) {
                    _ = try await TCPTransport().dial(
                        listener.address, timeout: .seconds(10), install: authenticator(protocols: [pairing]).install)
                }
                #expect(error?.code == .notPairing)
                #expect(await outcomes.nextRefusal()?.code == .otherProtocol)
                try await expectAlive(listener)
            }
            let waiting = try otherAuthenticator(protocols: [LinkAuthenticator.blockExchangeProtocol, pairing])
            try await withSecurePair(authenticator(), waiting) { link, accepted in
                #expect(link.applicationProtocol == LinkAuthenticator.blockExchangeProtocol)
                #expect(accepted.applicationProtocol == LinkAuthenticator.blockExchangeProtocol)
            }
        }

        @Test func refusesItself() async throws {
            let identity = try TestIdentity.other.get()
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                let error = await #expect(throws: LinkSecurityError.self) {
                    _ = try await TCPTransport().dial(
                        listener.address, timeout: .seconds(10), install: otherAuthenticator().install)
                }
                #expect(error?.code == .ownDevice)
                #expect(await outcomes.nextRefusal()?.code == .refusedByPeer)
                _ = try await OpenSSL.client(
                    port: port, ["-cert", identity.certificatePath, "-key", identity.keyPath])
                #expect(await outcomes.nextRefusal()?.code == .ownDevice)
                try await expectAlive(listener)
            }
        }

        @Test(arguments: [
            Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8), [UInt8](repeating: 0, count: 4096),
            [UInt8](repeating: 0xFF, count: 70_000), [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00],
        ])
        func survivesGarbage(bytes: [UInt8]) async throws {
            try await withListener(otherAuthenticator()) { listener, port, outcomes in
                let link = try await TCPTransport().dial(listener.address, timeout: .seconds(10), install: raw)
                try await link.executeThenClose { inbound, outbound in
                    try await outbound.write(ByteBuffer(bytes: bytes))
                    #expect(await outcomes.nextRefusal() != nil)
                    // The listener closes, with an alert or a reset.
                    do { for try await _ in inbound {} } catch is IOError {}
                }
                try await expectAlive(listener)
            }
        }

        @Test func namesWhatDoesNotSpeakTLS() async throws {
            let listener = try await TCPTransport().listen(on: anyPort) { channel, _ in
                channel.writeAndFlush(ByteBuffer(string: "220 mail.example ESMTP ready, who are you?\r\n")).map {
                    channel
                }
            }
            let error = await #expect(throws: LinkSecurityError.self) {
                _ = try await TCPTransport().dial(
                    listener.address, timeout: .seconds(10), install: authenticator().install)
            }
            #expect(error?.code == .notTLS)
            await listener.close()
        }

        @Test func cutsAHandshakeThatStalls() async throws {
            try await withListener(otherAuthenticator(limit: .milliseconds(20))) { listener, port, outcomes in
                let link = try await TCPTransport().dial(listener.address, timeout: .seconds(10), install: raw)
                try await link.executeThenClose { inbound, _ in
                    #expect(await outcomes.nextRefusal()?.code == .handshakeTimeout)
                    for try await _ in inbound {}
                }
            }
            let silent = try #require(PlainSocket(type: SOCK_STREAM))
            defer { withExtendedLifetime(silent) {} }
            silent.ignorePeers(backlog: 4)
            let address = LinkAddress.tcp(host: "127.0.0.1", port: silent.port)
            let error = await #expect(throws: LinkSecurityError.self) {
                _ = try await TCPTransport().dial(
                    address, timeout: .seconds(10), install: authenticator(limit: .milliseconds(20)).install)
            }
            #expect(error?.code == .handshakeTimeout)
        }

        /// The reader takes nothing until the writer has come to a stand, then everything.
        @Test func aSlowReaderHoldsTheWriterBack() async throws {
            let chunk = pattern(seed: 9, byteCount: 128 * 1024)
            let rounds = 1600  // 200 MiB
            // The kernel's buffers at both ends, and some MiB of the channels'.
            let limit = try KernelBuffers.largestOfTCP() + 4 << 20
            try await withSecurePair(authenticator(), otherAuthenticator()) { link, accepted in
                let written = Atomic(0), read = Atomic(0)
                async let sent: Void = link.executeThenClose { inbound, outbound in
                    for _ in 0..<rounds {
                        try await outbound.write(chunk)
                        written.add(chunk.readableBytes, ordering: .relaxed)
                    }
                    for try await _ in inbound {}
                }
                let digest = try await accepted.executeThenClose { inbound, _ in
                    // Both event loops turned two hundred times and nothing moved: all buffers are full.
                    var last = -1, still = 0
                    while still < 200 {
                        for loop in [link.closeFuture.eventLoop, accepted.closeFuture.eventLoop] {
                            try await loop.submit {}.get()
                        }
                        let now = written.load(ordering: .relaxed)
                        still = now == last && now > 0 ? still + 1 : 0
                        last = now
                    }
                    #expect(last < limit)
                    let (digest, byteCount) = try await TransportTCPTests.digest(
                        of: inbound, byteCount: rounds * chunk.readableBytes
                    ) { byteCount in
                        let total = read.add(byteCount, ordering: .relaxed).newValue
                        let ahead = written.load(ordering: .relaxed) - total
                        if ahead > limit { Issue.record("the writer is \(ahead) bytes ahead") }
                    }
                    #expect(byteCount == rounds * chunk.readableBytes)
                    return digest
                }
                try await sent
                #expect(digest == repeated(chunk, times: rounds))
            }
        }

        @Test func closingIsPromptThoughNobodyReads() async throws {
            try await withSecurePair(authenticator(), otherAuthenticator()) { link, accepted in
                // Much of it is never read; the closing must find its way past it.
                try await accepted.executeThenClose { _, outbound in
                    try await outbound.write(pattern(seed: 2, byteCount: 400_000))
                    try await link.executeThenClose { inbound, _ in
                        for try await _ in inbound { break }
                    }
                }
                try await link.closeFuture.get()
                try await accepted.closeFuture.get()
            }
        }

        /// A killed peer's kernel ends the connection without a close_notify.
        @Test func aPeerThatIsKilledIsAPlainEnd() async throws {
            let identity = try #require(TestIdentity.shared[.p256])
            try await withListener(otherAuthenticator()) { listener, port, _ in
                var links = listener.makeAsyncIterator()
                let client = try await OpenSSL.Running([
                    "s_client", "-connect", "127.0.0.1:\(port)", "-cert", identity.certificatePath, "-key",
                    identity.keyPath,
                ])
                let link = try #require(await links.next())
                try await link.executeThenClose { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "are you there?"))
                    #expect(await client.first(/(are you there\?)/) != nil)
                    client.kill()
                    for try await _ in inbound { Issue.record("bytes from nowhere") }
                }
            }
        }

        @Test func aLinkNobodyKeepsIsClosed() async throws {
            try await withListener(authenticator()) { listener, _, _ in
                var link: SecureLink? = try await TCPTransport().dial(
                    listener.address, timeout: .seconds(10), install: otherAuthenticator().install)
                var links = listener.makeAsyncIterator()
                let accepted = try #require(await links.next())
                let closed = try #require(link?.closeFuture)
                link = nil
                try await accepted.executeThenClose { inbound, _ in for try await _ in inbound {} }
                try await closed.get()
            }
        }

        @Test func explainsAnUnusableIdentity() throws {
            let one = try #require(TestIdentity.shared[.p256]), two = try #require(TestIdentity.shared[.ed25519])
            for (certificate, key) in [("", ""), ("nonsense", one.keyPEM), (one.certificatePEM, "nonsense")] {
                let error = #expect(throws: LinkSecurityError.self) {
                    try LinkIdentity(certificatePEM: certificate, keyPEM: key)
                }
                #expect(error?.code == .unusableIdentity)
            }
            let mixed = try LinkIdentity(certificatePEM: one.certificatePEM, keyPEM: two.keyPEM)
            let error = #expect(throws: LinkSecurityError.self) { try LinkAuthenticator(identity: mixed) }
            #expect(error?.code == .unusableIdentity)
        }

        private func expectAlive(_ listener: LinkListener<SecureLink>) async throws {
            let link = try await TCPTransport().dial(
                listener.address, timeout: .seconds(10), install: authenticator(.p384).install)
            #expect(try link.peer == TestIdentity.other.get().identity.device)
            await link.close()
        }

        private func repeated(_ chunk: ByteBuffer, times: Int) -> SHA256Digest {
            var hasher = SHA256Hasher()
            for _ in 0..<times { chunk.withUnsafeReadableBytes { hasher.update($0) } }
            return hasher.finalize()
        }
    }
}
