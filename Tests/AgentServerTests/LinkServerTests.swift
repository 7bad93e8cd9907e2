import ControlAPI
import Cryptography
import LinkSecurity
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AgentServer

@Suite(.timeLimit(.minutes(1)))
struct LinkServerTests {
    static let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    static let now: Int64 = 1_795_289_512

    static func endpoint(host: String = "127.0.0.1", port: Int = 0) -> LinkEndpoint {
        LinkEndpoint(
            address: (host, port), hosts: ["nas.local"], key: [UInt8](repeating: 7, count: 32), now: { Self.now })
    }

    /// One that other machines reach.
    static func securedEndpoint(host: String, port: Int = 0) throws -> LinkEndpoint {
        let pem = try PageCertificate.generate(names: ["nas"], addresses: [], notBefore: now)
        let password = try StoredPassword(
            password: "correct horse", salt: Array(0..<16), parameters: PasswordTests.cheap)
        return LinkEndpoint(
            address: (host, port), hosts: ["nas.local"], key: [UInt8](repeating: 7, count: 32), now: { now },
            tls: try ServerTLS(certificatePEM: pem.certificate, keyPEM: pem.key), password: try password.json())
    }

    /// The target of a good link to the one file that there is.
    static func target(_ links: LinkEndpoint, file: String = "f.bin", for seconds: Int64 = 60) throws -> String {
        let link = try links.link(folder: "docs", path: file, expires: now + seconds)
        let address = try #require(links.address)
        return String(link.dropFirst(address.count))
    }

    private func get(
        _ harness: ServerHarness, _ target: String, method: String = "GET", host: String = "127.0.0.1",
        headers: String = ""
    ) async throws -> RawResponse {
        try await harness.exchangeOverTCP("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n")
    }

