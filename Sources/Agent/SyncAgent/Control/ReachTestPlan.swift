import BlockExchange
import ControlAPI
import LinkRules
import Transport

/// Whom this device asks to test how it is reached, and about which addresses. Pure.
enum ReachTestPlan {
    /// Devices that are asked at a time.
    static let deviceLimit = 3

    /// A connected device, as far as it counts here.
    struct Candidate: Equatable {
        var kind: LinkKind
        var isLocal: Bool
        /// Whether it takes requests to test addresses.
        var takesTests: Bool
    }

    /// The positions of the devices to ask, best first: those elsewhere that are connected directly, as they see an address of this
    /// device; those behind a relay; those in this network; those on a radio.
    static func chosen(_ candidates: [Candidate]) -> [Int] {
        func rank(_ candidate: Candidate) -> Int {
            switch candidate.kind {
            case .tcp: candidate.isLocal ? 2 : 0
            case .relay: 1
            default: 3
            }
        }
        let able = candidates.indices.filter { candidates[$0].takesTests }
        return Array(able.sorted { (rank(candidates[$0]), $0) < (rank(candidates[$1]), $1) }.prefix(deviceLimit))
    }

    /// What a device is asked about, as `tcp://HOST:PORT`; without a host, the address at which it sees this device.
    ///
    /// - Parameters:
    ///   - listening: what is listened on.
    ///   - mapped: what routers map to it; the host may be left open.
    ///   - announced: what discovery servers are told.
    ///   - own: all addresses of this machine.
    ///   - candidate: the device. Private addresses are for those in this network.
    static func addresses(
        listening: [LinkAddress], mapped: [LinkAddress], announced: [String], own: [IPAddress], for candidate: Candidate
    ) -> [String] {
        let open = (listening + mapped).filter(\.isUnspecified)
        var addresses: [LinkAddress] = []
        if candidate.kind == .tcp {
            addresses += open.compactMap(port).map { .tcp(host: "", port: $0) }
        }
        addresses += (mapped + announced.compactMap { try? LinkAddress(parsing: $0) }).filter { !$0.isUnspecified }
        for address in listening {
            guard address.isUnspecified, let port = port(address) else {
                addresses.append(address)
                continue
            }
            addresses += own.map { .tcp(host: $0.description, port: port) }
        }
        var texts: [String] = []
        for address in addresses where isTested(address, isLocal: candidate.isLocal && candidate.kind == .tcp) {
            if !texts.contains(address.description) { texts.append(address.description) }
        }
        return Array(texts.prefix(ReachRequest.addressLimit))
    }

    private static func port(_ address: LinkAddress) -> UInt16? {
        guard case .tcp(_, let port) = address, port != 0 else { return nil }
        return port
    }

    private static func isTested(_ address: LinkAddress, isLocal: Bool) -> Bool {
        guard case .tcp(let host, _) = address, port(address) != nil else { return false }
        guard !host.isEmpty else { return true }
        guard let ip = address.ipAddress, !ip.isLoopback, !ip.isLinkLocal else { return false }
        return isLocal || !ip.isPrivate
    }

    /// The results for people, each address once.
    static func results(of answer: ReachAnswer, to addresses: [String]) -> [ReachTest.Result] {
        var results: [ReachTest.Result] = []
        for (asked, result) in zip(addresses, answer.results) {
            let address = seen(result.address) ?? asked
            guard !results.contains(where: { $0.address == address }) else { continue }
            results.append(
                ReachTest.Result(
                    address: address, outcome: ReachTestWords.outcome(result.outcome),
                    message: ReachTestWords.message(result.outcome)))
        }
        return results
    }

    /// An address that the other device names, if it is one: it is shown to people.
    private static func seen(_ text: String?) -> String? {
        guard let text, let address = try? LinkAddress(parsing: text), address.ipAddress != nil else { return nil }
        return address.description
    }
}
