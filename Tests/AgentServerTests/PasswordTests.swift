import ControlAPI
import Cryptography
import LinkSecurity
import Logging
import NIOCore
import Testing

@testable import AgentServer

@Suite(.timeLimit(.minutes(1)))
struct PasswordTests {
    static let cheap = Scrypt.Parameters(cost: 16, blockSize: 1, parallelism: 1)
    private static let source = LoginLimiter.Source(address: [10, 0, 0, 1])

    @Test func whatIsStoredHasNoPassword() throws {
        let stored = try StoredPassword(password: "correct horse", salt: Array(0..<16), parameters: Self.cheap)
        let json = try stored.json()
        #expect(!String(decoding: json, as: UTF8.self).contains("horse"))
        let read = try #require(StoredPassword(json: json))
        #expect(read == stored)
        #expect(try read.isRight("correct horse"))
        for wrong in ["", "correct horsE", "correct horse ", "correct hors"] { #expect(try !read.isRight(wrong)) }
        let other = try StoredPassword(password: "correct horse", salt: Array(1..<17), parameters: Self.cheap)
        #expect(other.digest != stored.digest)
    }

    /// Nobody but the user writes the file; what is in it all the same is bounded.
    @Test(arguments: [
        "", "[]", "{}", #"{"schema":2}"#,
        #"{"schema":1,"kdf":"md5","n":16,"r":1,"p":1,"salt":"0011223344556677","digest":"D"}"#,
        #"{"schema":1,"kdf":"scrypt","n":1099511627776,"r":8,"p":1,"salt":"0011223344556677","digest":"D"}"#,
        #"{"schema":1,"kdf":"scrypt","n":16,"r":1,"p":1,"salt":"00","digest":"D"}"#,
        #"{"schema":1,"kdf":"scrypt","n":16,"r":1,"p":1,"salt":"+0+0+0+0+0+0+0+z","digest":"D"}"#,
        #"{"schema":1,"kdf":"scrypt","n":-1,"r":1,"p":1,"salt":"0011223344556677","digest":"D"}"#,
    ])
    func whatIsNoPasswordIsNone(text: String) {
        let text = text.replacing("\"D\"", with: "\"\(String(repeating: "0", count: 64))\"")
        #expect(StoredPassword(json: Array(text.utf8)) == nil)
    }

    @Test func thePasswordLetsIn() async throws {
        let file = Box<[UInt8]?>(nil)
        func gate() -> PasswordGate {
            PasswordGate(stored: file.current, parameters: Self.cheap, uptime: { 0 }) { bytes in
                file.change { $0 = bytes }
            }
        }
        let first = gate()
        #expect(!first.hasPassword)
        #expect(await controlError { _ = try await first.check("x", from: Self.source) { 1 } }?.code == .noPermission)
        try await first.set("correct horse")
        #expect(try await first.check("correct horse", from: Self.source) { 1 } == 1)
        #expect(
            await controlError { _ = try await first.check("wrong", from: Self.source) { 1 } }?.code == .noPermission)
        // After a restart, too; the new one ends the old one.
        let second = gate()
        #expect(try await second.check("correct horse", from: Self.source) { 2 } == 2)
        try await second.set("battery staple")
        #expect(await controlError { _ = try await second.check("correct horse", from: Self.source) { 1 } } != nil)
        #expect(try await second.check("battery staple", from: Self.source) { 3 } == 3)
    }

    @Test func whoGuessesHasToWait() async throws {
        let now = Box<Int64>(0)
        let gate = PasswordGate(stored: nil, parameters: Self.cheap, uptime: { now.current }) { _ in }
        try await gate.set("correct horse")
        for _ in 0..<5 {
            #expect(
                await controlError { _ = try await gate.check("no", from: Self.source) { 1 } }?.code == .noPermission)
        }
        let blocked = await controlError { _ = try await gate.check("correct horse", from: Self.source) { 1 } }
        #expect(blocked?.code == .loginBlocked && blocked?.httpStatus == 429 && blocked?.isRetryable == true)
        #expect(try await gate.check("correct horse", from: .init(address: [10, 0, 0, 2])) { 1 } == 1)
        now.change { $0 = 2 }
        #expect(try await gate.check("correct horse", from: Self.source) { 1 } == 1)
    }

    /// Who is blocked may try as often as they like, and the log has no bound.
    @Test(
        arguments: [(.noPermission, .warning), (.loginBlocked, .debug), (.busy, nil)]
            as [(ControlError.Code, Logger.Level?)])
    func attemptsAreLoggedAndWhatComesTooSoonIsNot(code: ControlError.Code, level: Logger.Level?) {
        #expect(PasswordGate.logLevel(of: ControlError(code, "x")) == level)
    }

    @Test func whatCannotBeStoredIsNotSet() async throws {
        struct Full: Error {}
        let gate = PasswordGate(stored: nil, parameters: Self.cheap, uptime: { 0 }) { _ in throw Full() }
        #expect(await controlError { try await gate.set("correct horse") }?.code == .failed)
        #expect(!gate.hasPassword)
    }

    @Test(arguments: [
        ("short", false), ("123456789", false), ("1234567890", true), ("äöüäöüäöüä", true), ("with\nline feed", false),
        (String(repeating: "x", count: 1024), true), (String(repeating: "x", count: 1025), false),
    ])
    func passwordsAreChecked(password: String, isGood: Bool) {
        let request = PasswordChange(password: password)
        let isTaken = (try? Endpoints.setPassword.body(request)) != nil
        #expect(isTaken == isGood)
    }
}

