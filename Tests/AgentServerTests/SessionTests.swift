import ControlAPI
import NIOHTTP1
import Testing

@testable import AgentServer

struct SessionTableTests {
    private func redeem(_ table: inout SessionTable, _ token: String, _ secret: String, _ now: Int64) -> Bool {
        var ended: [SessionTable.ID] = []
        return table.redeem(token, for: secret, now: now, ended: &ended)
    }

    @Test func aTokenIsGoodOnce() {
        var table = SessionTable()
        table.addToken("t", now: 100)
        #expect(!redeem(&table, "u", "s", 100))
        #expect(redeem(&table, "t", "s", 159))
        #expect(!redeem(&table, "t", "other", 159))
        #expect(table.session(of: "other", now: 160) == nil)
        #expect(table.session(of: "t", now: 160) == nil)
        #expect(table.session(of: "s", now: 160) != nil)
        #expect(table.session(of: "", now: 160) == nil)
    }

    /// Who made a token is told once that it was used.
    @Test func theUseOfATokenIsTold() {
        let now = Box<Int64>(100)
        let registry = SessionRegistry(limits: .init(tokens: 2), now: { now.current })
        let used = Box<[String]>([])
        func token(_ name: String) -> String { registry.makeToken(used: { used.change { $0.append(name) } }) }
        let (first, second) = (token("first"), token("second"))
        #expect(registry.redeem("other") == nil)
        #expect(registry.redeem(second) != nil)
        #expect(registry.redeem(second) == nil)
        #expect(used.current == ["second"])
        now.change { $0 = 160 }
        #expect(registry.redeem(first) == nil)
        _ = token("third")
        #expect(used.current == ["second"])
    }

    @Test(arguments: [(160, false), (1_000_000, false), (99, false), (100, true), (159, true)] as [(Int64, Bool)])
    func aTokenIsGoodForAMinute(now: Int64, isGood: Bool) {
        var table = SessionTable()
        table.addToken("t", now: 100)
        #expect(redeem(&table, "t", "s", now) == isGood)
        #expect((table.session(of: "s", now: now) != nil) == isGood)
        #expect(!redeem(&table, "t", "s", 100), "one that came late is used up")
    }

    @Test func tokensAndSessionsAreBounded() {
        var table = SessionTable(limits: .init(tokens: 2, sessions: 2))
        for (now, token) in ["a", "b", "c"].enumerated() { table.addToken(token, now: Int64(now)) }
        #expect(!redeem(&table, "a", "A", 3))
        #expect(redeem(&table, "b", "B", 3))
        #expect(redeem(&table, "c", "C", 4))
        let first = table.session(of: "B", now: 5)
        let second = table.session(of: "C", now: 4)
        table.addToken("d", now: 6)
        var ended: [SessionTable.ID] = []
        let isMade = table.redeem("d", for: "D", now: 6, ended: &ended)
        #expect(isMade)
        #expect(ended == [second], "the one that was unused for longest")
        #expect(table.session(of: "C", now: 6) == nil)
        #expect(table.session(of: "B", now: 6) == first)
        #expect(table.session(of: "D", now: 6) != nil)
        let count = table.removeAll(now: 6)
        #expect(count == 2)
        #expect(table.session(of: "B", now: 6) == nil)
        #expect(table.session(of: "D", now: 6) == nil)
    }

    @Test func aSessionThatIsNotUsedEnds() {
        var table = SessionTable(limits: .init(idleTime: 10))
        table.addToken("t", now: 0)
        #expect(redeem(&table, "t", "s", 0))
        #expect(table.session(of: "s", now: 9) != nil)
        #expect(table.session(of: "s", now: 18) != nil)
        #expect(table.session(of: "s", now: 28) == nil)
        #expect(table.session(of: "s", now: 28) == nil)
        let count = table.removeAll(now: 28)
        #expect(count == 0)
    }

    @Test func logOutForgetsTokens() {
        var table = SessionTable()
        table.addToken("t", now: 0)
        let count = table.removeAll(now: 0)
        #expect(count == 0)
        #expect(!redeem(&table, "t", "s", 0))
    }
}

struct SessionCookieTests {
    @Test func isReadAsItIsSet() {
        let cookie = SessionCookie(port: 8080)
        #expect(cookie.setting("ab12") == "synctrain-8080=ab12; Path=/; HttpOnly; SameSite=Strict")
        #expect(cookie.values(in: ["synctrain-8080=ab12"]) == ["ab12"])
    }

    @Test(
        arguments: [
            ([], []), ([""], []), (["synctrain-80"], []), (["synctrain-80="], [""]), (["synctrain-8=a"], []),
            (["a=b; synctrain-80=x; c"], ["x"]), (["a=b;synctrain-80=x=y;synctrain-80=z"], ["x=y", "z"]),
            (["synctrain-80=x", "synctrain-80=y"], ["x", "y"]), (["SYNCTRAIN-80=x"], []), (["a; xsynctrain-80=x"], []),
            ([String(repeating: "synctrain-80=x;", count: 9)], ["x", "x", "x", "x"]),
        ] as [([String], [Substring])])
    func valuesAreFound(fields: [String], values: [Substring]) {
        #expect(SessionCookie(port: 80).values(in: fields) == values)
    }
}

