import ControlAPI
import NIOHTTP1
import Testing

@testable import AgentServer

struct SessionTableTests {
    private func redeem(_ table: inout SessionTable, _ token: String, _ secret: String, _ now: Int64) -> Bool {
        var ended: [SessionTable.ID] = []
        return table.redeem(token, for: secret, now: now, ended: &ended)
    }

    private func session(_ table: inout SessionTable, _ secret: String, _ now: Int64) -> SessionTable.ID? {
        guard case .session(let id) = table.use(secret, now: now) else { return nil }
        return id
    }

    /// With one session, whose secret is `s`, made at 0.
    private func table(_ limits: SessionTable.Limits = .init()) throws -> (SessionTable, SessionTable.ID) {
        var table = SessionTable(limits: limits)
        table.addToken("t", now: 0)
        #expect(redeem(&table, "t", "s", 0))
        return (table, try #require(session(&table, "s", 0)))
    }

    @Test func aTokenIsGoodOnce() {
        var table = SessionTable()
        table.addToken("t", now: 100)
        #expect(!redeem(&table, "u", "s", 100))
        #expect(redeem(&table, "t", "s", 159))
        #expect(!redeem(&table, "t", "other", 159))
        #expect(session(&table, "other", 160) == nil)
        #expect(session(&table, "t", 160) == nil)
        #expect(session(&table, "s", 160) != nil)
        #expect(session(&table, "", 160) == nil)
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
        #expect((session(&table, "s", now) != nil) == isGood)
        #expect(!redeem(&table, "t", "s", 100), "one that came late is used up")
    }

    @Test func tokensAndSessionsAreBounded() {
        var table = SessionTable(limits: .init(tokens: 2, sessions: 2))
        for (now, token) in ["a", "b", "c"].enumerated() { table.addToken(token, now: Int64(now)) }
        #expect(!redeem(&table, "a", "A", 3))
        #expect(redeem(&table, "b", "B", 3))
        #expect(redeem(&table, "c", "C", 4))
        let first = session(&table, "B", 5)
        let second = session(&table, "C", 4)
        table.addToken("d", now: 6)
        var ended: [SessionTable.ID] = []
        let isMade = table.redeem("d", for: "D", now: 6, ended: &ended)
        #expect(isMade)
        #expect(ended == [second], "the one that was unused for longest")
        #expect(session(&table, "C", 6) == nil)
        #expect(session(&table, "B", 6) == first)
        #expect(session(&table, "D", 6) != nil)
        let count = table.removeAll(now: 6)
        #expect(count == 2)
        #expect(session(&table, "B", 6) == nil)
        #expect(session(&table, "D", 6) == nil)
    }

    @Test func aSessionThatIsNotUsedEnds() throws {
        var (table, id) = try table(.init(idleTime: 10))
        #expect(session(&table, "s", 9) == id)
        #expect(session(&table, "s", 18) == id)
        #expect(table.use("s", now: 28) == .ended(id))
        #expect(table.use("s", now: 28) == .nothing)
        let count = table.removeAll(now: 28)
        #expect(count == 0)
    }

    @Test func noSessionIsForEver() throws {
        var (table, id) = try table(.init(idleTime: 10, wholeTime: 25))
        for now in stride(from: Int64(5), to: 25, by: 5) { #expect(session(&table, "s", now) == id) }
        #expect(table.use("s", now: 25) == .ended(id))
    }

    @Test func logOutForgetsTokens() {
        var table = SessionTable()
        table.addToken("t", now: 0)
        let count = table.removeAll(now: 0)
        #expect(count == 0)
        #expect(!redeem(&table, "t", "s", 0))
    }

    /// Requests are under way when a secret is replaced, and the answer with the new one may be lost.
    @Test func aReplacedSecretIsGoodUntilTheNewOneWasUsedForAWhile() throws {
        var (table, id) = try table(.init(secretTime: 100, overlapTime: 10))
        #expect(!table.needsSecret(id, now: 99))
        #expect(table.needsSecret(id, now: 100))
        table.replaceSecret(id, by: "lost", now: 100)
        #expect(!table.needsSecret(id, now: 109), "it may still arrive")
        #expect(session(&table, "s", 109) == id)
        #expect(table.needsSecret(id, now: 110), "it seems lost")
        table.replaceSecret(id, by: "new", now: 110)
        #expect(table.use("lost", now: 110) == .nothing)
        #expect(session(&table, "s", 500) == id, "nobody has used the new one")
        #expect(session(&table, "new", 500) == id)
        #expect(session(&table, "s", 509) == id)
        #expect(session(&table, "new", 510) == id)
        #expect(table.needsSecret(id, now: 510), "of the time when it was made, not used")
    }

    /// Two who use one session: one of them has copied the secret of the other.
    @Test func aSecretThatWasReplacedLongAgoEndsTheSession() throws {
        var (table, id) = try table(.init(secretTime: 100, overlapTime: 10))
        table.replaceSecret(id, by: "new", now: 100)
        #expect(session(&table, "new", 100) == id)
        #expect(table.use("s", now: 110) == .ended(id))
        #expect(table.use("new", now: 110) == .nothing)
        #expect(table.hasChanged)
    }

    @Test func aSessionOutlivesTheAgent() throws {
        var (before, id) = try table()
        #expect(session(&before, "s", 5) == id)
        let stored = StoredSessions(port: 80, sessions: before.storable())
        #expect(!before.hasChanged)
        let json = try stored.json()
        let text = String(decoding: json, as: UTF8.self)
        #expect(text.contains(SessionTable.digest("s").description) && !text.contains("\"s\""), "no secret is in it")
        let read = try #require(StoredSessions(json: json))
        #expect(read.port == 80)
        var after = SessionTable(restoring: read.sessions)
        let found = try #require(session(&after, "s", 6))
        #expect(after.needsSecret(found, now: 6), "what was sent while the agent was away others may have seen")
        after.replaceSecret(found, by: "new", now: 6)
        #expect(session(&after, "new", 7) == found)
        #expect(session(&after, "s", 8) == found)
        #expect(after.use("s", now: 7 + 300) == .ended(found))
        var late = SessionTable(restoring: read.sessions)
        #expect(session(&late, "s", 5 + 30 * 86_400) == nil, "the time without the agent counts")
        let twice = SessionTable(restoring: read.sessions + read.sessions)
        #expect(!twice.needsSecret(2, now: 6), "a secret has one session")
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"schema":2,"port":1,"sessions":[]}"#, #"{"schema":1,"port":-1,"sessions":[]}"#,
        #"{"schema":1,"port":65536,"sessions":[]}"#, #"{"schema":1,"port":1}"#,
    ])
    func whatIsNotStoredSessionsIsNothing(text: String) { #expect(StoredSessions(json: Array(text.utf8)) == nil) }

    /// Numbers of a file are of anybody.
    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func storedTimesMayBeAnything(time: Int64) throws {
        let digest = SessionTable.digest("s")
        let entry =
            #"{"made":\#(time),"lastUsed":\#(time),"secret":"\#(digest)","used":\#(time),"replaced":"none"}"#
        let stored = try #require(StoredSessions(json: Array(#"{"schema":1,"port":1,"sessions":[\#(entry)]}"#.utf8)))
        #expect(stored.sessions.map(\.replaced) == [nil])
        var table = SessionTable(restoring: stored.sessions)
        #expect((session(&table, "s", 1_795_289_512) != nil) == (time == .max))
    }
}

struct SessionRegistryTests {
    private static func registry(_ file: Box<[UInt8]?>, _ now: Int64 = 100) -> SessionRegistry {
        SessionRegistry(stored: file.current, now: { now }, store: { bytes in file.change { $0 = bytes } })
    }

