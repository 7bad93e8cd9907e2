import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

/// What may be listened on for the page: an address that other machines reach never without a password.
@Suite struct ListeningTests {
    @Test(arguments: [
        ("", false, false, "nowhere"), ("", true, true, "nowhere"),
        ("127.0.0.1:8394", false, false, "this machine"), ("127.0.0.1:8394", true, true, "this machine"),
        ("127.1.2.3:1", false, false, "this machine"), ("[::1]:0", false, true, "this machine"),
        ("localhost:5", false, false, "this machine"),
        ("0.0.0.0:8394", false, false, "set a password"), ("0.0.0.0:8394", false, true, "http.network true"),
        ("0.0.0.0:8394", true, false, "ui --set-password"), ("0.0.0.0:8394", true, true, "network"),
        ("[::]:8394", true, false, "ui --set-password"), ("[::]:8394", true, true, "network"),
        ("192.0.2.1:80", true, false, "ui --set-password"), ("192.0.2.1:80", true, true, "network"),
        // An IPv4 address in IPv6: nobody is sure what it is.
        ("[::ffff:127.0.0.1]:80", true, false, "ui --set-password"),
    ])
    func isAsTheTableSays(listen: String, isOpen: Bool, hasPassword: Bool, expected: String) {
        let http = HTTPSettings(listen: listen, isOpenToNetwork: isOpen)
        switch http.listening(hasPassword: hasPassword) {
        case .nowhere: #expect(expected == "nowhere")
        case .thisMachine: #expect(expected == "this machine")
        case .network: #expect(expected == "network" && hasPassword && isOpen)
        case .refused(let reason):
            #expect(reason.english.contains(expected) && reason.english.contains("synctrain "), "\(reason)")
        }
    }

    @Test func theConfigurationSaysWhatToDo() throws {
        let error = failure { _ = try parse("[http]\nlisten = \"0.0.0.0:8394\"\n") }
        #expect(error?.message.contains("synctrain ui --set-password") == true)
        let http = try parse(
            "[http]\ncertificate = \"/etc/c.pem\"\ncertificate-key = \"~/k.pem\"\n"
        ).http
        #expect(http.certificate == "/etc/c.pem" && http.certificateKey?.hasSuffix("/k.pem") == true)
        #expect(failure { _ = try parse("[http]\ncertificate = \"c.pem\"\n") } != nil)
    }
}

@Suite struct PageFilesTests {
    let directory: TemporaryDirectory
    let places: AgentPlaces

    init() throws {
        directory = try TemporaryDirectory()
        places = try directory.places()
    }

    @Test func thePasswordFileIsForItsUserAlone() throws {
        #expect(try PasswordFile.read(from: places) == nil && !PasswordFile.isThere(in: places))
        for text in ["one", "two"] {
            try PasswordFile.write(Array(text.utf8), to: places)
            #expect(try PasswordFile.read(from: places) == Array(text.utf8))
            #expect(try directory.mode("http.password") == 0o600)
        }
        #expect(PasswordFile.isThere(in: places))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: places.password)
        #expect(failure { _ = try PasswordFile.read(from: places) }?.message.contains("ui --set-password") == true)
        // The remedy works.
        try PasswordFile.write([1], to: places)
        #expect(try PasswordFile.read(from: places) == [1])
        #expect(try directory.names() == ["http.password"])
    }

    @Test func theCertificateIsMadeOnce() throws {
        #expect(try PageCertificateFile.read(from: places) == nil)
        let made = try PageCertificateFile.create(in: places, names: ["nas"], addresses: [], now: 1_795_289_512)
        #expect(made.contains("BEGIN CERTIFICATE") && made.contains("PRIVATE KEY"))
        #expect(try PageCertificateFile.read(from: places) == made)
        #expect(try directory.mode("http.pem") == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: places.pageCertificate)
        #expect(failure { _ = try PageCertificateFile.read(from: places) }?.message.contains("delete the file") == true)
        #expect(failure { _ = try PageCertificateFile.own("/nowhere/c.pem") }?.message.contains("[http]") == true)
    }
}
