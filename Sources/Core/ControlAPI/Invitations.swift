/// To invite somebody to a folder.
public struct InvitationRequest: Codable, Equatable, Sendable {
    /// 30 days.
    public static let longest: Int64 = 2_592_000
    /// A day.
    public static let usual: Int64 = 86_400

    public var folder: String
    /// `read`, `write` or `admin`.
    public var role: String
    /// How long it is good.
    public var seconds: Int64

    public init(folder: String, role: String = "write", seconds: Int64 = InvitationRequest.usual) {
        self.folder = folder
        self.role = role
        self.seconds = seconds
    }
}

/// An invitation, good for one device.
public struct Invitation: Codable, Equatable, Sendable {
    public enum State: String, Codable, Sendable, CaseIterable { case open, redeemed, expired }

    public var number: Int64
    /// What the other device is given; only when it is made.
    public var code: String?
    public var folder: String
    public var role: String
    public var expires: String
    public var state: State
    /// Who has redeemed it.
    public var device: String?
    public var name: String?

    public init(
        number: Int64, code: String? = nil, folder: String, role: String, expires: String, state: State = .open,
        device: String? = nil, name: String? = nil
    ) {
        self.number = number
        self.code = code
        self.folder = folder
        self.role = role
        self.expires = expires
        self.state = state
        self.device = device
        self.name = name
    }
}

public struct InvitationList: Codable, Equatable, Sendable {
    public var schema = 1
    public var invitations: [Invitation]

    public init(invitations: [Invitation]) { self.invitations = invitations }
}

/// To redeem an invitation.
public struct JoinRequest: Codable, Equatable, Sendable {
    public var code: String
    /// Absolute: where the folder is to lie, or, with `isParent`, the directory in which it gets a directory of its own.
    public var directory: String
    public var isParent: Bool
    /// `selective` or `full`.
    public var mode: String
    /// Where to dial the device that invites; nil for where the code says.
    public var address: String?

    public init(
        code: String, directory: String, isParent: Bool, mode: String = "selective", address: String? = nil
    ) {
        self.code = code
        self.directory = directory
        self.isParent = isParent
        self.mode = mode
        self.address = address
    }

    enum CodingKeys: String, CodingKey { case code, directory, isParent = "parent", mode, address }
}

public struct JoinAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    public var folder: String
    public var label: String
    /// What this device may do there.
    public var role: String
    public var path: String
    /// The device that invited.
    public var device: String
    public var name: String

    public init(folder: String, label: String, role: String, path: String, device: String, name: String) {
        self.folder = folder
        self.label = label
        self.role = role
        self.path = path
        self.device = device
        self.name = name
    }
}
