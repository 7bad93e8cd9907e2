import BlockExchange
import Cryptography
import Foundation
import Glibc
import LinkSecurity
import NIOCore
import NIOPosix

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
        let directory = Self.directory.appending(path: UUID().uuidString)
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

    /// Goes with the process.
    private static let directory: URL = {
        atexit { try? FileManager.default.removeItem(at: TestIdentity.directory) }
        return FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)")
    }()

    static let shared: [Kind: TestIdentity] = {
        var identities: [Kind: TestIdentity] = [:]
        for kind in Kind.allCases { identities[kind] = try? TestIdentity(kind) }
        return identities
    }()

    /// The second device of most tests.
    static let other = Result { try TestIdentity() }
}

/// The `openssl` program, started without Foundation's `Process`, whose waiting blocks the pool that runs the tests.
enum OpenSSL {
    struct Failure: Error { var output: String }

    /// Runs to the end and gives what the program printed; throws when it failed.
    @discardableResult
    static func make(_ arguments: [String]) throws -> String {
        let (reading, writing) = try pipe()
        let child = try spawn(arguments, input: nil, output: writing)
        close(writing)
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(reading, &buffer, buffer.count), count > 0 { output += buffer[..<count] }
        close(reading)
        let text = String(decoding: output, as: UTF8.self)
        guard wait(for: child) == 0 else { throw Failure(output: text) }
        return text
    }

    /// Connects with `openssl s_client`, which ends after the handshake; gives what it printed.
    static func client(port: UInt16, _ arguments: [String]) async throws -> String {
        let running = try await Running(
            ["s_client", "-connect", "127.0.0.1:\(port)"] + arguments, endsWithItsInput: true)
        return await running.output()
    }

    /// A running openssl whose output comes piece by piece. Kill it in the end.
    final class Running: Sendable {
        private let child: pid_t
        private let input: CInt?
        private let pieces: AsyncStream<String>

        /// - Parameter endsWithItsInput: whether its input is empty; otherwise it waits for some until it is killed.
        init(_ arguments: [String], endsWithItsInput: Bool = false) async throws {
            let (pieces, continuation) = AsyncStream.makeStream(of: String.self)
            let (reading, writing) = try pipe()
            let ends = endsWithItsInput ? nil : try pipe()
            child = try spawn(arguments, input: ends?.0, output: writing)
            close(writing)
            if let ends { close(ends.0) }
            input = ends?.1
            self.pieces = pieces
            _ = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(continuation: continuation))
                    }
                }
                .takingOwnershipOfDescriptor(input: reading).get()
        }

        /// Reads until the output holds a match, and gives its first group.
        func first(_ pattern: Regex<(Substring, Substring)>) async -> String? {
            var text = ""
            for await piece in pieces {
                text += piece
                if let match = try? pattern.firstMatch(in: text) { return String(match.output.1) }
            }
            return nil
        }

        /// All that is printed until the program ends by itself.
        func output() async -> String {
            let text = await pieces.reduce(into: "") { $0 += $1 }
            _ = wait(for: child)
            return text
        }

        func kill() {
            Glibc.kill(child, SIGKILL)
            _ = wait(for: child)
            if let input { close(input) }
        }
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let continuation: AsyncStream<String>.Continuation

        init(continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) {
            continuation.finish()
            context.fireChannelInactive()
        }
    }

    private static func pipe() throws -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failure(output: "no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(_ arguments: [String], input: CInt?, output: CInt) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        var words = (["openssl"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var environment = [strdup("HOME=/"), nil]
        defer { free(environment[0]) }
        var child: pid_t = 0
        guard posix_spawn(&child, "/usr/bin/openssl", &actions, nil, &words, &environment) == 0 else {
            throw Failure(output: "cannot start /usr/bin/openssl: install the package openssl")
        }
        return child
    }

    private static func wait(for child: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        return status
    }
}