    @Test func whatIsStoredIsThereAtTheNextStart() async throws {
        let file = Box<[UInt8]?>(nil)
        let first = Self.registry(file)
        try await first.begin(port: 80)
        let secret = try #require(first.redeem(first.makeToken()))
        try await first.saveIfChanged()
        let second = Self.registry(file)
        #expect(second.port == 80)
        try await second.begin(port: 80)
        let session = try #require(second.session(of: secret))
        let new = try #require(second.newSecret(of: session))
        #expect(second.newSecret(of: session) == nil)
        try await second.saveIfChanged()
        let third = Self.registry(file)
        try await third.begin(port: 80)
        #expect(third.session(of: new) != nil)
        #expect(try await third.removeAll() == 1)
        #expect(Self.registry(file).session(of: new) == nil, "what was ended stays so")
    }

    /// Somebody else may listen at the old port now, and browsers give the cookie to whoever does.
    @Test func atAnotherPortNobodyIsLoggedIn() async throws {
        let file = Box<[UInt8]?>(nil)
        let first = Self.registry(file)
        try await first.begin(port: 80)
        let secret = try #require(first.redeem(first.makeToken()))
        try await first.saveIfChanged()
        let second = Self.registry(file)
        try await second.begin(port: 81)
        #expect(second.session(of: secret) == nil)
        let third = Self.registry(file)
        #expect(third.port == 81)
        try await third.begin(port: 80)
        #expect(third.session(of: secret) == nil, "nor back at the old one")
    }

    @Test func whatCannotBeStoredIsStoredTheNextTime() async throws {
        let (file, isFull) = (Box<[UInt8]?>(nil), Box(true))
        let registry = SessionRegistry(
            now: { 100 },
            store: { bytes in
                if isFull.current { throw ControlError(.failed, "full") }
                file.change { $0 = bytes }
            })
        await #expect(throws: ControlError.self) { try await registry.begin(port: 80) }
        let secret = try #require(registry.redeem(registry.makeToken()))
        await #expect(throws: ControlError.self) { try await registry.saveIfChanged() }
        #expect(registry.session(of: secret) != nil)
        isFull.change { $0 = false }
        try await registry.saveIfChanged()
        #expect(Self.registry(file).session(of: secret) != nil)
    }

    /// A request is admitted by its head; by the time that all of it has come its session may have ended.
    @Test func whatComesAfterTheEndOfItsSessionIsNotAnswered() async throws {
        let registry = Self.registry(Box(nil))
        let secret = try #require(registry.redeem(registry.makeToken()))
        let session = try #require(registry.session(of: secret))
        let answers = Box(0)
        let isAnswered = await registry.during(session, end: {}, { answers.change { $0 += 1 } })
        #expect(isAnswered)
        #expect(try await registry.removeAll() == 1)
        let isAnsweredAfterwards = await registry.during(session, end: {}, { answers.change { $0 += 1 } })
        #expect(!isAnsweredAfterwards)
        #expect(answers.current == 1)
    }
}

struct SessionCookieTests {
    @Test func isReadAsItIsSet() {
        let cookie = SessionCookie(port: 8080)
        #expect(cookie.setting("ab12", for: 60) == "synctrain-8080=ab12; Max-Age=60; Path=/; HttpOnly; SameSite=Strict")
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
