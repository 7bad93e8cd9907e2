import ControlAPI
import Foundation
import SyncTestKit
import Testing

@testable import AsyncTools
@testable import SyncAgent

/// The file that leads a browser to a login link.
struct LoginPageTests {
    private static let link = "http://127.0.0.1:1/login?token=0123&x=\"<y>"

    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "LoginPageTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        try await body(url.path)
    }

    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    @Test func itIsForItsUserAndLeadsToTheLink() async throws {
        try await withDirectory { directory in
            let page = try LoginPage(leadingTo: Self.link, in: directory)
            let other = try LoginPage(leadingTo: Self.link, in: directory)
            #expect(page.path != other.path && page.path.hasPrefix(directory + "/login-"))
            let attributes = try FileManager.default.attributesOfItem(atPath: page.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let text = try String(contentsOfFile: page.path, encoding: .utf8)
            let escaped = "http://127.0.0.1:1/login?token=0123&amp;x=&quot;&lt;y>"
            #expect(text.contains(#"<meta http-equiv="refresh" content="0; url=\#(escaped)">"#))
            #expect(text.contains(#"<a href="\#(escaped)">"#))
        }
    }

    @Test func addressesAreThoseOfThePage() {
        func address(_ folder: String, _ path: String) -> String {
            LinkRequests.address(
                Entry(kind: .file, folder: folder, path: path, size: 0, modified: nil, state: .absent, selected: .no))
        }
        #expect(address("library", "") == "#/files/library")
        #expect(address("library", "Films/a b#1%.mkv") == "#/files/library/Films/a%20b%231%25.mkv")
        #expect(address("a/b", "\"<ü") == "#/files/a%2Fb/%22%3C%C3%BC")
    }

    @Test func marksEndNoQuotes() {
        #expect(
            !LoginPage.html("x\"\u{301}onload=\u{0D4E}\"").unicodeScalars.split(separator: "\"").contains {
                String($0).contains("onload") && !String($0).contains("&quot;")
            })
    }

    @Test func itGoesWhenItsLinkIsUsed() async throws {
        try await withDirectory { directory in
            let page = try LoginPage(leadingTo: Self.link, in: directory)
            let used = Signal()
            used.notify()
            await page.stay(until: used, atMost: .seconds(60), clock: ManualClock())
            #expect(try names(directory).isEmpty)
        }
    }

    @Test func itGoesWhenItsTimeIsOver() async throws {
        try await withDirectory { directory in
            let page = try LoginPage(leadingTo: Self.link, in: directory)
            let clock = ManualClock()
            async let stay: Void = page.stay(until: Signal(), atMost: .seconds(60), clock: clock)
            while try !names(directory).isEmpty, !Task.isCancelled {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            await stay
            #expect(clock.now.offset >= .seconds(60))
        }
    }

    @Test func whatIsLeftGoesAtTheNextStart() async throws {
        try await withDirectory { directory in
            _ = try LoginPage(leadingTo: Self.link, in: directory)
            for name in ["login.html", "login-notes.txt", "agent.sock"] {
                try Data().write(to: URL(fileURLWithPath: directory + "/" + name))
            }
            LoginPage.removeAll(in: directory)
            #expect(try names(directory) == ["agent.sock", "login-notes.txt", "login.html"])
        }
    }
}
