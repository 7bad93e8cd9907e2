import BlockExchange
import Cryptography
import Foundation
import Glibc
import LinkSecurity
import Synchronization

/// A device's certificate and key made by the `openssl` program.
struct TestIdentity: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case p256, p384, rsa2048, ed25519

        var arguments: [String] {
            switch self {
            case .p256: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .p384: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]
            case .rsa2048: ["-newkey", "rsa:2048"]
            case .ed25519: ["-newkey", "ed25519"]
            }
        }
    }

    let certificatePath: String
    let keyPath: String
    let certificatePEM: String
    let keyPEM: String
    let identity: LinkIdentity
    /// The SHA-256 of the certificate's DER in openssl's words.
    let fingerprint: SHA256Digest

    init(_ kind: Kind = .p256, subject: String = "/O=Syncthing/CN=syncthing", extensions: [String] = []) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        certificatePath = directory.appending(path: "cert.pem").path
        keyPath = directory.appending(path: "key.pem").path
        try OpenSSL.make(
            ["req", "-x509", "-nodes", "-days", "1", "-subj", subject, "-keyout", keyPath, "-out", certificatePath]
                + kind.arguments + extensions.flatMap { ["-addext", $0] })
        certificatePEM = try String(contentsOfFile: certificatePath, encoding: .utf8)
        keyPEM = try String(contentsOfFile: keyPath, encoding: .utf8)
        identity = try LinkIdentity(certificatePEM: certificatePEM, keyPEM: keyPEM)
        let text = try OpenSSL.make(["x509", "-in", certificatePath, "-noout", "-fingerprint", "-sha256"])
        let hex = text.split(separator: "=").last.map { $0.filter(\.isHexDigit) } ?? ""
        guard let digest = SHA256Digest(hex: hex) else { throw OpenSSL.Failure(output: text) }
        fingerprint = digest
    }

    static let shared: [Kind: TestIdentity] = {
        var identities: [Kind: TestIdentity] = [:]
        for kind in Kind.allCases { identities[kind] = try? TestIdentity(kind) }
        return identities
    }()

    /// The second device of most tests.
    static let other = Result { try TestIdentity() }
}

enum OpenSSL {
    struct Failure: Error { var output: String }

    /// Runs to the end and gives what the program printed; throws when it failed.
    @discardableResult
    static func make(_ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let text = String(decoding: output, as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failure(output: text) }
        return text
    }

    /// Connects with `openssl s_client`, which ends after the handshake; gives what it printed.
    static func client(port: UInt16, _ arguments: [String]) async throws -> String {
        let process = try Running(
            ["s_client", "-connect", "127.0.0.1:\(port)"] + arguments, input: FileHandle.nullDevice)
        return await process.output()
    }

    /// A running openssl whose output comes piece by piece. It waits for input until it is killed.
    struct Running: Sendable {
        private let pieces: AsyncStream<String>
        private let process: Process

        init(_ arguments: [String], input: Any = Pipe()) throws {
            let process = Process()
            let pipe = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/openssl")
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = pipe
            process.standardError = pipe
            let (pieces, continuation) = AsyncStream.makeStream(of: String.self)
            pipe.fileHandleForReading.readabilityHandler = { handle in
                let data = handle.availableData
                if data.isEmpty {
                    handle.readabilityHandler = nil
                    continuation.finish()
                } else {
                    continuation.yield(String(decoding: data, as: UTF8.self))
                }
            }
            try process.run()
            self.pieces = pieces
            self.process = process
        }

        /// Reads until the output holds a match, and gives its first group.
        func first<Output>(_ pattern: Regex<(Substring, Output)>) async -> Output? {
            var text = ""
            for await piece in pieces {
                text += piece
                if let match = try? pattern.firstMatch(in: text) { return match.output.1 }
            }
            return nil
        }

        func output() async -> String { await pieces.reduce(into: "") { $0 += $1 } }

        func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }
    }
}
