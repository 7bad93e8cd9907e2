import BlockExchange
import Cryptography
import Glibc
import LinkSecurity
import NIOCore
import Transport
import TransportRelay
import TransportTCP

/// A device that speaks with relays, for tests against real ones.
///
///     RelayProbe listen SOURCE DIRECTORY          join, print each status; on each link take a transfer or say hello
///     RelayProbe send RELAY DIRECTORY ID MIB      dial, send so many MiB, compare the digest
///     RelayProbe hello RELAY DIRECTORY ID         dial, exchange BEP's Hello
///
/// SOURCE is a relay's address, or dynamic+http://… with the list in the file $POOL. DIRECTORY has cert.pem and key.pem.
/// Prints lines of words on stdout; exits with 1 and the error when something fails.
@main
enum RelayProbe {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            switch arguments.dropFirst().first {
            case "listen" where arguments.count == 4: try await listen(at: arguments[2], arguments[3])
            case "send" where arguments.count == 6:
                try await send(arguments[2], arguments[3], to: arguments[4], mebibytes: arguments[5])
            case "hello" where arguments.count == 5: try await hello(arguments[2], arguments[3], to: arguments[4])
            default: throw Failure(text: "usage: RelayProbe listen|send|hello …")
            }
        } catch {
            say("error", error)
            exit(1)
        }
    }

    /// Prints words as a line, at once.
    private static func say(_ words: Any...) {
        print(words.map { "\($0)" }.joined(separator: " "))
        fflush(nil)
    }

    struct Failure: Error, CustomStringConvertible {
        var text: String
        var description: String { text }
    }

    private static func device(_ directory: String) throws -> (RelayTransport, LinkAuthenticator) {
        let identity = try LinkIdentity(
            certificatePEM: contents(of: directory + "/cert.pem"), keyPEM: contents(of: directory + "/key.pem"))
        let transport = RelayTransport(identity: identity, dialing: DirectStreams()) { _ in
            guard let file = getenv("POOL").map({ String(cString: $0) }) else { throw Failure(text: "no POOL") }
            return Array(try contents(of: file).utf8)
        }
        return (transport, try LinkAuthenticator(identity: identity))
    }

    private static func contents(of path: String) throws -> String {
        guard let file = fopen(path, "r") else { throw Failure(text: "cannot read \(path)") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    // MARK: listening

    private static func listen(at source: String, _ directory: String) async throws {
        let (transport, authenticator) = try device(directory)
        let listening = transport.listen(at: try RelaySource(parsing: source), install: authenticator.install)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                for await status in listening.statuses {
                    let roundTrip = status.roundTrip.map { "\($0 / .milliseconds(1)) ms" } ?? "-"
                    say(
                        "status", status.phase.rawValue, status.relay?.authority ?? "-",
                        status.problem?.code.rawValue ?? "-",
                        status.sessionCount, status.failedSessionCount, roundTrip)
                }
            }
            for await link in listening.links {
                group.addTask {
                    say("link", link.peer, link.information.isInitiator ? "client" : "server")
                    do {
                        say("served", try await serve(link))
                    } catch {
                        say("failed", error)
                    }
                }
            }
        }
    }

    /// Begins with a count of bytes, or with BEP's magic number.
    private static func serve(_ link: SecureLink) async throws -> String {
        try await link.executeThenClose { inbound, outbound in
            // There is one iterator of a link's bytes.
            var pieces = inbound.makeAsyncIterator()
            var head = ByteBuffer()
            while head.readableBytes < 8 {
                guard var piece = try await pieces.next() else { throw Failure(text: "the link ended too early") }
                head.writeBuffer(&piece)
            }
            if head.getInteger(at: head.readerIndex, as: UInt32.self) == helloMagic {
                try await outbound.write(helloBytes)
                return "hello"
            }
            var missing = head.readInteger(as: UInt64.self) ?? 0
            var hasher = SHA256Hasher()
            var piece = head
            while true {
                piece.withUnsafeReadableBytes { hasher.update($0) }
                missing -= min(missing, UInt64(piece.readableBytes))
                if missing == 0 { break }
                guard let next = try await pieces.next() else { throw Failure(text: "the link ended too early") }
                piece = next
            }
            try await outbound.write(ByteBuffer(bytes: hasher.finalize().bytes))
            // The other end closes first: this end's closing could overtake the answer.
            while try await pieces.next() != nil {}
            return "transfer"
        }
    }

    // MARK: dialling

    private static func dial(_ relay: String, _ directory: String, to id: String) async throws -> SecureLink {
        let (transport, authenticator) = try device(directory)
        let device = try DeviceID(parsing: id)
        let link = try await transport.dial(
            try RelayAddress(parsing: relay), device: device, timeout: .seconds(30), install: authenticator.install)
        guard link.peer == device else { throw Failure(text: "connected to \(link.peer)") }
        say("link", link.peer, link.information.isInitiator ? "client" : "server")
        return link
    }

    private static func send(
        _ relay: String, _ directory: String, to id: String, mebibytes: String
    ) async throws {
        guard let count = UInt64(mebibytes), count < 4096 else { throw Failure(text: "how many MiB?") }
        let link = try await dial(relay, directory, to: id)
        let clock = ContinuousClock()
        let start = clock.now
        try await link.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(integer: count << 20))
            var hasher = SHA256Hasher()
            var piece = ByteBuffer(string: "plaintext marker of the relay probe")
            var state: UInt64 = 1
            while piece.readableBytes < 256 << 10 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                piece.writeInteger(state)
            }
            piece = piece.getSlice(at: 0, length: 256 << 10) ?? piece
            for number in 0..<count * 4 {
                piece.setInteger(number, at: 1024)
                piece.withUnsafeReadableBytes { hasher.update($0) }
                try await outbound.write(piece)
            }
            var answer: [UInt8] = []
            for try await piece in inbound {
                answer += piece.readableBytesView
                if answer.count >= 32 { break }
            }
            guard answer == hasher.finalize().bytes else { throw Failure(text: "other bytes arrived than were sent") }
            let seconds = (clock.now - start) / .seconds(1)
            say("sent", count, "MiB in", seconds, "s")
        }
    }

    private static let helloMagic: UInt32 = 0x2EA7_D90B

    /// BEP's Hello of a device named `probe`.
    private static var helloBytes: ByteBuffer {
        var body = ByteBuffer()
        for (field, text) in [(1, "probe"), (2, "synctrain"), (3, "v0.0.0")] as [(UInt8, String)] {
            body.writeInteger(field << 3 | 2)
            body.writeInteger(UInt8(text.utf8.count))
            body.writeString(text)
        }
        var hello = ByteBuffer(integer: helloMagic)
        hello.writeInteger(UInt16(body.readableBytes))
        hello.writeBuffer(&body)
        return hello
    }

    private static func hello(_ relay: String, _ directory: String, to id: String) async throws {
        let link = try await dial(relay, directory, to: id)
        try await link.executeThenClose { inbound, outbound in
            try await outbound.write(helloBytes)
            for try await piece in inbound {
                guard piece.getInteger(at: piece.readerIndex, as: UInt32.self) == helloMagic else { break }
                say("hello", piece.readableBytes)
                return
            }
            throw Failure(text: "no hello came back")
        }
    }
}