struct NetworkGuardTests {
    private static let host = ("Host", "127.0.0.1:5")
    private static let cookie = ("Cookie", "synctrain-5=good")
    private static let origin = ("Origin", "http://127.0.0.1:5")
    private static let page = ("X-Synctrain", "page")

    private func admission(_ method: String, _ target: String, _ fields: [(String, String)]) -> Result<
        Admission, ControlError
    > {
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: method), uri: target, headers: HTTPHeaders(fields))
        let guarding = NetworkGuard(hosts: RequestGuard(hosts: ["nas.local"]), cookie: SessionCookie(port: 5))
        do throws(ControlError) {
            return .success(try guarding.admission(of: ControlRequest(head: head)) { $0 == "good" ? 7 : nil })
        } catch {
            return .failure(error)
        }
    }

    @Test(
        arguments: [
            ("GET", "/", [host], .page(name: "index.html")),
            ("GET", "/page/app.js", [host], .page(name: "app.js")),
            ("GET", "/page/../x", [host], .page(name: "../x")),
            ("GET", "/login?token=x", [host], .login), ("GET", "/file?x", [host], .link),
            ("GET", "/v1/status", [host, cookie], .session(7)),
            ("GET", "/v1/status", [("Host", "nas.local"), cookie], .session(7)),
            ("GET", "/v1/status", [host, ("Cookie", "a=b; synctrain-5=bad; synctrain-5=good")], .session(7)),
            ("GET", "/v1/status", [host, cookie, ("Sec-Fetch-Site", "same-origin")], .session(7)),
            ("GET", "/v1/status", [host, cookie, ("Sec-Fetch-Site", "none")], .session(7)),
            ("GET", "/v1/status", [host, cookie, origin], .session(7)),
            ("POST", "/v1/stop", [host, cookie, origin, page], .session(7)),
            ("DELETE", "/v1/sessions", [host, cookie, origin, page], .session(7)),
        ] as [(String, String, [(String, String)], Admission)])
    func letsIn(method: String, target: String, fields: [(String, String)], expected: Admission) {
        #expect(try! admission(method, target, fields).get() == expected)
    }

    @Test(
        arguments: [
            // Nothing without the cookie, or with another port's.
            ("GET", "/v1/status", [host], 401), ("GET", "/v1/nothing", [host], 401),
            ("GET", "/v1/status", [host, ("Cookie", "synctrain-5=bad")], 401),
            ("GET", "/v1/status", [host, ("Cookie", "synctrain-6=good")], 401),
            ("POST", "/v1/stop", [host, origin, page], 401),
            // A page of another port of this machine is same-site: the browser sends it the cookie.
            ("GET", "/v1/status", [host, cookie, ("Origin", "http://127.0.0.1:6")], 403),
            ("GET", "/v1/status", [host, cookie, ("Origin", "http://127.0.0.1")], 403),
            ("GET", "/v1/status", [host, cookie, ("Origin", "https://127.0.0.1:5")], 403),
            ("GET", "/v1/status", [host, cookie, ("Origin", "null")], 403),
            ("GET", "/v1/status", [host, cookie, ("Origin", "http://localhost:5")], 403),
            ("GET", "/v1/status", [host, cookie, origin, origin], 403),
            ("GET", "/v1/status", [host, cookie, ("Sec-Fetch-Site", "same-site")], 403),
            ("GET", "/v1/status", [host, cookie, ("Sec-Fetch-Site", "cross-site")], 403),
            ("GET", "/v1/status", [host, cookie, ("Sec-Fetch-Site", "")], 403),
            ("GET", "/v1/file?path=a:b", [host, cookie, ("Sec-Fetch-Site", "same-site")], 403),
            ("POST", "/v1/stop", [host, cookie, ("Origin", "http://127.0.0.1:6"), page], 403),
            // A form or a no-cors fetch cannot set the header; a program that has the cookie has to say where it is from.
            ("POST", "/v1/stop", [host, cookie, origin], 403), ("POST", "/v1/stop", [host, cookie, page], 403),
            ("POST", "/v1/stop", [host, cookie], 403), ("PUT", "/v1/status", [host, cookie], 403),
            ("OPTIONS", "/v1/status", [host, cookie], 403),
            ("POST", "/v1/stop", [host, cookie, origin, ("X-Synctrain", "Page")], 403),
            ("POST", "/v1/stop", [host, cookie, origin, page, page], 403),
            ("POST", "/v1/sessions", [host, cookie, origin, page], 403),
            // DNS rebinding.
            ("GET", "/", [("Host", "evil.example:5")], 403), ("GET", "/login?token=x", [("Host", "evil.example")], 403),
            ("GET", "/v1/status", [("Host", "evil.example:5"), cookie, ("Origin", "http://evil.example:5")], 403),
            ("GET", "/v1", [host, cookie], 404), ("GET", "/V1/status", [host, cookie], 404),
            ("GET", "//v1/status", [host, cookie], 404), ("GET", "/page", [host], 404), ("GET", "", [host], 404),
        ] as [(String, String, [(String, String)], Int)])
    func keepsOut(method: String, target: String, fields: [(String, String)], status: Int) {
        guard case .failure(let error) = admission(method, target, fields) else {
            Issue.record("it was let in")
            return
        }
        #expect(error.httpStatus == status)
    }
}
