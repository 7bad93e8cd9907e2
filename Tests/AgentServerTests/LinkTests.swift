import ControlAPI
import SyncTestKit
import Testing

@testable import AgentServer

struct LinkTests {
    static let key = [UInt8](repeating: 7, count: 32)

    private func target(_ signed: String, now: Int64 = 0, key: [UInt8] = Self.key) throws -> LinkTarget {
        try LinkTarget(target: signed, key: key, now: now)
    }

    @Test(arguments: [
        ("docs", "a.txt", 1), ("docs", "ä/ö b+c%&=?#\u{1}.mkv", .max), ("a:b", "c:d", 1_795_289_512), ("", "x", 5),
    ])
    func isReadAsItIsWritten(folder: String, file: String, expires: Int64) throws {
        let made = LinkTarget(folder: folder, file: file, expires: expires)
        let signed = try made.signed(with: Self.key)
        #expect(signed.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        #expect(try target(signed) == made)
        #expect(throws: ControlError.self) { _ = try target(signed, now: expires) }
    }

    @Test func theCodeIsHMACOfTheWordsWithTheirLengths() throws {
        // From Python's hmac module.
        let signed = try LinkTarget(folder: "docs", file: "a.txt", expires: 100).signed(with: Self.key)
        #expect(
            signed
                == "/file?folder=docs&path=a.txt&expires=100&signature="
                + "9bb3df196a7be26d64f9b02aea44769b53e776758333e99b38de2328e0c444b0")
    }

    /// Whatever is changed in a link, it is none any more: no byte of it is without meaning.
    @Test func noOtherLinkIsTaken() throws {
        let signed = try LinkTarget(folder: "docs", file: "a/b.txt", expires: 4_000_000_000).signed(with: Self.key)
        let bytes = Array(signed.utf8)
        for index in bytes.indices where index > LinkTarget.path.utf8.count {
            var changed = bytes
            // Another digit or letter, so that what is left is a link still.
            changed[index] = changed[index] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: ControlError.self, "\(text)") { try target(text) }
        }
        #expect(throws: ControlError.self) { try target(signed, key: [UInt8](repeating: 8, count: 32)) }
    }

    @Test func wordsThatRunTogetherAreNotTheSame() throws {
        let one = try LinkTarget(folder: "a", file: "b1:c", expires: 1).signed(with: Self.key)
        let other = try LinkTarget(folder: "a1:b", file: "c", expires: 1).signed(with: Self.key)
        #expect(one.split(separator: "=").last != other.split(separator: "=").last)
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var target: String
        var code: ControlError.Code
        var testDescription: String { target }
    }

    private static let digits = String(repeating: "0", count: 64)

    @Test(arguments: [
        Bad(target: "/file", code: .invalidRequest), Bad(target: "/file?", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=b&expires=9&signature=12", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=b&expires=x&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=b&expires=99999999999999999999&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=&expires=9&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&expires=9&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=%zz&expires=9&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&folder=a&path=b&expires=9&signature=\(digits)", code: .invalidRequest),
        Bad(target: "/file?folder=a&path=b&expires=9&signature=\(digits)", code: .noPermission),
        // Not signed by us comes first: nobody is told whether a link would have been good once.
        Bad(target: "/file?folder=a&path=b&expires=-9&signature=\(digits)", code: .noPermission),
    ])
    func whatIsNoLinkIsRefused(_ bad: Bad) {
        do {
            Issue.record("taken as \(try target(bad.target))")
        } catch {
            #expect((error as? ControlError)?.code == bad.code)
        }
    }

    @Test func anExpiredLinkIsGone() throws {
        let signed = try LinkTarget(folder: "a", file: "b", expires: 100).signed(with: Self.key)
        #expect(try target(signed, now: 99).file == "b")
        do {
            _ = try target(signed, now: 100)
            Issue.record("a link is taken though it has expired")
        } catch {
            #expect((error as? ControlError)?.code == .gone)
        }
    }

    @Test(
        arguments: [
            ([""], [], false), (["127.0.0.1:8080"], [], true), (["localhost"], [], true), (["LocalHost:1"], [], true),
            (["[::1]:80"], [], true), (["[fe80::1]"], [], true), (["192.168.1.7:80"], [], true),
            (["nas.local"], [], true),
            (["NAS.local:99999"], [], true), (["evil.example"], [], false), (["evil.example:80"], [], false),
            (["127.0.0.1.evil.example"], [], false), (["localhost.evil.example"], [], false), (["1.2.3"], [], false),
            (["1.2.3.4.5"], [], false), (["256.1.1.1"], [], false), (["localhost:"], [], false),
            (["localhost:80:80"], [], false), (["localhost:123456"], [], false), (["[::1"], [], false),
            (["[evil]"], [], false), (["[]"], [], false), (["localhost "], [], false), (["user@localhost"], [], false),
            ([], [], false), (["localhost", "localhost"], [], false),
            (["localhost:80"], ["http://localhost:80"], true), (["localhost:80"], ["http://LOCALHOST:80"], true),
            (["localhost:80"], ["http://localhost:81"], false), (["localhost:80"], ["https://localhost:80"], false),
            (["localhost:80"], ["http://evil.example"], false), (["localhost:80"], ["null"], false),
            (["localhost:80"], [""], false), (["127.0.0.1:80"], ["http://localhost:80"], false),
            (["localhost:80"], ["http://localhost:80", "http://localhost:80"], false),
        ] as [([String], [String], Bool)])
    func hostAndOrigin(hosts: [String], origins: [String], isLetIn: Bool) {
        let guarding = RequestGuard(hosts: ["nas.LOCAL"])
        #expect((guarding.objection(hosts: hosts, origins: origins) == nil) == isLetIn)
    }

    @Test(arguments: [
        ("film.MKV", "video/x-matroska", true), ("a/b.mp4", "video/mp4", true), ("a.tar.gz", "application/gzip", false),
        ("page.html", "text/html; charset=utf-8", false), ("picture.svg", "image/svg+xml", false),
        ("code.js", "text/plain; charset=utf-8", false), ("notes.md", "text/plain; charset=utf-8", true),
        ("no ending", "application/octet-stream", false), (".mp4", "video/mp4", true),
        ("a.mp4/b", "application/octet-stream", false), ("x.", "application/octet-stream", false),
        ("", "application/octet-stream", false), ("a.xhtml", "application/octet-stream", false),
    ])
    func mediaTypes(path: String, type: String, isShown: Bool) {
        let media = MediaType(path: path)
        #expect(media.text == type)
        #expect(media.isShown == isShown)
    }

    /// With `nosniff` a browser runs or applies only what has such a type; a file's address is `'self'` to the page.
    @Test(arguments: [
        "js", "mjs", "cjs", "jsx", "ts", "css", "wasm", "json", "webmanifest", "appcache", "xsl", "xslt", "html",
        "xhtml", "svg", "xml",
        "vbs", "es", "JS",
    ])
    func nothingOfAFolderIsAScriptOrAStyleOfThePage(ending: String) {
        let type = MediaType(path: "x." + ending).text
        #expect(!["script", "css", "wasm", "manifest", "xsl"].contains { type.contains($0) })
    }

    @Test(arguments: [
        ("d/film.mkv", "inline; filename=\"film.mkv\"; filename*=UTF-8''film.mkv"),
        ("d/\u{301}.txt", "inline; filename=\"__.txt\"; filename*=UTF-8''%CC%81.txt"),
        ("a b.zip", "attachment; filename=\"a b.zip\"; filename*=UTF-8''a%20b.zip"),
        (
            "ö\"\\;\r\nSet-Cookie: x.txt",
            "inline; filename=\"__\u{5F}_;__Set-Cookie: x.txt\"; "
                + "filename*=UTF-8''%C3%B6%22%5C%3B%0D%0ASet-Cookie%3A%20x.txt"
        ),
    ])
    func namesCannotLeaveTheirHeader(path: String, disposition: String) {
        #expect(MediaType(path: path).disposition(path: path) == disposition)
    }
}
