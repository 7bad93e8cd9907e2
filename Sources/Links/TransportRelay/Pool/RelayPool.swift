import FoundationEssentials
import Transport

/// How long a relay took to accept a connection; nil if it did not.
package struct RelayMeasurement: Equatable, Sendable {
    package var address: RelayAddress
    package var latency: Duration?

    package init(address: RelayAddress, latency: Duration?) {
        self.address = address
        self.latency = latency
    }
}

/// The list of a pool: `{"relays":[{"url":"relay://…"}, …]}`, of which only `url` is read.
package enum RelayPool {
    package static let maximumByteCount = 1 << 20
    /// So many relays of a list count, those before others.
    package static let maximumEntryCount = 1000
    /// So many of them are measured and tried, chosen by chance.
    package static let measuredCount = 30
    /// Differences of latency below this are left to chance, so that not all devices of a city meet at one relay.
    package static let bucket = Duration.milliseconds(50)

    /// Reads a list. Entries that are no relay address, or that lead into networks which only this device can reach, are
    /// left out, and so is a second entry of the same host and port.
    ///
    /// - Parameter allowsPrivate: whether numbers of private networks are kept: for pools inside of one.
    /// - Throws: `RelayError` with the code `invalidPool`.
    package static func parse(_ bytes: [UInt8], allowsPrivate: Bool = false) throws(RelayError) -> [RelayAddress] {
        guard bytes.count <= maximumByteCount else {
            throw RelayError(.invalidPool, "the pool's list has more than \(maximumByteCount >> 20) MiB")
        }
        let list: List
        do {
            list = try JSONDecoder().decode(List.self, from: Data(bytes))
        } catch {
            throw RelayError(
                .invalidPool, "the pool did not answer with a list of relays; check the pool's URL",
                cause: String(describing: error))
        }
        var seen: Set<String> = []
        return list.urls.compactMap { text in
            guard let address = try? RelayAddress(parsing: text) else { return nil }
            if let ip = IPAddress(address.host), !ip.isPublic, !allowsPrivate { return nil }
            return seen.insert(address.authority.lowercased()).inserted ? address : nil
        }
    }

    /// Whether a pool's own host is the number of a private network, or this machine.
    package static func isPrivate(url: String) -> Bool {
        guard let start = url.firstRange(of: "://")?.upperBound else { return false }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host =
            authority.first == "[" ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return host == "localhost" || IPAddress(String(host))?.isPublic == false
    }

    /// Those to measure.
    package static func chosen(
        of addresses: [RelayAddress], using random: inout some RandomNumberGenerator
    ) -> [RelayAddress] {
        Array(addresses.shuffled(using: &random).prefix(measuredCount))
    }

    /// The order to try them in: by latency in steps of `bucket`, by chance within a step, those that did not answer last.
    package static func order(
        _ measurements: [RelayMeasurement], using random: inout some RandomNumberGenerator
    ) -> [RelayAddress] {
        let steps = Dictionary(grouping: measurements.shuffled(using: &random)) { measurement in
            measurement.latency.map { max($0, .zero) / bucket }.map { $0.rounded(.down) } ?? .infinity
        }
        return steps.keys.sorted().flatMap { steps[$0] ?? [] }.map(\.address)
    }

    private struct List: Decodable {
        var urls: [String] = []

        enum CodingKeys: CodingKey { case relays }

        init(from decoder: any Decoder) throws {
            var entries = try decoder.container(keyedBy: CodingKeys.self).nestedUnkeyedContainer(forKey: .relays)
            while !entries.isAtEnd, urls.count < maximumEntryCount, entries.currentIndex < 2 * maximumEntryCount {
                if let url = try entries.decode(Entry.self).url { urls.append(url) }
            }
        }
    }

    /// Never fails, so that one wrong entry costs no others.
    private struct Entry: Decodable {
        var url: String?

        enum CodingKeys: CodingKey { case url }

        init(from decoder: any Decoder) throws {
            url = try? decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .url)
        }
    }
}