/// What is let in at an address that other machines reach. Over TLS itself: Tests/Interop/test_network_page.py.
@Suite struct NetworkPageGuardTests {
    private static let secure = NetworkGuard(
        hosts: RequestGuard(hosts: ["nas.local"], scheme: "https"), cookie: SessionCookie(port: 5, isSecure: true),
        takesPassword: true)

    private static func request(
        _ method: String, _ target: String, host: String = "nas.local:5", origin: String? = "https://nas.local:5",
        site: String? = "same-origin", header: String? = "page", cookie: String? = nil
    ) -> ControlRequest {
        var request = ControlRequest(head: .init(version: .http1_1, method: .init(rawValue: method), uri: target))
        request.hosts = [host]
        request.origins = origin.map { [$0] } ?? []
        request.fetchSites = site.map { [$0] } ?? []
        request.pageFields = header.map { [$0] } ?? []
        request.cookies = cookie.map { [$0] } ?? []
        return request
    }

    private static func admission(_ request: ControlRequest) -> Admission? {
        try? secure.admission(of: request) { $0 == "good" ? 1 : nil }
    }

    @Test func thePasswordComesFromThePageOnly() {
        #expect(Self.admission(Self.request("POST", "/login")) == .password)
        #expect(Self.admission(Self.request("POST", "/login", site: nil)) == .password)
        #expect(
            Self.admission(Self.request("POST", "/login", host: "192.0.2.1:5", origin: "https://192.0.2.1:5"))
                == .password)
        for bad in [
            Self.request("POST", "/login", origin: nil), Self.request("POST", "/login", origin: "http://nas.local:5"),
            Self.request("POST", "/login", origin: "https://evil.example"),
            Self.request("POST", "/login", origin: "null"),
            Self.request("POST", "/login", site: "same-site"), Self.request("POST", "/login", site: "cross-site"),
            Self.request("POST", "/login", header: nil), Self.request("POST", "/login", header: "1"),
            // A name that was made to lead here (DNS rebinding).
            Self.request("POST", "/login", host: "evil.example", origin: "https://evil.example"),
            Self.request("POST", "/login", host: "", origin: "https://"),
        ] { #expect(Self.admission(bad) == nil, "\(bad)") }
        #expect(Self.admission(Self.request("GET", "/login?token=x")) == .login)
        // Without TLS there is no password.
        let local = NetworkGuard(hosts: RequestGuard(), cookie: SessionCookie(port: 5))
        let asked = Self.request("POST", "/login", host: "127.0.0.1:5", origin: "http://127.0.0.1:5")
        #expect((try? local.admission(of: asked) { _ in nil }) == .login)
    }

    @Test func theCookieIsForTLSAlone() {
        #expect(
            SessionCookie(port: 5, isSecure: true).setting("s", for: 7)
                == "__Host-synctrain-5=s; Max-Age=7; Path=/; Secure; HttpOnly; SameSite=Strict")
        #expect(Self.admission(Self.request("GET", "/v1/status", cookie: "__Host-synctrain-5=good")) == .session(1))
        // Of the time when the page was at this port without TLS.
        #expect(Self.admission(Self.request("GET", "/v1/status", cookie: "synctrain-5=good")) == nil)
        for method in ["POST", "DELETE"] {
            #expect(
                Self.admission(Self.request(method, "/v1/password", cookie: "__Host-synctrain-5=good")) == nil,
                "\(method)")
        }
    }

    @Test(
        arguments: [
            ("GET", "/", "nas.local:5", "https://nas.local:5/"), ("HEAD", "/?x", "192.0.2.1", "https://192.0.2.1/"),
            ("GET", "/login?token=x", "nas.local:5", nil), ("POST", "/", "nas.local:5", nil),
            ("GET", "/v1/status", "nas.local:5", nil), ("GET", "/", "evil.example", nil), ("GET", "/", "", nil),
        ] as [(String, String, String, String?)])
    func whoComesWithoutTLSIsSentThere(method: String, target: String, host: String, to: String?) {
        let asked = Self.request(method, target, host: host, cookie: "__Host-synctrain-5=good")
        let found = try? Self.secure.plainAdmission(of: asked)
        #expect(found == to.map { .redirect(to: $0) })
    }

    /// Whatever the caller has decided: without a password, or without TLS, nothing is listened on that others reach.
    @Test(arguments: [(false, false), (true, false), (false, true)])
    func nothingIsOpenByAccident(hasPassword: Bool, hasTLS: Bool) async throws {
        let pem = try PageCertificate.generate(names: [], addresses: [], notBefore: 1_795_289_512)
        let password = try StoredPassword(
            password: "correct horse", salt: Array(0..<16), parameters: PasswordTests.cheap)
        let links = LinkEndpoint(
            address: ("0.0.0.0", 0), key: [1], now: { 0 },
            tls: hasTLS ? try ServerTLS(certificatePEM: pem.certificate, keyPEM: pem.key) : nil,
            password: hasPassword ? try password.json() : nil)
        try await ServerHarness.run(ScriptedControl(), links: links) { harness in
            let status = try await harness.client.call(Endpoints.status)
            #expect(status == .sample)
            #expect(links.address == nil)
            #expect(links.problem?.english.contains("no password or no certificate") == true)
        }
    }
}
