import NIOCore
import SyncTestKit
import Testing

@testable import Proxies

/// Golden bytes of RFC 1928, RFC 1929 and RFC 9110: what is sent, what is understood, what is left for the target.
@Suite struct HandshakeTests {
    static let socks = ProxyAddress(kind: .socks5, host: "proxy", port: 1080)
    static let socksWithPassword = ProxyAddress(
        kind: .socks5, host: "proxy", port: 1080, credentials: credentials("user", "word"))
    static let http = ProxyAddress(kind: .http, host: "proxy", port: 3128)
    static let httpWithPassword = ProxyAddress(
        kind: .http, host: "proxy", port: 3128, credentials: credentials("Aladdin", "open sesame"))

    /// A whole conversation: what the proxy says, and what was sent before it said that.
    struct Conversation {
        var proxy: ProxyAddress
        var host = "example.org"
        var port: UInt16 = 22000
        /// (sent by us, answered by the proxy), in order.
        var turns: [(sent: [UInt8], answered: [UInt8])]
    }

    static let conversations: [Conversation] = [
        Conversation(
            proxy: socks, host: "192.0.2.7",
            turns: [
                ([5, 1, 0], [5, 0]), ([5, 1, 0, 1, 192, 0, 2, 7, 0x55, 0xF0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
            ]),
        Conversation(
            proxy: socks,
            turns: [
                ([5, 1, 0], [5, 0]),
                ([5, 1, 0, 3, 11] + Array("example.org".utf8) + [0x55, 0xF0], [5, 0, 0, 3, 2, 0x61, 0x62, 1, 2]),
            ]),
        Conversation(
            proxy: socks, host: "2001:db8::1", port: 1,
            turns: [
                ([5, 1, 0], [5, 0]),
                (
                    [5, 1, 0, 4, 0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1, 0, 1],
                    [5, 0, 0, 4] + [UInt8](repeating: 9, count: 18)
                ),
            ]),
        Conversation(
            proxy: socksWithPassword, host: "192.0.2.7",
            turns: [
                ([5, 2, 0, 2], [5, 2]),
                ([1, 4] + Array("user".utf8) + [4] + Array("word".utf8), [1, 0]),
                ([5, 1, 0, 1, 192, 0, 2, 7, 0x55, 0xF0], [5, 0, 0, 1, 10, 0, 0, 1, 0, 1]),
            ]),
        // It knows a password and does not want it.
        Conversation(
            proxy: socksWithPassword, host: "192.0.2.7",
            turns: [
                ([5, 2, 0, 2], [5, 0]), ([5, 1, 0, 1, 192, 0, 2, 7, 0x55, 0xF0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
            ]),
        Conversation(
            proxy: http,
            turns: [
                (
                    Array("CONNECT example.org:22000 HTTP/1.1\r\nHost: example.org:22000\r\n\r\n".utf8),
                    Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
                )
            ]),
        // The example of RFC 7617, section 2; a length in a success means nothing (RFC 9110, section 9.3.6).
        Conversation(
            proxy: httpWithPassword, host: "2001:db8::1", port: 443,
            turns: [
                (
                    Array(
                        ("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n"
                            + "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n").utf8),
                    Array("HTTP/1.0 200\r\nContent-Length: 5\r\nVia: x\r\n\r\n".utf8)
                )
            ]),
        // An interim answer; lines without CR.
        Conversation(
            proxy: http,
            turns: [
                (
                    Array("CONNECT example.org:22000 HTTP/1.1\r\nHost: example.org:22000\r\n\r\n".utf8),
                    Array("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 204 OK\nA: b\n\n".utf8)
                )
            ]),
    ]

    /// Each answer whole, byte by byte, and with what the target says glued to the last one.
    @Test(arguments: conversations.indices, [1, 7, 10000])
    func speaks(index: Int, pieceByteCount: Int) throws {
        let conversation = Self.conversations[index]
        let greeting = Array("\u{5}HTTP/1.1 from the target\n\n".utf8)
        var handshake = try conversation.proxy.handshake(to: conversation.host, port: conversation.port)
        var sent = handshake.start()
        var buffer = ByteBuffer()
        for (number, turn) in conversation.turns.enumerated() {
            #expect(Array(sent.readableBytesView) == turn.sent)
            let isLast = number == conversation.turns.count - 1
            let bytes = turn.answered + (isLast ? greeting : [])
            var step = ProxyHandshakeStep.needMore
            for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
                buffer.writeBytes(bytes[start..<min(start + pieceByteCount, bytes.count)])
                if step == .needMore { step = try handshake.step(&buffer) }
            }
            switch step {
            case .send(let next):
                #expect(!isLast)
                sent = next
            case .established: #expect(isLast)
            case .needMore: Issue.record("the answer \(number) was not understood")
            }
        }
        #expect(Array(buffer.readableBytesView) == greeting)
    }

    @Test(
        arguments: [
            // SOCKS: choice of method
            (socks, [[5, 0xFF]], .passwordRequired), (socksWithPassword, [[5, 0xFF]], .wrongPassword),
            (socks, [[5, 2]], .notAProxy), (socks, [[5, 1]], .notAProxy), (socks, [[4, 90]], .notAProxy),
            (socks, [Array("HTTP/1.1 400".utf8)], .notAProxy), (socks, [Array("SSH-2.0".utf8)], .notAProxy),
            // password
            (socksWithPassword, [[5, 2], [1, 1]], .wrongPassword),
            (socksWithPassword, [[5, 2], [5, 0xFF]], .wrongPassword),
            (socksWithPassword, [[5, 2], [2, 0]], .notAProxy),
            // reply; two bytes are enough of a refusal
            (socks, [[5, 0], [5, 1]], .failed), (socks, [[5, 0], [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]], .refusedByProxy),
            (socks, [[5, 0], [5, 3]], .targetUnreachable), (socks, [[5, 0], [5, 4]], .targetUnreachable),
            (socks, [[5, 0], [5, 5]], .targetRefused), (socks, [[5, 0], [5, 6]], .targetUnreachable),
            (socks, [[5, 0], [5, 7]], .refusedByProxy), (socks, [[5, 0], [5, 8]], .refusedByProxy),
            (socks, [[5, 0], [5, 200]], .failed), (socks, [[5, 0], [5, 0, 0, 2]], .notAProxy),
            (socks, [[5, 0], [0, 0]], .notAProxy),
            // CONNECT
            (http, [Array("HTTP/1.1 407 \r\n\r\n".utf8)], .passwordRequired),
            (httpWithPassword, [Array("HTTP/1.1 407 Again\r\nProxy-Authenticate: Basic\r\n\r\n".utf8)], .wrongPassword),
            (http, [Array("HTTP/1.1 403 Forbidden\r\n\r\n".utf8)], .refusedByProxy),
            (http, [Array("HTTP/1.1 502 Bad gateway\r\n\r\n".utf8)], .targetUnreachable),
            (http, [Array("HTTP/1.1 504 Timeout\r\n\r\n".utf8)], .targetUnreachable),
            (http, [Array("HTTP/1.1 301 Elsewhere\r\nLocation: http://x\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1 405 No\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1 101 Switch\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1 2000 OK\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1 20\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/1.1 099 x\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("HTTP/2 200\r\n\r\n".utf8)], .notAProxy),
            (http, [Array("ICY".utf8)], .notAProxy), (http, [[5]], .notAProxy), (http, [[0x15, 3, 3]], .notAProxy),
        ] as [(ProxyAddress, [[UInt8]], ProxyError.Code)])
    func saysWhyNot(proxy: ProxyAddress, answers: [[UInt8]], code: ProxyError.Code) throws {
        var handshake = try proxy.handshake(to: "example.org", port: 22000)
        _ = handshake.start()
        let error = #expect(throws: ProxyError.self) {
            for answer in answers {
                var buffer = ByteBuffer(bytes: answer)
                let step = try handshake.step(&buffer)
                #expect(step != .needMore)
            }
        }
        #expect(error?.code == code)
        #expect(error?.message.contains("\(proxy)") == true)
        for secret in ["word", "open sesame", "Aladdin"] where code != .passwordRequired {
            #expect(error.map { !String(reflecting: $0).contains(":\(secret)") } == true)
        }
    }

    /// No more than 8 KiB are kept, in whatever pieces and however often it interrupts itself.
    @Test(arguments: [[], Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)], [1, 100, 20000])
    func boundsTheAnswer(repeated: [UInt8], pieceByteCount: Int) throws {
        var handshake = try Self.http.handshake(to: "example.org", port: 1)
        var endless = Array("HTTP/1.1 200 OK\r\nX: ".utf8) + [UInt8](repeating: 0x61, count: 10000)
        if !repeated.isEmpty { endless = Array((0..<1000).map { _ in repeated }.joined()) }
        var buffer = ByteBuffer()
        var byteCount = 0
        let error = #expect(throws: ProxyError.self) {
            for start in stride(from: 0, to: endless.count, by: pieceByteCount) {
                let piece = endless[start..<min(start + pieceByteCount, endless.count)]
                buffer.writeBytes(piece)
                byteCount += piece.count
                _ = try handshake.step(&buffer)
            }
        }
        #expect(error?.code == .notAProxy)
        #expect(byteCount <= 8192 + pieceByteCount)
    }

    /// An answer of just 8 KiB is read, and what follows it is the target's.
    @Test func readsTheLongestAnswer() throws {
        var handshake = try Self.http.handshake(to: "example.org", port: 1)
        let start = "HTTP/1.1 200 OK\r\nX: "
        let head = start + String(repeating: "a", count: 8192 - start.utf8.count - 4) + "\r\n\r\n"
        var buffer = ByteBuffer(string: head + "target")
        let step = try handshake.step(&buffer)
        #expect(step == .established)
        #expect(String(buffer: buffer) == "target")
    }

    @Test(
        arguments: [
            ("", 1), ("example.org", 0), ("exa\r\nmple.org", 1), ("example.org\r\nX: y", 1), ("exam ple", 1),
            ("fe80::1%eth0", 1),
            ("[::1]", 1), ("a:b", 1), ("user@host", 1), ("host/path", 1), ("ex\u{E4}mple", 1),
            (String(repeating: "a", count: 254), 1),
        ] as [(String, UInt16)])
    func refusesTargetsThatCannotBeAskedFor(host: String, port: UInt16) {
        for proxy in [Self.socks, Self.http] {
            let error = #expect(throws: ProxyError.self) { try proxy.handshake(to: host, port: port) }
            #expect(error?.code == .invalidTarget)
        }
    }

    /// Whatever a proxy sends, in whatever pieces: an end, an error or a question, and never more bytes kept than allowed.
    @Test func survivesMutations() throws {
        var generator = SeededGenerator(seed: 2)
        var outcomes: [String: Int] = [:]
        for _ in 0..<30000 {
            let conversation = generator.pick(Self.conversations)
            var handshake = try conversation.proxy.handshake(to: conversation.host, port: conversation.port)
            _ = handshake.start()
            var bytes = mutated(Array(conversation.turns.map(\.answered).joined()), with: &generator)
            if generator.isOne(in: 20) { bytes = generator.bytes(generator.int(0...600)) }
            var buffer = ByteBuffer()
            var outcome = "needMore"
            pieces: while !bytes.isEmpty {
                let count = min(generator.int(1...40), bytes.count)
                buffer.writeBytes(bytes.prefix(count))
                bytes.removeFirst(count)
                do {
                    // Each `send` consumes bytes, so that this ends.
                    loop: while true {
                        let before = buffer.readableBytes
                        switch try handshake.step(&buffer) {
                        case .needMore: break loop
                        case .send: #expect(buffer.readableBytes < before)
                        case .established:
                            outcome = "established"
                            break pieces
                        }
                    }
                } catch {
                    outcome = "\(error.code)"
                    break pieces
                }
                #expect(buffer.readableBytes <= 8192)
            }
            outcomes[outcome, default: 0] += 1
        }
        for outcome in ["needMore", "established", "notAProxy", "wrongPassword", "failed"] {
            #expect(outcomes[outcome, default: 0] > 10, "the mutations reach \(outcome)")
        }
    }
}
