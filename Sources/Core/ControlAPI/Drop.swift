import Phrases

/// A file that a client has: the agent asks for its bytes part by part, as it sends them.
package struct ProvidedFile: Codable, Equatable, Sendable {
    /// Bytes of a name in UTF-8.
    static let longestName = 255
    /// The largest number that JavaScript counts to.
    static let largest: Int64 = 1 << 53 - 1

    /// As it is announced: a name, not a path.
    package var name: String
    /// In bytes.
    package var size: Int64

    package init(name: String, size: Int64) { (self.name, self.size) = (name, size) }

    func check() throws(ControlError) {
        guard !name.isEmpty, name.utf8.count <= Self.longestName, name != ".", name != "..",
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        else {
            throw ControlError(
                .invalidRequest,
                "`\(String(name.prefix(80)))` is not a file name. Use 1 to \(Self.longestName) bytes without a slash.")
        }
        guard (0...Self.largest).contains(size) else {
            throw ControlError(.invalidRequest, "The size of \(name) must be between 0 and \(Self.largest) bytes.")
        }
    }
}

/// To send files to a nearby device or one that is paired, one after the other.
package struct DropSendRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// Longest time to wait in seconds.
    package static let longestWait = 3600
    static let fileLimit = 1000

    /// Absolute paths; or `FOLDER:relative/path`, a file of a folder that is on this disk. Nil with `provided`.
    package var files: [String]?
    /// Files of the client's own, whose bytes it sends when they are asked for. Nil with `files`.
    package var provided: [ProvidedFile]?
    /// A device's id or name, a name that is seen nearby, or an address; nil to let the user choose.
    package var target: String?
    /// How long to look for the device, and to wait for one whose link was lost.
    package var seconds: Int

    package init(files: [String], target: String? = nil, seconds: Int = 120) {
        (self.files, self.target, self.seconds) = (files, target, seconds)
    }

    package init(provided: [ProvidedFile], target: String? = nil, seconds: Int = 120) {
        (self.provided, self.target, self.seconds) = (provided, target, seconds)
    }

    /// What is sent, as the request names it.
    package var names: [String] { files ?? provided?.map(\.name) ?? [] }

    func check() throws(ControlError) {
        guard (files == nil) != (provided == nil) else {
            throw ControlError(.invalidRequest, "Give the files to send as either `files` or `provided`.")
        }
        guard (1...Self.fileLimit).contains(names.count) else {
            throw ControlError(.invalidRequest, "Send from 1 to \(Self.fileLimit) files.")
        }
        guard (files ?? []).allSatisfy({ Self.isPath($0) && $0.utf8.count <= ControlLimits.path }) else {
            throw ControlError(.invalidRequest, "The files to send must be absolute paths or FOLDER:path.")
        }
        for file in provided ?? [] { try file.check() }
        try Self.check(seconds: seconds)
    }

    private static func isPath(_ file: String) -> Bool { isAbsolute(file) || file.utf8.contains(UInt8(ascii: ":")) }

    // By bytes: a `/` with a combining mark behind it is another Character.
    private static func isAbsolute(_ file: String) -> Bool { file.utf8.first == UInt8(ascii: "/") }

    /// Refuses what a browser may not send: a login of the page reads what is in folders, and no other file of this user.
    ///
    /// - Throws: `ControlError` (`noPermission`).
    package func checkBrowser() throws(ControlError) {
        guard let other = files?.first(where: Self.isAbsolute) else { return }
        throw ControlError(
            .noPermission,
            "A browser may name files of folders only. Run `synctrain drop send` in a terminal for \(other).",
            path: other)
    }

    static func check(seconds: Int) throws(ControlError) {
        guard (1...longestWait).contains(seconds) else {
            throw ControlError(.invalidRequest, "The timeout must be between 1 and \(longestWait) seconds.")
        }
    }
}

/// Bytes of a provided file that a transfer asks for, or why the file cannot be sent.
package struct DropPart: Equatable, Sendable, CheckedRequest {
    package enum Problem: String, CaseIterable, Sendable {
        /// The file is not as it was when it was chosen.
        case changed
        case unreadable
    }

    /// As many bytes as are asked for at once, at most. A request has to arrive within ten seconds, so this is also how fast a
    /// client's connection has to be.
    package static let longest = 256 << 10

    /// As the first notice of the request named it.
    package var session: Int
    /// The file's place in `provided`, from 0 on.
    package var place: Int
    /// Where in the file the bytes begin.
    package var offset: Int64
    package var bytes: [UInt8]
    /// Why the file cannot be sent; then there are no bytes.
    package var problem: Problem?

    package init(session: Int, place: Int, offset: Int64, bytes: [UInt8], problem: Problem? = nil) {
        (self.session, self.place, self.offset) = (session, place, offset)
        (self.bytes, self.problem) = (bytes, problem)
    }

    /// Reads what travels beside the bytes.
    ///
    /// - Throws: `invalidRequest`.
    init(_ query: RequestQuery, bytes: [UInt8]) throws(ControlError) {
        func number(_ name: String) throws(ControlError) -> Int {
            _ = try query.required(name)
            return try query.number(name) ?? 0
        }
        session = try number("session")
        place = try number("place")
        offset = Int64(try number("offset"))
        problem = try query.choice("problem")
        self.bytes = bytes
    }

    var query: [(String, String)] {
        var items = [("session", String(session)), ("place", String(place)), ("offset", String(offset))]
        if let problem { items.append(("problem", problem.rawValue)) }
        return items
    }

    func check() throws(ControlError) {
        guard bytes.count <= Self.longest else {
            throw ControlError(.tooLarge, "A part has 1 to \(Self.longest) bytes.")
        }
        guard bytes.isEmpty == (problem != nil) else {
            throw ControlError(.invalidRequest, "Send either the bytes of the part or a problem.")
        }
    }
}

