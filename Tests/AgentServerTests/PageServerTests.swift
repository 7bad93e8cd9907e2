import ControlAPI
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import AgentServer

struct PageFileTests {
    /// Who adds a file runs Sources/Agent/WebPage/embed.
    @Test func allOfThePageIsEmbeddedAndNothingElse() throws {
        let directory = Self.sources.appending(path: "Agent/WebPage/page")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path())
        #expect(
            Set(names) == PageFile.names.filter { !$0.hasPrefix("translations/") }, "run Sources/Agent/WebPage/embed")
        for name in names {
            let file = try #require(PageFile.named(name))
            #expect(try Data(contentsOf: directory.appending(path: name)) == Data(file.bytes), "\(name)")
            #expect(file.contentType != "application/octet-stream", "say in PageFile what \(name) is")
        }
    }

    @Test func translationsAreFilesOfThePage() throws {
        let directory = Self.sources.appending(path: "System/CTranslations/documents")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path())
        #expect(Set(names) == ["de.json", "nl.json"])
        for name in names {
            let file = try #require(PageFile.named("translations/\(name)"))
            #expect(try Data(contentsOf: directory.appending(path: name)) == Data(file.bytes), "\(name)")
            #expect(file.contentType == "application/json")
        }
    }

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")
}

@Suite(.timeLimit(.minutes(1)))
struct PageServerTests {
    /// What a browser that shows the page sends with each request.
    struct Browser {
        let harness: ServerHarness
        let port: Int
        var cookie = ""

        init(_ harness: ServerHarness) throws {
            self.harness = harness
            port = try #require(harness.links?.address?.split(separator: ":").last.flatMap { Int($0) })
        }

        /// Logs in with a new link.
        init(loggedIn harness: ServerHarness) async throws {
            try self.init(harness)
            let link = try #require(harness.links).loginLink()
            let answer = try await get(String(link.url.dropFirst("http://127.0.0.1:\(port)".count)))
            #expect(answer.status == 303)
            #expect(answer.headers["location"] == "/")
            let field = try #require(answer.headers["set-cookie"])
            #expect(field.hasPrefix("synctrain-\(port)="))
            #expect(field.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
            cookie = try #require(field.split(separator: ";").first.map { String($0) })
        }

        func get(_ target: String, method: String = "GET", headers: String = "") async throws -> RawResponse {
            try await harness.exchangeOverTCP(
                "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\n\(headers)\r\n")
        }

        func send(_ method: String, _ target: String, json: String = "") async throws -> RawResponse {
            try await harness.exchangeOverTCP(
                "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\n"
                    + "Origin: http://127.0.0.1:\(port)\r\nX-Synctrain: page\r\n"
                    + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)")
        }
    }

