/// Asks a device to connect to addresses of the sender, so that the sender learns at which of them others reach it
/// (docs/decisions/which-link.md). Message type 1002, synctrain's own. Syncthing ends a link on it: it is only sent to a peer that
/// said that it takes it (`ClusterConfig.takesReachTests`).
public struct ReachRequest: Equatable, Sendable, NumberedMessage {
    /// As `tcp://HOST:PORT`. Without a host, the one that the receiver sees the link come from.
    public var addresses: [String]

    public init(addresses: [String]) { self.addresses = addresses }

    /// Addresses that one request has at most.
    public static let addressLimit = ExchangeLimits.standard.addressesPerReachRequest

    static let undecoded = ReachRequest(addresses: [])

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        guard tag.field == 2 else { return false }
        guard addresses.count < limits.addressesPerReachRequest else {
            throw ProtocolError(.tooMany, "a reach request has more than \(limits.addressesPerReachRequest) addresses")
        }
        addresses.append(
            try reader.text(of: tag, atMost: limits.reachAddressByteCount, "an address in a reach request"))
        return true
    }

    func encode(into writer: inout WireWriter) {
        // An empty one is kept: results are counted.
        for address in addresses { writer.message(2) { $0.raw(Array(address.utf8)) } }
    }
}

/// The answer to a `ReachRequest`, matched to it by id. Message type 1003, synctrain's own.
///
/// It says nothing of an address but one of a few words, so that it is of little use for scanning a network.
public struct ReachAnswer: Equatable, Sendable, NumberedMessage {
    /// Why no address was looked at.
    public enum Refusal: Int32, Sendable, CaseIterable {
        /// A test for the same device is not over.
        case busy = 1
        /// The last test for the same device began too short a time ago.
        case tooSoon = 2
        /// The sender makes no tests now.
        case unavailable = 3
    }

    /// What came of an address.
    public enum Outcome: Int32, Sendable, CaseIterable {
        /// Not dialled, for a reason that this version does not know.
        case notTried = 0
        /// The device that asks has answered, by its certificate.
        case reached = 1
        case refused = 2
        case timedOut = 3
        /// Something answers that is not the device that asks.
        case otherDevice = 4
        /// The sender has no route to it.
        case unreachable = 5
        /// Not dialled: an address in a private network that the link does not come from.
        case privateAddress = 6
        /// Not dialled: outside the networks in which the sender's user allows the device.
        case notAllowed = 7
        /// Not dialled: the sender connects through a proxy.
        case proxy = 8
        /// Not dialled: it has no host, and the link does not show one.
        case unknownHost = 9
        /// Not dialled: not an address at which a device is tested, such as a name, loopback or a relay.
        case unusable = 10
        /// Not dialled: too many dials are under way.
        case busy = 11
    }

    public struct Result: Equatable, Sendable {
        public var outcome: Outcome
        /// What was dialled for an address without a host: the host that the link comes from.
        public var address: String?

        public init(_ outcome: Outcome, address: String? = nil) {
            self.outcome = outcome
            self.address = address
        }
    }

    public var refusal: Refusal?
    /// One for each address of the request, in its order; none with a refusal.
    public var results: [Result]

    public init(refusal: Refusal? = nil, results: [Result] = []) {
        self.refusal = refusal
        self.results = results
    }

    /// Whether it can be the answer to a request with so many addresses.
    func fits(_ addressCount: Int) -> Bool { results.count == (refusal == nil ? addressCount : 0) }

    static let undecoded = ReachAnswer()

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        switch tag.field {
        case 2:
            let number = try reader.int32(of: tag)
            refusal = number == 0 ? nil : Refusal(rawValue: number) ?? .unavailable
        case 3:
            var nested = try reader.message(of: tag)
            guard results.count < limits.addressesPerReachRequest else {
                throw ProtocolError(
                    .tooMany, "a reach answer has more than \(limits.addressesPerReachRequest) results")
            }
            results.append(try Result(decoding: &nested, limits: limits))
        default: return false
        }
        return true
    }

    func encode(into writer: inout WireWriter) {
        writer.field(2, signed: Int64(refusal?.rawValue ?? 0))
        for result in results { writer.message(3) { result.encode(into: &$0) } }
    }
}

extension ReachAnswer.Result {
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init(.notTried)
        while let tag = try reader.tag() {
            switch tag.field {
            case 1: outcome = ReachAnswer.Outcome(rawValue: try reader.int32(of: tag)) ?? .notTried
            case 2:
                address = try reader.text(of: tag, atMost: limits.reachAddressByteCount, "an address in a reach answer")
            default: try reader.skip(tag.type)
            }
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, signed: Int64(outcome.rawValue))
        if let address { writer.field(2, text: address) }
    }
}