    @Test func aLinkGivesTheFileAndItsParts() async throws {
        let links = Self.endpoint()
        try await ServerHarness.run(ScriptedControl(content: Self.content), links: links) { harness in
            let target = try Self.target(links)
            let whole = try await get(harness, target)
            #expect(whole.status == 200)
            #expect(whole.body == Self.content)
            #expect(whole.headers["content-length"] == "10000")
            #expect(whole.headers["accept-ranges"] == "bytes")
            #expect(whole.headers["etag"] == nil)
            #expect(whole.headers["x-content-type-options"] == "nosniff")
            #expect(whole.headers["content-security-policy"]?.contains("sandbox") == true)
            #expect(whole.headers["content-disposition"]?.hasPrefix("attachment; filename=\"f.bin\"") == true)
            let part = try await get(harness, target, headers: "Range: bytes=-5\r\n")
            #expect(part.status == 206)
            #expect(part.body == Array(Self.content.suffix(5)))
            #expect(part.headers["content-range"] == "bytes 9995-9999/10000")
            #expect(try await get(harness, target, headers: "Range: bytes=10000-\r\n").status == 416)
            let several = try await get(harness, target, headers: "Range: bytes=0-0,2-2\r\n")
            #expect(several.headers["content-type"]?.hasPrefix("multipart/byteranges; boundary=") == true)
            let head = try await get(harness, target, method: "HEAD", headers: "Range: bytes=0-0\r\n")
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "10000")
            #expect(head.body.isEmpty)
            // The socket's clients may use links as well.
            #expect(try await harness.get(target).body == Self.content)
        }
    }

    @Test func nothingElseIsAnswered() async throws {
        let (links, control) = (Self.endpoint(), ScriptedControl(content: Self.content))
        try await ServerHarness.run(control, links: links) { harness in
            let target = try Self.target(links)
            let other = LinkEndpoint(address: nil, key: [1], now: { 0 })
            let forged = try LinkTarget(folder: "docs", file: "f.bin", expires: .max).signed(with: other.key)
            for (request, status) in [
                ("/v1/status", 401), ("/v1/file?path=docs:f.bin", 401), ("/v1/stop", 401), ("*", 404),
                ("/file", 400), ("/file/../v1/status", 404), ("/%66ile", 404), (forged, 403),
                (try Self.target(links, for: 0), 410), (try Self.target(links, for: -5), 410),
                ("http://127.0.0.1" + target, 404),
            ] {
                let answer = try await get(harness, request)
                #expect(answer.status == status, "\(request)")
                #expect(answer.error != nil)
            }
            #expect(try await get(harness, target, method: "POST").status == 405)
            #expect(try await get(harness, target, method: "DELETE").status == 405)
            for host in ["evil.example", "", "127.0.0.1, evil.example"] {
                #expect(try await get(harness, target, host: host).status == 403, "\(host)")
            }
            #expect(try await get(harness, target, headers: "Host: 127.0.0.1\r\n").status >= 400)
            #expect(try await harness.exchangeOverTCP("GET \(target) HTTP/1.0\r\n\r\n").status == 403)
            #expect(try await get(harness, target, headers: "Origin: http://evil.example\r\n").status == 403)
            #expect(control.asked.isEmpty, "nothing of it reached the agent")
            for host in ["localhost:1", "nas.local", "[::1]:9"] {
                #expect(try await get(harness, target, host: host).status == 200, "\(host)")
            }
            #expect(try await get(harness, target, headers: "Origin: http://127.0.0.1\r\n").status == 200)
        }
    }

    /// A path as text may mean a file of another folder, whose id has a colon: it is not given away under this name.
    @Test func aLinkLeadsToItsOwnFileOnly() async throws {
        let links = Self.endpoint()
        try await ServerHarness.run(ScriptedControl(content: Self.content), links: links) { harness in
            for method in ["GET", "HEAD"] {
                let target = try Self.target(links, file: "other.bin")
                #expect(try await get(harness, target, method: method).status == 404)
            }
            #expect(
                try await get(
                    harness, try Self.target(links, file: "other.bin"), headers: "Range: bytes=0-0,2-2\r\n"
                ).status == 404)
        }
    }

    @Test(arguments: [
        (ControlError.Code.noHolder, 503), (.gone, 410), (.noSuchPath, 404), (.noSuchFolder, 404),
    ])
    func whyThereIsNoFileIsSaid(code: ControlError.Code, status: Int) async throws {
        let links = Self.endpoint()
        let error = ControlError(code, "Words that say what to do.")
        try await ServerHarness.run(ScriptedControl(failure: error), links: links) { harness in
            let answer = try await get(harness, try Self.target(links))
            #expect(answer.status == status)
            #expect(answer.error == error)
            let head = try await get(harness, try Self.target(links), method: "HEAD")
            #expect(head.status == status)
            #expect(head.body.isEmpty)
        }
    }

    @Test(arguments: [
        "Content-Length: 1\r\n\r\nx", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
        "X: \(String(repeating: "y", count: 100_000))\r\n\r\n",
    ])
    func requestsAreSmall(rest: String) async throws {
        let (links, control) = (Self.endpoint(), ScriptedControl(content: Self.content))
        try await ServerHarness.run(control, links: links) { harness in
            let answer = try await harness.exchangeOverTCP(
                "GET \(try Self.target(links)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(rest)")
            #expect(answer.status == 413)
            #expect(control.asked.isEmpty)
        }
    }

    /// Above the limit a silent connection is closed for each that comes; requests are still answered. `IdleConnectionsTests`
    /// says which: here the server's threads note them in an order of their own.
    @Test func silentConnectionsAreClosedAboveTheLimit() async throws {
        let links = Self.endpoint()
        let limits = AgentServer.Limits(requestTime: .minutes(5), connections: 20)
        try await ServerHarness.run(ScriptedControl(content: Self.content), limits: limits, links: links) { harness in
            let target = try Self.target(links)
            let port = try #require(links.address?.split(separator: ":").last.flatMap { Int($0) })
            let idle = try await ServerHarness.idle(60) {
                try await $0.connect(host: "127.0.0.1", port: port).get()
            }
            await ServerHarness.waitForEnds(40, of: idle)
            #expect(idle.count { $0.isActive } == 20)
            #expect(try await harness.client.call(Endpoints.status) == .sample)
            #expect(try await get(harness, target).body == Self.content)
            for channel in idle { try? await channel.close() }
        }
    }

    /// Reading stops at byte 1000, which `begun` tells, until `letting` finishes.
    private static func held() -> (
        control: ScriptedControl, begun: AsyncStream<Void>, letting: AsyncStream<Void>.Continuation
    ) {
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let (held, letting) = AsyncStream.makeStream(of: Void.self)
        let control = ScriptedControl(
            content: content,
            onRead: { from in
                guard from == 1000 else { return }
                beginning.yield()
                for await _ in held {}
            })
        return (control, begun, letting)
    }

    @Test func tooManyStreamsAreBusy() async throws {
        let links = Self.endpoint()
        let (control, begun, letting) = Self.held()
        let limits = AgentServer.Limits(requestTime: .minutes(5), streams: 1)
        try await ServerHarness.run(control, limits: limits, links: links) { harness in
            let target = try Self.target(links)
            async let first = get(harness, target)
            var isBegun = begun.makeAsyncIterator()
            await isBegun.next()
            #expect(try await get(harness, target).error?.code == .busy)
            letting.finish()
            #expect(try await first.body == Self.content)
            #expect(try await get(harness, target).status == 200)
        }
    }

    /// Who holds a link keeps neither the owner nor the holders of other links from reading.
    @Test func aLinkTakesNoMoreThanItsShare() async throws {
        let links = Self.endpoint()
        let (control, begun, letting) = Self.held()
        let limits = AgentServer.Limits(requestTime: .minutes(5), streams: 2, linkStreams: 1)
        try await ServerHarness.run(control, limits: limits, links: links) { harness in
            let targets = try [60, 61, 62].map { try Self.target(links, for: $0) }
            var isBegun = begun.makeAsyncIterator()
            async let first = get(harness, targets[0])
            await isBegun.next()
            #expect(try await get(harness, targets[0]).error?.code == .busy)
            async let second = get(harness, targets[1])
            await isBegun.next()
            #expect(try await get(harness, targets[2]).error?.code == .busy)
            let secret = try #require(links.sessions.redeem(links.sessions.makeToken()))
            let cookie = try #require(links.cookie).setting(secret, for: 60).prefix { $0 != ";" }
            async let own = get(harness, "/v1/file?path=docs:f.bin", headers: "Cookie: \(cookie)\r\n")
            await isBegun.next()
            letting.finish()
            #expect(try await first.body == Self.content)
            #expect(try await second.body == Self.content)
            #expect(try await own.body == Self.content)
            #expect(try await get(harness, targets[0]).status == 200)
        }
    }

    /// A reader that takes nothing is cut off, and what it asked for is not read on.
    @Test func aReaderThatTakesNothingIsCutOff() async throws {
        let links = Self.endpoint()
        let content = [UInt8](repeating: 1, count: 64 << 20)
        let (ended, ending) = AsyncStream.makeStream(of: Void.self)
        let last = Box(0)
        let control = ScriptedControl(
            content: content,
            onRead: { from in
                last.change { $0 = from }
                if Task.isCancelled { ending.finish() }
            }, onReadEnd: { ending.finish() })
        let limits = AgentServer.Limits(requestTime: .minutes(5), stallTime: .milliseconds(200))
        try await ServerHarness.run(control, limits: limits, links: links) { harness in
            let port = try #require(links.address?.split(separator: ":").last.flatMap { Int($0) })
            let reader = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: false)
                .connect(host: "127.0.0.1", port: port).get()
            let request = "GET \(try Self.target(links)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            try await reader.writeAndFlush(ByteBuffer(string: request))
            for await _ in ended {}
            #expect(last.current < content.count / 2)
            // Long closed, if the server's end has been read already.
            try? await reader.close()
        }
    }

    /// A client that has gone ends the work for it.
    @Test func aClientThatGoesEndsTheRead() async throws {
        let links = Self.endpoint()
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let (ended, ending) = AsyncStream.makeStream(of: Void.self)
        let control = ScriptedControl(
            content: Self.content,
            onRead: { from in
                guard from == 1000 else { return }
                beginning.yield()
                let (forever, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in forever {}
                withExtendedLifetime(continuation) {}
                try Task.checkCancellation()
            }, onReadEnd: { ending.finish() })
        try await ServerHarness.run(control, links: links) { harness in
            let client = try await harness.connectOverTCP()
            try await client.executeThenClose { _, outbound in
                try await outbound.write(
                    ByteBuffer(string: "GET \(try Self.target(links)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
                var isBegun = begun.makeAsyncIterator()
                await isBegun.next()
            }
            for await _ in ended {}
        }
    }

    @Test func theRateIsWaitedFor() async throws {
        let links = Self.endpoint()
        let paced = Box<[Int]>([])
        try await ServerHarness.run(
            ScriptedControl(content: Self.content), links: links, pace: { count in paced.change { $0.append(count) } }
        ) { harness in
            let target = try Self.target(links)
            #expect(try await get(harness, target).body == Self.content)
            #expect(paced.current.reduce(0, +) == 10_000)
            #expect(try await harness.get("/v1/file?path=docs:f.bin").body == Self.content)
            #expect(paced.current.reduce(0, +) == 10_000, "the user's own commands are not slowed down")
        }
    }

    @Test func anotherPortIsUsedForOneThatIsTaken() async throws {
        let first = Self.endpoint()
        try await ServerHarness.run(ScriptedControl(content: Self.content), links: first) { _ in
            let port = try #require(first.address?.split(separator: ":").last.flatMap { Int($0) })
            #expect(first.remark == nil)
            let second = Self.endpoint(port: port)
            try await ServerHarness.run(ScriptedControl(content: Self.content), links: second) { harness in
                #expect(try await get(harness, try Self.target(second)).body == Self.content)
                let other = try #require(second.address?.split(separator: ":").last.flatMap { Int($0) })
                #expect(other != port && second.problem == nil)
                #expect(
                    second.remark?.english
                        == "Port \(port) cannot be used (another program uses it), so the page is at port \(other).")
                #expect(try second.loginLink().remarkPhrase == second.remark)
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", 80, 0, [80, 0]), ("127.0.0.1", 80, 81, [80, 81, 0]), ("127.0.0.1", 80, 80, [80, 0]),
        ("127.0.0.1", 0, 81, [81, 0]), ("::1", 0, 0, [0]), ("::1", 80, 81, [80, 81, 0]),
        ("192.0.2.1", 80, 81, [80]), ("0.0.0.0", 0, 81, [81, 0]),
    ])
    func portsAreTriedInThisOrder(host: String, port: Int, last: Int, candidates: [Int]) throws {
        let stored = try StoredSessions(port: last, sessions: []).json()
        let links = LinkEndpoint(address: (host, port), key: [1], stored: stored, now: { 0 })
        #expect(links.candidates == candidates)
    }

    /// What other machines reach is where the user said, or nowhere.
    @Test func aPortThatIsTakenIsSaidAndTheSocketIsServed() async throws {
        let first = Self.endpoint()
        try await ServerHarness.run(ScriptedControl(content: Self.content), links: first) { _ in
            let port = try #require(first.address?.split(separator: ":").last.flatMap { Int($0) })
            let second = try Self.securedEndpoint(host: "0.0.0.0", port: port)
            try await ServerHarness.run(ScriptedControl(content: Self.content), links: second) { harness in
                let status = try await harness.client.call(Endpoints.status)
                #expect(status == .sample)
                #expect(second.address == nil)
                #expect(second.problem?.english.contains("\(port): another program uses it.") == true)
                #expect(throws: ControlError.self) { try second.link(folder: "a", path: "b", expires: 1) }
            }
        }
        #expect(first.address == nil, "it says that it is over")
    }

    @Test(arguments: [
        ("127.0.0.1", "http://127.0.0.1:5"), ("::1", "http://[::1]:5"), ("0.0.0.0", "http://nas.local:5"),
    ])
    func addressesAreWrittenAsBrowsersReadThem(host: String, address: String) async {
        let endpoint = Self.endpoint(host: host)
        #expect(endpoint.address == nil)
        await endpoint.opened(port: 5, .quiet)
        #expect(endpoint.address == address)
    }
}