/// To take files that others send, for as long as the request lives.
package struct DropReceiveRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// Where files are put: an absolute path.
    package var directory: String
    /// How many files to take; nil for any number.
    package var count: Int?
    /// How long to wait while nobody sends; nil for ever.
    package var seconds: Int?

    package init(directory: String, count: Int? = nil, seconds: Int? = nil) {
        self.directory = directory
        self.count = count
        self.seconds = seconds
    }

    func check() throws(ControlError) {
        guard directory.utf8.first == UInt8(ascii: "/"), directory.utf8.count <= ControlLimits.path else {
            throw ControlError(.invalidRequest, "The directory for received files must be an absolute path.")
        }
        guard count.map({ $0 > 0 }) ?? true else {
            throw ControlError(.invalidRequest, "The number of files must be at least 1.")
        }
        if let seconds { try DropSendRequest.check(seconds: seconds) }
    }
}

/// What the user says to a transfer.
package struct DropAnswer: Codable, Equatable, Sendable {
    package enum Action: String, Codable, Sendable, CaseIterable {
        /// Both devices show `code`. Any other than the one that this device shows ends the transfer.
        case confirm
        /// The codes differ, or the user wants none of it.
        case refuse
        /// Takes the file that is offered.
        case accept
        case decline
        /// Sends to the device at `address`.
        case choose
    }

    /// As the first event of the request named it.
    package var session: Int
    package var action: Action
    package var code: String?
    package var address: String?
    /// To `accept` or `decline`: which offer is meant, as its notice numbers it. An answer to another one than the last is not
    /// taken; nil is for the last.
    package var question: Int?

    package init(session: Int, action: Action, code: String? = nil, address: String? = nil, question: Int? = nil) {
        self.session = session
        self.action = action
        self.code = code
        self.address = address
        self.question = question
    }
}

/// The other end of a transfer.
package struct DropPeer: Codable, Equatable, Sendable {
    /// Its id, if it is a paired device.
    package var device: String?
    /// What it is called here, or calls itself nearby; nil if nobody knows.
    package var name: String?
    package var address: String
    /// `tcp`, `l2cap` or `gatt`.
    package var transport: String

    package init(device: String? = nil, name: String? = nil, address: String, transport: String) {
        self.device = device
        self.name = name
        self.address = address
        self.transport = transport
    }

    package var isPaired: Bool { device != nil }
}

/// What a transfer says on its way, a line of JSON each.
package enum DropNotice: Equatable, Sendable {
    /// First of all when sending.
    case sending(session: Int, files: [String])
    /// First of all when receiving.
    case waiting(session: Int, directory: String, listening: [String])
    /// Whom one can send to, whenever that has changed and while there is none to send to.
    case receivers([NearbyEntry])
    /// A file is read for its digest.
    case preparing(file: String, size: Int64)
    /// The client is asked for `count` bytes of a file that it provides: `place` is the file's in the request, from 0 on.
    case wanted(place: Int, offset: Int64, count: Int)
    case connecting(address: String)
    /// Six digits to compare with those of the other device, and to answer.
    case code(String, DropPeer)
    /// A file to accept or decline; `present` bytes of it are here from an earlier attempt. The answer names `question`.
    case offer(file: String, size: Int64, DropPeer, present: Int64, question: Int)
    /// The other device was told of the file.
    case announced(file: String, size: Int64, DropPeer)
    case progress(file: String, size: Int64, DropPeer, done: Int64, bytesPerSecond: Int64)
    /// The link was lost; it is tried again.
    case retrying(file: String, message: Phrase)
    case sent(file: String, size: Int64, DropPeer, seconds: Double)
    case received(file: String, size: Int64, DropPeer, path: String, seconds: Double)
    /// A file did not come or go; others may. No file: an attempt that got to none.
    case failed(file: String?, ControlError)
    case done(files: Int64, bytes: Int64, failed: Int64)
}

extension DropNotice: ControlLine {
    /// All fields that a line can have.
    private struct Line: Codable {
        var type: String
        var session: Int?
        var files: [String]?
        var directory: String?
        var listening: [String]?
        var devices: [NearbyEntry]?
        var file: String?
        var size: Int64?
        var place: Int?
        var offset: Int64?
        var address: String?
        var code: String?
        var peer: DropPeer?
        var present: Int64?
        var question: Int?
        var bytesDone: Int64?
        var bytesPerSecond: Int64?
        var message: String?
        var text: Phrase?
        var path: String?
        var seconds: Double?
        var error: ControlError?
        var count: Int64?
        var bytes: Int64?
        var failed: Int64?

