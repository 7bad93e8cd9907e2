import ControlAPI
import NIOCore
import NIOPosix
import Testing

@testable import AgentServer

@Suite(.timeLimit(.minutes(1)))
struct SiteTargetTests {
    @Test(arguments: [
        ("/", "", true), ("/a", "a", false), ("/a/", "a", true), ("/a%20b/%C3%A4?x=/..", "a b/ä", false),
        ("/a#b", "a", false), ("/...", "...", false), ("/%25", "%", false), ("/a:b", "a:b", false),
        ("/a%5C..%5Cb", "a\\..\\b", false),
    ])
    func pathsOfFiles(_ target: String, _ path: String, _ isDirectory: Bool) throws {
        let read = try SiteTarget(target: target)
        #expect(read.path == path)
        #expect(read.isDirectory == isDirectory)
    }

    @Test(arguments: [
        "", "a", "http://evil.example/", "*", "//evil.example/", "/a//b", "/..", "/../a", "/a/../../b", "/%2e%2e/a",
        "/.%2E", "/.", "/a/./b", "/a%2Fb", "/%2e%2e%2fa", "/a%00", "/%ff", "/%", "/%zz", "/a/%2e%2e",
    ])
    func whatLeadsNowhere(_ target: String) {
        #expect(throws: ControlError.self) { try SiteTarget(target: target) }
    }

    @Test func addressesOfDirectoriesStayOnTheSite() throws {
        #expect(try SiteTarget(target: "/").directoryLocation == "/")
        #expect(try SiteTarget(target: "/a%0d%0ab/%22%20").directoryLocation == "/a%0D%0Ab/%22%20/")
        #expect(try SiteTarget(target: "/%5Cevil.example").directoryLocation == "/%5Cevil.example/")
    }

    @Test func namesAreTextInAListing() {
        var entry = Sample.file("x/<script>'\"&amp;.txt")
        #expect(
            SiteListing.row(entry).contains(
                "href=\"./%3Cscript%3E%27%22%26amp%3B.txt\">&lt;script&gt;&#39;&quot;&amp;amp;.txt</a>"))
        entry.path = "javascript:alert(1)"
        #expect(SiteListing.row(entry).contains("href=\"./javascript:alert%281%29\""))
    }

    @Test(arguments: [
        ("a/index.html", "text/html; charset=utf-8"), ("x.JS", "text/javascript; charset=utf-8"),
        ("x.css", "text/css; charset=utf-8"),
        ("m.mjs", "text/javascript; charset=utf-8"), ("d.json", "application/json"), ("w.wasm", "application/wasm"),
        ("f.woff2", "font/woff2"), ("s.svg", "image/svg+xml"), ("a.b/c", "application/octet-stream"),
        ("v.mp4", "video/mp4"),
    ])
    func typesOfASite(_ path: String, _ type: String) { #expect(MediaType.ofSite(path: path) == type) }
}

@Suite(.timeLimit(.minutes(1)))
struct SiteServerTests {
    /// A site, and a way to ask it what one likes.
    private struct Site: Sendable {
        var host: String
        var port: Int

