import FoundationEssentials
import HTTPExchange
import NIOCore

/// The body of an announcement: `{"addresses":[…]}`.
struct AnnouncementBody: Codable, Equatable {
    var addresses: [String]

    /// - Throws: never for text; the encoder's error otherwise.
    func encoded() throws -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return ByteBuffer(bytes: try encoder.encode(self))
    }
}

/// What a server knows about a device: a hint where to dial it, no more.
package struct LookupAnswer: Equatable, Sendable {
    /// When the device last announced itself, in seconds since 1970; nil when the server does not say.
    package var seen: Int64?
    /// Usable addresses, in the server's order, each once.
    package var addresses: [String]

    /// Largest body that is read.
    static let maximumByteCount = 1 << 20
    /// How many addresses of an answer are used, per kind: neither crowds out the other.
    static let tcpLimit = 24
    static let relayLimit = 8
    package static let addressLimit = tcpLimit + relayLimit

    package init(seen: Int64?, addresses: [String]) {
        self.seen = seen
        self.addresses = addresses
    }

    private struct Body: Decodable {
        var seen: String?
        var addresses: [String]?
    }

    /// Reads `{"seen":"2026-11-22T15:15:00.24Z","addresses":["tcp://…",…]}`.
    ///
    /// Addresses of kinds that nobody here dials, malformed ones, those of this machine itself and those beyond the
    /// limits are dropped.
    /// - Throws: `GlobalDiscoveryError` of code `invalidAnswer`.
    package init(body: ByteBuffer) throws(GlobalDiscoveryError) {
        guard body.readableBytes <= Self.maximumByteCount,
            let decoded = try? JSONDecoder().decode(Body.self, from: Data(body.readableBytesView))
        else {
            throw GlobalDiscoveryError(
                .invalidAnswer,
                "the answer is not a discovery server's; check the address, or sign in to the network's own page")
        }
        var counts = [DiscoveryAddress.Kind: Int]()
        var seen = Set<DiscoveryAddress>()
        var addresses: [String] = []
        for text in decoded.addresses ?? [] {
            guard let address = DiscoveryAddress(text), !address.isUseless, !address.isUnspecified,
                counts[address.kind, default: 0] < (address.kind == .tcp ? Self.tcpLimit : Self.relayLimit),
                seen.insert(address).inserted
            else { continue }
            counts[address.kind, default: 0] += 1
            addresses.append(address.description)
        }
        self.seen = decoded.seen.flatMap { InternetDate(parsing: $0)?.secondsSince1970 }
        self.addresses = addresses
    }

    /// The answers of several servers in one: by turns, so that none crowds out the others.
    static func union(_ lists: [[String]]) -> [String] {
        var union: [String] = []
        var known = Set<String>()
        for row in 0..<(lists.map(\.count).max() ?? 0) {
            for list in lists where row < list.count && known.insert(list[row]).inserted {
                guard union.count < addressLimit else { return union }
                union.append(list[row])
            }
        }
        return union
    }
}