    @Test func thePageIsThereForEverybody() async throws {
        try await ServerHarness.run(ScriptedControl(), links: LinkServerTests.endpoint()) { harness in
            let browser = try Browser(harness)
            let index = try await browser.get("/")
            #expect(index.status == 200)
            #expect(index.headers["content-type"] == "text/html; charset=utf-8")
            #expect(index.body == PageFile.named("index.html")?.bytes)
            let policy = try #require(index.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
            #expect(!policy.contains("unsafe"))
            #expect(index.headers["referrer-policy"] == "no-referrer")
            #expect(index.headers["cross-origin-opener-policy"] == "same-origin")
            #expect(index.headers["cross-origin-resource-policy"] == "same-origin")
            #expect(index.headers["x-content-type-options"] == "nosniff")
            let tag = try #require(index.headers["etag"])
            for name in PageFile.names {
                let file = try await browser.get("/page/\(name)")
                #expect(file.status == 200)
                #expect(file.body == PageFile.named(name)?.bytes)
                #expect(file.headers["content-type"] == PageFile.named(name)?.contentType)
            }
            let again = try await browser.get("/", headers: "If-None-Match: \"x\", \(tag)\r\n")
            #expect(again.status == 304)
            #expect(again.body.isEmpty)
            let head = try await browser.get("/", method: "HEAD")
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "\(index.body.count)")
            #expect(head.body.isEmpty)
            for target in [
                "/page/", "/page/none.js", "/page/../index.html", "/page/%2e%2e/files.c", "/page//etc/passwd",
                "/page/index.html/", "/page/index.html%00", "/index.html", "/page/index.html/../../v1/status",
            ] {
                let answer = try await browser.get(target)
                #expect(answer.status == 404, "\(target)")
                #expect(answer.error?.code == .notFound, "\(target)")
            }
            #expect(try await browser.send("POST", "/").status == 405)
        }
    }

    /// Who asks for the largest file of the page and reads nothing of it keeps nobody out, and is replaced by who comes next.
    @Test func whoDoesNotReadThePageKeepsNobodyOut() async throws {
        let file = try #require(PageFile.named("translations/de.json"))
        let limits = AgentServer.Limits(requests: 1, requestTime: .minutes(5))
        try await ServerHarness.run(ScriptedControl(), limits: limits, links: LinkServerTests.endpoint()) { harness in
            let browser = try await Browser(loggedIn: harness)
            // With small segments and a small window only a part of the file fits into the sockets.
            let reader = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.socketOption(.so_rcvbuf), value: 4096)
                .channelOption(.tcpOption(.init(rawValue: TCP_MAXSEG)), value: 536)
                .channelOption(.maxMessagesPerRead, value: 1)
                .channelOption(.autoRead, value: false)
                .connect(host: "127.0.0.1", port: browser.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            try await reader.executeThenClose { inbound, outbound in
                try await outbound.write(
                    ByteBuffer(string: "GET /page/\(file.name) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
                reader.channel.read()
                var parts = inbound.makeAsyncIterator()
                var count = try #require(try await parts.next()).readableBytes
                #expect(try await browser.get("/v1/status").status == 200)
                #expect(try await browser.get("/").status == 200)
                try await reader.channel.setOption(.autoRead, value: true).get()
                while let part = try await parts.next() { count += part.readableBytes }
                #expect(count < file.bytes.count)
            }
        }
    }

    @Test func whoIsLoggedInAsksEverything() async throws {
        let control = ScriptedControl(entries: [Sample.file("a")], content: LinkServerTests.content)
        try await ServerHarness.run(control, links: LinkServerTests.endpoint()) { harness in
            let stranger = try Browser(harness)
            let refused = try await stranger.get("/v1/status")
            #expect(refused.status == 401)
            #expect(refused.error?.code == .notLoggedIn)
            #expect(control.asked.isEmpty)
            let browser = try await Browser(loggedIn: harness)
            let status = try await browser.get("/v1/status")
            #expect(try ControlJSON.decode(AgentStatus.self, from: status.body) == .sample)
            #expect(status.headers["cross-origin-resource-policy"] == "same-origin")
            #expect(status.headers["cache-control"] == "no-store")
            #expect(status.headers["access-control-allow-origin"] == nil)
            #expect(try await browser.get("/v1/entries?path=docs:").text.contains(#""path":"a""#))
            let change = #"{"folder":"f","paused":true}"#
            #expect(try await browser.send("PATCH", "/v1/folders", json: change).text == #"{"schema":1}"#)
            #expect(control.asked.last == "pause f true")
            // As a form of another page would send it, and as a script of another port.
            let form = try await browser.get(
                "/v1/folders", method: "POST", headers: "Content-Type: text/plain\r\nContent-Length: 0\r\n")
            #expect(form.status == 403)
            let other = try await browser.get("/v1/status", headers: "Origin: http://127.0.0.1:1\r\n")
            #expect(other.status == 403)
            let site = try await browser.get("/v1/status", headers: "Sec-Fetch-Site: same-site\r\n")
            #expect(site.status == 403)
            #expect(try await browser.send("POST", "/v1/sessions").status == 403)
            #expect(control.asked.last == "pause f true")
        }
    }

    /// Whatever else is in the change, and over the socket it is made.
    @Test func aBrowserIsRefusedWhatIsForTheTerminal() async throws {
        let control = ScriptedControl()
        try await ServerHarness.run(control, links: LinkServerTests.endpoint()) { harness in
            let browser = try await Browser(loggedIn: harness)
            let change = SettingsChange(
                folder: "f", settings: [SettingInput(key: "label"), SettingInput(key: "terminal-only")])
            let json = String(decoding: try ControlJSON.encode(change), as: UTF8.self)
            let refused = try await browser.send("PATCH", "/v1/settings", json: json)
            #expect(refused.status == 403)
            #expect(refused.error?.message == "Use a terminal.")
            #expect(control.asked.isEmpty)
            let other = #"{"settings":[{"key":"name","value":"x"}]}"#
            #expect(try await browser.send("PATCH", "/v1/settings", json: other).status == 200)
            _ = try await harness.client.call(Endpoints.changeSettings, change)
            #expect(control.asked.count == 2)
        }
    }

    @Test func aLoginLinkIsGoodOnceAndForAMinute() async throws {
        let links = LinkServerTests.endpoint()
        try await ServerHarness.run(ScriptedControl(), links: links) { harness in
            let browser = try Browser(harness)
            let address = "http://127.0.0.1:\(browser.port)"
            let link = String(try links.loginLink().url.dropFirst(address.count))
            for method in ["HEAD", "POST", "PUT"] {
                #expect(try await browser.get(link, method: method).status == 405, "and it is not used up")
            }
            #expect(try await browser.get(link).status == 303)
            let again = try await browser.get(link)
            #expect(again.status == 410)
            #expect(again.headers["set-cookie"] == nil)
            for target in ["/login", "/login?token=", "/login?token=\(String(repeating: "0", count: 64))"] {
                #expect(try await browser.get(target).status == 410, "\(target)")
            }
            // Who is logged in and goes back to the link is sent to the page.
            let known = try await Browser(loggedIn: harness)
            let back = try await known.get(link)
            #expect(back.status == 303)
            #expect(back.headers["set-cookie"] == nil)
            // A page of another name cannot log anybody in.
            let fresh = String(try links.loginLink().url.dropFirst(address.count))
            let rebound = try await harness.exchangeOverTCP("GET \(fresh) HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            #expect(rebound.status == 403)
        }
    }

    @Test func logOutEndsWhatIsUnderWay() async throws {
        let links = LinkServerTests.endpoint()
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let control = ScriptedControl(onEvents: { emit in
            try await emit(AgentEvent(type: "device-connected", time: Sample.time))
            beginning.yield()
            let (forever, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in forever {}
            withExtendedLifetime(continuation) {}
        })
        try await ServerHarness.run(control, links: links) { harness in
            let browser = try await Browser(loggedIn: harness)
            async let events = browser.get("/v1/events", headers: "Accept: text/event-stream\r\n")
            var isBegun = begun.makeAsyncIterator()
            await isBegun.next()
            #expect(try await links.logOut() == 1)
            #expect(try await events.text.contains("event: device-connected"))
            #expect(try await browser.get("/v1/status").status == 401)
            #expect(try await links.logOut() == 0)
        }
    }

    /// The answer to who logs out comes, and says how many did.
    @Test func whoLogsOutIsAnswered() async throws {
        try await ServerHarness.run(ScriptedControl(), links: LinkServerTests.endpoint()) { harness in
            let browser = try await Browser(loggedIn: harness)
            #expect(try await browser.send("DELETE", "/v1/sessions").text == #"{"ended":2,"schema":1}"#)
        }
    }

    /// A cookie of before the agent was started again is replaced once, by an answer that nobody keeps.
    @Test func aCookieIsReplacedAfterARestart() async throws {
        let file = Box<[UInt8]?>(nil)
        func endpoint(port: Int) -> LinkEndpoint {
            LinkEndpoint(
                address: ("127.0.0.1", port), key: [1], stored: file.current, now: { LinkServerTests.now },
                store: { bytes in file.change { $0 = bytes } })
        }
        let known = Box(("", 0))
        try await ServerHarness.run(ScriptedControl(), links: endpoint(port: 0)) { harness in
            let browser = try await Browser(loggedIn: harness)
            #expect(try await browser.get("/v1/status").headers["set-cookie"] == nil)
            known.change { $0 = (browser.cookie, browser.port) }
        }
        // Any port will do, but it is rather the last one.
        let control = ScriptedControl(content: LinkServerTests.content)
        try await ServerHarness.run(control, links: endpoint(port: 0)) { harness in
            var browser = try Browser(harness)
            #expect(browser.port == known.current.1)
            browser.cookie = known.current.0
            let read = try await browser.get("/v1/file?path=docs:f.bin")
            #expect(read.status == 200 && read.headers["set-cookie"] == nil)
            let status = try await browser.get("/v1/status")
            #expect(status.status == 200)
            let field = try #require(status.headers["set-cookie"])
            #expect(field.hasSuffix("; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict"))
            #expect(try await browser.get("/v1/status").headers["set-cookie"] == nil, "once")
            browser.cookie = try #require(field.split(separator: ";").first.map { String($0) })
            #expect(browser.cookie != known.current.0)
            #expect(try await browser.get("/v1/status").status == 200)
        }
    }

    @Test func whatAFileIsSaidToBe() async throws {
        let control = ScriptedControl(content: LinkServerTests.content)
        try await ServerHarness.run(control, links: LinkServerTests.endpoint()) { harness in
            let browser = try await Browser(loggedIn: harness)
            let file = try await browser.get("/v1/file?path=docs:f.bin")
            #expect(file.body == LinkServerTests.content)
            #expect(file.headers["content-disposition"]?.hasPrefix("attachment; filename=\"f.bin\"") == true)
            let policy = try #require(file.headers["content-security-policy"])
            #expect(policy.contains("sandbox") && policy.contains("frame-ancestors 'self'"))
            let part = try await browser.get("/v1/file?path=docs:f.bin", headers: "Range: bytes=1-3\r\n")
            #expect(part.status == 206)
            let head = try await browser.get("/v1/file?path=docs:f.bin", method: "HEAD")
            #expect(head.headers["content-length"] == "10000")
            #expect(try await browser.get("/v1/file?path=docs:f.bin&download=perhaps").status == 400)
        }
    }

    @Test(arguments: [
        "/v1/status", "/v1/entries?path=docs:", "/v1/events", "/v1/search?text=x", "/v1/changes?follow=true",
    ])
    func headIsAnsweredWithoutABody(target: String) async throws {
        let control = ScriptedControl(entries: [Sample.file("a")])
        try await ServerHarness.run(control, links: LinkServerTests.endpoint()) { harness in
            let browser = try await Browser(loggedIn: harness)
            let overTCP = try await browser.get(target, method: "HEAD")
            let overSocket = try await harness.get(target, method: "HEAD")
            for answer in [overTCP, overSocket] {
                #expect(answer.status == 200)
                #expect(answer.body.isEmpty)
            }
            #expect(try await browser.get("/v1/stop", method: "HEAD").status == 405)
        }
    }

    /// What is too large is refused by its head, before anything of it is kept; without a cookie anything is.
    @Test func bodiesAreForWhoIsLoggedIn() async throws {
        let control = ScriptedControl()
        try await ServerHarness.run(control, links: LinkServerTests.endpoint()) { harness in
            let stranger = try Browser(harness)
            let large = String(repeating: " ", count: 1 << 20)
            #expect(try await stranger.send("POST", "/v1/scan", json: large).status == 401)
            #expect(try await stranger.send("POST", "/login", json: large).status == 413)
            let browser = try await Browser(loggedIn: harness)
            #expect(try await browser.send("POST", "/v1/scan", json: large + #"{"paths":[]}"#).status == 200)
            #expect(try await browser.send("POST", "/v1/scan", json: large + large + large + large + " ").status == 413)
        }
        #expect(control.asked == ["scan []"])
    }
}