        func ask(_ target: String, host: String? = nil, method: String = "GET", headers: String = "") async throws
            -> RawResponse
        {
            let text = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? self.host)\r\n\(headers)\r\n"
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: text))
                var bytes: [UInt8] = []
                for try await part in inbound { bytes += part.readableBytesView }
                return RawResponse(bytes: bytes)
            }
        }
    }

    private func run(
        _ control: ScriptedControl = SiteControl().control, directory: String = "www",
        _ body: @escaping @Sendable (Site) async throws -> Void
    ) async throws {
        let server = SiteServer(control: control.handlers, folder: "docs", directory: directory, port: 0)
        let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run { continuation.yield($0) } }
            group.addTask {
                var iterator = addresses.makeAsyncIterator()
                let address = try #require(await iterator.next())
                #expect(address.hasPrefix("http://site-") && address.hasSuffix("/"))
                let host = String(address.dropFirst(7).dropLast())
                let port = try #require(host.split(separator: ":").last.flatMap { Int($0) })
                #expect(host == "\(server.name):\(port)")
                try await body(Site(host: host, port: port))
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    @Test func onlyWhoKnowsTheNameIsAnswered() async throws {
        try await run { site in
            #expect(try await site.ask("/a.txt").status == 200)
            #expect(try await site.ask("/a.txt", host: site.host.uppercased()).status == 200)
            for host in [
                "127.0.0.1:\(site.port)", "localhost:\(site.port)", "evil.example", "x.\(site.host)", "",
                String(site.host.prefix { $0 != ":" }), "\(site.host)\r\nHost: \(site.host)",
            ] {
                let answer = try await site.ask("/a.txt", host: host)
                #expect(answer.status == 403 || answer.status == 400, "\(host)")
                // It is not told either.
                #expect(!answer.text.contains(site.host.prefix { $0 != "." }), "\(host)")
            }
        }
    }

    @Test func filesAndDirectories() async throws {
        try await run { site in
            let file = try await site.ask("/a.txt", headers: "Range: bytes=1-3\r\n")
            #expect(file.status == 206)
            #expect(file.text == "ext")
            #expect(file.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(try await site.ask("/a.txt", method: "HEAD").headers["content-length"] == "4")
            #expect(try await site.ask("/a.txt/").status == 404)
            let page = try await site.ask("/dir/")
            #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(page.text == "text")
            #expect(page.headers["content-security-policy"] == "frame-ancestors 'self'")
            #expect(page.headers["content-disposition"] == nil)
            #expect(page.headers["cross-origin-resource-policy"] == "same-origin")
            let moved = try await site.ask("/dir")
            #expect(moved.status == 308)
            #expect(moved.headers["location"] == "/dir/")
            let listing = try await site.ask("/")
            #expect(listing.status == 200)
            #expect(listing.text.contains("href=\"./a.txt\""))
            #expect(listing.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
            #expect(try await site.ask("/link").status == 404)
            #expect(try await site.ask("/deleted").status == 410)
            #expect(try await site.ask("/nothing").status == 404)
            #expect(try await site.ask("/../secret").status == 404)
            #expect(try await site.ask("/%2e%2e/secret").status == 404)
            let post = try await site.ask("/a.txt", method: "POST")
            #expect(post.status == 405)
            #expect(post.headers["allow"] == "GET, HEAD")
        }
    }

    /// The agent takes the longest folder's id that fits.
    @Test func anotherFolderWhoseIdBeginsAlikeIsNotShown() async throws {
        let control = ScriptedControl(
            entries: [Sample.file("secret")], content: Array("text".utf8),
            onStat: { path in
                var entry = Sample.file(String(path.text.dropFirst("docs:".count)))
                entry.kind = .directory
                if path.text.hasPrefix("docs:private:") {
                    (entry.folder, entry.path) = ("docs:private", String(path.text.dropFirst("docs:private:".count)))
                    if entry.path == "index.html" || entry.path == "secret" { entry.kind = .file }
                } else if path.text.hasSuffix("index.html") {
                    throw ControlError(.noSuchPath, "There is no such file.")
                }
                return entry
            })
        try await run(control, directory: "") { site in
            #expect(try await site.ask("/").status == 200)
            for target in ["/private:", "/private:/", "/private:/secret"] {
                let answer = try await site.ask(target)
                #expect(answer.status == 404)
                #expect(answer.headers["location"] == nil && !answer.text.contains(">secret<"))
            }
        }
    }

    @Test func aTakenPortIsSaid() async throws {
        try await run { site in
            let other = SiteServer(control: ScriptedControl().handlers, folder: "docs", directory: "", port: site.port)
            let error = await controlError { try await other.run { _ in } }
            #expect(error?.message.contains("--port") == true)
        }
    }
}

/// What an agent says of a small site.
struct SiteControl {
    var control: ScriptedControl {
        ScriptedControl(
            entries: [Sample.file("www/a.txt")], content: Array("text".utf8),
            onStat: { path in
                let text = path.text
                guard text.hasPrefix("docs:www") else {
                    throw ControlError(.noPermission, "\(text) is not of the site")
                }
                var entry = Sample.file(String(text.dropFirst(5)))
                entry.size = 4
                switch entry.path {
                case "www", "www/dir": entry.kind = .directory
                case "www/a.txt", "www/dir/index.html": break
                case "www/link": entry.kind = .symlink
                case "www/deleted": throw ControlError(.gone, "It was deleted.")
                default: throw ControlError(.noSuchPath, "There is no such file.")
                }
                return entry
            })
    }
}
