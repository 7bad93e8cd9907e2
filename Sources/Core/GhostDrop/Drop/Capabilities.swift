import Cryptography

/// What a device says of itself in its capabilities characteristic and in `hello`.
public struct Capabilities: Hashable, Sendable {
    /// The first version whose streams carry TLS and whose GATT packets are those of `GATTStream`.
    public static let synctrainVersion = 2

    public var supportsL2CAP: Bool
    /// The longest piece of a file in one frame, in bytes.
    public var maxChunk: Int
    /// The most frames with pieces that may be unacknowledged.
    public var maxWindow: Int
    /// 1: GhostDrop v1 only; 2: synctrain, which also speaks v1.
    public var protocolVersion: Int

    public init(supportsL2CAP: Bool, maxChunk: Int = 180, maxWindow: Int = 32, protocolVersion: Int = synctrainVersion)
    {
        self.supportsL2CAP = supportsL2CAP
        self.maxChunk = maxChunk
        self.maxWindow = maxWindow
        self.protocolVersion = protocolVersion
    }

    init(_ body: FrameBody) throws(GhostDropError) {
        supportsL2CAP = try body.boolean("supportsL2CAP")
        maxChunk = try body.integer("maxChunk", in: 1...(1 << 20))
        maxWindow = try body.integer("maxWindow", in: 1...(1 << 20))
        protocolVersion = try body.integer("protocolVersion", in: 0...(1 << 20))
    }

    var json: DropJSON {
        .object([
            "supportsL2CAP": .boolean(supportsL2CAP), "maxChunk": .integer(maxChunk), "maxWindow": .integer(maxWindow),
            "protocolVersion": .integer(protocolVersion),
        ])
    }
}

/// The value of the capabilities characteristic: capabilities, and where L2CAP listens.
public struct CapabilitiesValue: Hashable, Sendable {
    /// More than any attribute's value has.
    public static let byteCountLimit = 512

    public var capabilities: Capabilities
    /// Nil without L2CAP.
    public var psm: UInt16?

    public init(capabilities: Capabilities, psm: UInt16?) {
        self.capabilities = capabilities
        self.psm = psm
    }

    /// Reads the JSON text; throws `malformed` or `tooLarge`.
    public init(parsing bytes: some Collection<UInt8>) throws(GhostDropError) {
        guard bytes.count <= Self.byteCountLimit else {
            throw GhostDropError(.tooLarge, "the capabilities of a nearby device are longer than an attribute can be")
        }
        let body = try FrameBody(DropJSON(parsing: Array(bytes)[...]))
        capabilities = try Capabilities(body.object("capabilities"))
        psm = body.has("psm") ? UInt16(try body.integer("psm", in: 0...Int(UInt16.max))) : nil
    }

    /// The JSON text.
    public var bytes: [UInt8] {
        var members = ["capabilities": capabilities.json]
        if let psm { members["psm"] = .integer(Int(psm)) }
        return DropJSON.object(members).text
    }
}

/// The members of one JSON object, read by name and type.
struct FrameBody {
    private let members: [String: DropJSON]

    init(_ value: DropJSON) throws(GhostDropError) {
        guard case .object(let members) = value else { throw .malformed("something other than a JSON object") }
        self.members = members
    }

    private static func wrong(_ name: String) -> GhostDropError { .malformed("no or an impossible \"\(name)\"") }

    /// The name and the body of an object with one member.
    func only() throws(GhostDropError) -> (name: String, body: FrameBody) {
        guard members.count == 1, let member = members.first else { throw .malformed("a frame without a body") }
        return (member.key, try FrameBody(member.value))
    }

    func has(_ name: String) -> Bool { members[name].map { $0 != .null } ?? false }

    func object(_ name: String) throws(GhostDropError) -> FrameBody {
        guard let value = members[name] else { throw Self.wrong(name) }
        return try FrameBody(value)
    }

    func boolean(_ name: String) throws(GhostDropError) -> Bool {
        guard case .boolean(let value) = members[name] else { throw Self.wrong(name) }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(GhostDropError) -> Int {
        guard case .integer(let value) = members[name], range.contains(value) else { throw Self.wrong(name) }
        return value
    }

    func unsigned(_ name: String) throws(GhostDropError) -> UInt64 {
        switch members[name] {
        case .integer(let value) where value >= 0: return UInt64(value)
        case .unsigned(let value): return value
        default: throw Self.wrong(name)
        }
    }

    func string(_ name: String, limit: Int) throws(GhostDropError) -> String {
        guard case .string(let value) = members[name], value.utf8.count <= limit else { throw Self.wrong(name) }
        return value
    }

    /// Bytes in base64; `count`: how many there have to be, nil: any number.
    func bytes(_ name: String, count: Int? = nil) throws(GhostDropError) -> [UInt8] {
        guard case .string(let text) = members[name], let bytes = Base64.decode(text),
            bytes.count == count ?? bytes.count
        else { throw Self.wrong(name) }
        return bytes
    }

    func uniqueID(_ name: String) throws(GhostDropError) -> UniqueID {
        guard case .string(let text) = members[name], let id = UniqueID(text) else { throw Self.wrong(name) }
        return id
    }
}
