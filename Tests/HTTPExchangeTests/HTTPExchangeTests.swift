import BlockExchange
import Cryptography
import HTTPExchange
import LinkSecurity
import NIOCore
import SyncTestKit
import Testing
import TransportTCP

@Suite(.timeLimit(.minutes(2))) struct HTTPExchangeTests {
    private static let small = HTTPLimits(timeout: .seconds(60), headerByteCount: 1000, bodyByteCount: 1000)

    private func answer(
        _ server: ScriptedServer, _ method: HTTPRequest.Method = .get, host: String = "127.0.0.1",
        path: String = "/v2/?a=b", body: String = "", limits: HTTPLimits = small, trust: ServiceTLS.Trust? = nil
    ) async throws -> HTTPAnswer {
        let scheme = trust == nil ? "http" : "https"
        let url = try HTTPURL(parsing: "\(scheme)://\(host):\(server.port)\(path)")
        let tls = try trust.map { try ServiceTLS(identity: nil, trust: $0) }
        return try await HTTPExchange(streams: DirectStreams()).answer(
            to: HTTPRequest(
                method, url, fields: [HTTPField("X-Test", "1")], body: ByteBuffer(string: body), limits: limits),
            tls: tls)
    }

    private func code(
        _ pieces: [String], then ending: ScriptedServer.Ending = .closes, tls: Bool = false,
        limits: HTTPLimits = small
    ) async throws -> HTTPExchangeError.Code? {
        try await ScriptedServer.with(pieces, then: ending, tls: tls) { server in
            let error = await #expect(throws: HTTPExchangeError.self) {
                try await answer(server, limits: limits, trust: tls ? .unchecked : nil)
            }
            return error?.code
        }
    }

    @Test func sendsARequestAndReadsTheAnswer() async throws {
        let script = ["HTTP/1.1 404 Not Found\r\nRetry-After: 117\r\nContent-Length: 10\r\n\r\nNot Fo", "und\n"]
        try await ScriptedServer.with(script, then: .hangs) { server in
            let answer = try await answer(server, .post, body: "{}")
            #expect(answer.status == 404)
            #expect(answer.retryAfter == .seconds(117))
            #expect(String(buffer: answer.body) == "Not Found\n")
            #expect(answer.certificate == nil)
            #expect(
                server.log.requests == [
                    "POST /v2/?a=b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nConnection: close\r\n"
                        + "Content-Length: 2\r\nX-Test: 1\r\n\r\n{}"
                ])
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 204 No Content\r\nReannounce-After: 3556\r\n\r\n", ScriptedServer.Ending.hangs, ""),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", .closes, "until the end"),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", .closes, "until the end"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", .hangs, "abcd"),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .hangs, "ok"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 More\r\n\r\n", .hangs, "ok"),
    ])
    func readsEveryKindOfBody(script: String, ending: ScriptedServer.Ending, body: String) async throws {
        for tls in [false, true] {
            try await ScriptedServer.with([script], then: ending, tls: tls) { server in
                let answer = try await answer(server, trust: tls ? .unchecked : nil)
                #expect(String(buffer: answer.body) == body)
                #expect((answer.certificate != nil) == tls)
            }
        }
    }

    @Test func refusesHostileAnswers() async throws {
        let ok = "HTTP/1.1 200 OK\r\n"
        #expect(try await code([ok, "X: " + String(repeating: "y", count: 70) + "\r\n"], then: .repeats) == .tooLarge)
        #expect(try await code(["HTTP/1.1 200 ", String(repeating: "y", count: 999)], then: .repeats) == .tooLarge)
        #expect(try await code(["HTTP/1.1 100 Continue\r\n\r\n"], then: .repeats) == .tooLarge)
        #expect(try await code([ok + "\r\n", String(repeating: "y", count: 999)], then: .repeats) == .tooLarge)
        #expect(try await code([ok + "Content-Length: 1001\r\n\r\n"], then: .hangs) == .tooLarge)
        let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
        #expect(try await code([chunked, "1\r\nx\r\n"], then: .repeats) == .tooLarge)
        #expect(try await code([chunked + "1;", "x=y;"], then: .repeats) == .tooLarge)
        #expect(try await code([chunked + "0\r\n", "X: y\r\n"], then: .repeats) == .tooLarge)
        #expect(try await code(["SSH-2.0-OpenSSH_9.2\r\n"], then: .hangs) == .malformed)
        #expect(try await code([ok + "Content-Length: -1\r\n\r\n"], then: .hangs) == .malformed)
        #expect(try await code([ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"], then: .hangs) == .malformed)
        #expect(try await code([chunked + "zz\r\n"], then: .hangs) == .malformed)
        #expect(try await code([]) == .closedEarly)
        #expect(try await code([ok]) == .closedEarly)
        #expect(try await code([ok + "Content-Length: 9\r\n\r\nhalf"]) == .closedEarly)
        #expect(try await code([chunked + "9\r\nhalf"]) == .closedEarly)
        #expect(try await code(["HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n"]) == .redirected)
    }

    /// Without close_notify a body that ends with the connection may be half of it.
    @Test func noticesACutTLSConnection() async throws {
        #expect(try await code(["HTTP/1.1 200 OK\r\n\r\nhalf"], then: .cuts, tls: true) == .closedEarly)
    }

    @Test func givesUpOnASilentServer() async throws {
        var limits = Self.small
        limits.timeout = .milliseconds(50)
        #expect(try await code([], then: .hangs, limits: limits) == .timedOut)
        #expect(try await code(["HTTP/1.1 200 OK\r\n"], then: .hangs, limits: limits) == .timedOut)
    }

    @Test func verifiesTheServer() async throws {
        let script = ["HTTP/1.1 204 No Content\r\n\r\n"]
        let own = try #require(SHA256Digest(hex: LoopbackCertificate.fingerprint)).device
        let other = SHA256.digest([1, 2, 3]).device
        try await ScriptedServer.with(script, tls: true) { server in
            for trust in [ServiceTLS.Trust.pinned(own), .unchecked, .authorities(pem: LoopbackCertificate.pem)] {
                #expect(try await answer(server, trust: trust).certificate == own)
            }
            let named = try await answer(server, host: "localhost", trust: .authorities(pem: LoopbackCertificate.pem))
            #expect(named.certificate == own)
            let count = server.log.requests.count
            for (host, trust) in [
                ("127.0.0.1", ServiceTLS.Trust.pinned(other)), ("127.0.0.1", .webPKI),
                ("127.0.0.2", .authorities(pem: LoopbackCertificate.pem)),
            ] {
                let error = await #expect(throws: HTTPExchangeError.self) {
                    _ = try await answer(server, host: host, trust: trust)
                }
                // 127.0.0.2 is not served: the connection is refused before TLS.
                #expect(error?.code == (host == "127.0.0.1" ? .notTrusted : .unreachable))
            }
            #expect(server.log.requests.count == count)
        }
    }

    @Test func saysWhatIsWrongWithARequest() async throws {
        try await ScriptedServer.with([]) { server in
            let url = try HTTPURL(parsing: "https://127.0.0.1:\(server.port)/")
            let exchange = HTTPExchange(streams: DirectStreams())
            let noTLS = await #expect(throws: HTTPExchangeError.self) {
                _ = try await exchange.answer(to: HTTPRequest(.get, url), tls: nil)
            }
            #expect(noTLS?.code == .invalidRequest)
            for field in [HTTPField("A\r\nB", "c"), HTTPField("A", "b\r\nC: d"), HTTPField("", "x")] {
                let error = await #expect(throws: HTTPExchangeError.self) {
                    _ = try await exchange.answer(to: HTTPRequest(.get, url, fields: [field]), tls: nil)
                }
                #expect(error?.code == .invalidRequest)
            }
            #expect(server.log.requests.isEmpty)
        }
    }

    /// Every mutation gives an answer within the limits or an error, and never a trap or a hang.
    @Test func survivesMutatedAnswers() async throws {
        var random = SeededGenerator(seed: 1616)
        let whole =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nRetry-After: 5\r\n\r\n4\r\nbody\r\n0\r\nT: x\r\n\r\n"
        for _ in 0..<150 {
            var bytes = Array(whole.utf8)
            for _ in 0..<random.int(1...5) {
                bytes[random.int(0...bytes.count - 1)] = UInt8.random(in: 0...127, using: &random)
            }
            let script = String(decoding: bytes.prefix(random.int(1...bytes.count)), as: UTF8.self)
            try await ScriptedServer.with([script]) { server in
                do {
                    let answer = try await answer(server)
                    #expect(answer.body.readableBytes <= 1000)
                } catch is HTTPExchangeError {}
            }
        }
    }
}

extension SHA256Digest {
    var device: DeviceID { DeviceID(digest: self) }
}
