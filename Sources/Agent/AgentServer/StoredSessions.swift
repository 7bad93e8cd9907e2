import ControlAPI
import Cryptography

/// Sessions as they are kept from one run of the agent to the next. Pure.
struct StoredSessions: Equatable, Sendable {
    /// The port that the cookies are of.
    var port: Int
    var sessions: [SessionTable.Session]

    init(port: Int, sessions: [SessionTable.Session]) {
        self.port = port
        self.sessions = sessions
    }

    private struct Document: Codable {
        struct Entry: Codable {
            /// Missing in files of earlier versions.
            var name: String?
            var made: Int64
            var lastUsed: Int64
            var secret: String
            var used: Int64?
            var replaced: String?
        }

        var schema = 1
        var port: Int
        var sessions: [Entry]
    }

    /// Nil for anything but such a document; an entry that makes no sense is left out.
    init?(json: [UInt8]) {
        guard let document = try? ControlJSON.decode(Document.self, from: json), document.schema == 1,
            (0...65_535).contains(document.port)
        else { return nil }
        port = document.port
        sessions = document.sessions.compactMap { entry in
            guard let newest = SHA256Digest(hex: entry.secret) else { return nil }
            return SessionTable.Session(
                name: entry.name.flatMap { SHA256Digest(hex: $0) } ?? SessionTable.name(of: newest), made: entry.made,
                lastUsed: entry.lastUsed, newest: newest, newestMade: nil, newestUsed: entry.used,
                replaced: entry.replaced.flatMap { SHA256Digest(hex: $0) })
        }
    }

    /// - Throws: `ControlError` `failed`, which would be a bug.
    func json() throws(ControlError) -> [UInt8] {
        try ControlJSON.encode(
            Document(
                port: port,
                sessions: sessions.map { session in
                    Document.Entry(
                        name: session.name.description, made: session.made, lastUsed: session.lastUsed,
                        secret: session.newest.description,
                        used: session.newestUsed, replaced: session.replaced?.description)
                }))
    }
}