        init(_ type: String) { self.type = type }
    }

    /// Kebab-case, as the field `type` has it.
    package var type: String { line.type }

    private var line: Line {
        var line = Line("")
        func file(_ type: String, _ file: String, _ size: Int64, _ peer: DropPeer) {
            line.type = type
            line.file = file
            line.size = size
            line.peer = peer
        }
        switch self {
        case .sending(let session, let files):
            line.type = "sending"
            line.session = session
            line.files = files
        case .waiting(let session, let directory, let listening):
            line.type = "waiting"
            line.session = session
            line.directory = directory
            line.listening = listening
        case .receivers(let devices):
            line.type = "receivers"
            line.devices = devices
        case .preparing(let file, let size):
            line.type = "preparing"
            line.file = file
            line.size = size
        case .wanted(let place, let offset, let count):
            line.type = "wanted"
            line.place = place
            line.offset = offset
            line.count = Int64(count)
        case .connecting(let address):
            line.type = "connecting"
            line.address = address
        case .code(let code, let peer):
            line.type = "code"
            line.code = code
            line.peer = peer
        case .offer(let name, let size, let peer, let present, let question):
            file("offer", name, size, peer)
            line.present = present
            line.question = question
        case .announced(let name, let size, let peer): file("announced", name, size, peer)
        case .progress(let name, let size, let peer, let done, let rate):
            file("progress", name, size, peer)
            line.bytesDone = done
            line.bytesPerSecond = rate
        case .retrying(let file, let message):
            line.type = "retrying"
            line.file = file
            line.message = message.english
            line.text = message.unlessVerbatim
        case .sent(let name, let size, let peer, let seconds):
            file("sent", name, size, peer)
            line.seconds = seconds
        case .received(let name, let size, let peer, let path, let seconds):
            file("received", name, size, peer)
            line.path = path
            line.seconds = seconds
        case .failed(let file, let error):
            line.type = "failed"
            line.file = file
            line.error = error
        case .done(let files, let bytes, let failed):
            line.type = "done"
            line.count = files
            line.bytes = bytes
            line.failed = failed
        }
        return line
    }

    /// Writes the event with its `type`.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws { try line.encode(to: encoder) }

    /// Reads the event that `type` names.
    ///
    /// - Throws: `DecodingError`, also for an unknown `type`.
    package init(from decoder: any Decoder) throws {
        let line = try Line(from: decoder)
        func need<Value>(_ value: Value?, _ name: String) throws -> Value {
            guard let value else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "\(line.type) has no \(name)"))
            }
            return value
        }
        func file() throws -> (String, Int64, DropPeer) {
            (try need(line.file, "file"), try need(line.size, "size"), try need(line.peer, "peer"))
        }
        switch line.type {
        case "sending":
            self = .sending(session: try need(line.session, "session"), files: try need(line.files, "files"))
        case "waiting":
            self = .waiting(
                session: try need(line.session, "session"), directory: try need(line.directory, "directory"),
                listening: line.listening ?? [])
        case "receivers": self = .receivers(try need(line.devices, "devices"))
        case "preparing":
            self = .preparing(file: try need(line.file, "file"), size: try need(line.size, "size"))
        case "wanted":
            self = .wanted(
                place: try need(line.place, "place"), offset: try need(line.offset, "offset"),
                count: Int(try need(line.count, "count")))
        case "connecting": self = .connecting(address: try need(line.address, "address"))
        case "code": self = .code(try need(line.code, "code"), try need(line.peer, "peer"))
        case "offer":
            let (name, size, peer) = try file()
            self = .offer(
                file: name, size: size, peer, present: line.present ?? 0, question: line.question ?? 0)
        case "announced":
            let (name, size, peer) = try file()
            self = .announced(file: name, size: size, peer)
        case "progress":
            let (name, size, peer) = try file()
            self = .progress(
                file: name, size: size, peer, done: try need(line.bytesDone, "bytesDone"),
                bytesPerSecond: line.bytesPerSecond ?? 0)
        case "retrying":
            let message = try need(line.message, "message")
            self = .retrying(file: try need(line.file, "file"), message: line.text ?? "\(message)")
        case "sent":
            let (name, size, peer) = try file()
            self = .sent(file: name, size: size, peer, seconds: line.seconds ?? 0)
        case "received":
            let (name, size, peer) = try file()
            self = .received(
                file: name, size: size, peer, path: try need(line.path, "path"), seconds: line.seconds ?? 0)
        case "failed": self = .failed(file: line.file, try need(line.error, "error"))
        case "done":
            self = .done(
                files: try need(line.count, "count"), bytes: line.bytes ?? 0, failed: line.failed ?? 0)
        case let type:
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "unknown transfer event \(type)"))
        }
    }
}
