/// To invite somebody to a folder.
package struct InvitationRequest: Codable, Equatable, Sendable {
    /// 30 days.
    package static let longest: Int64 = 2_592_000
    /// A day.
    package static let usual: Int64 = 86_400

    package var folder: String
    /// `read`, `write` or `admin`.
    package var role: String
    /// How long it is good.
    package var seconds: Int64

    package init(folder: String, role: String = "write", seconds: Int64 = InvitationRequest.usual) {
        self.folder = folder
        self.role = role
        self.seconds = seconds
    }
}

/// An invitation, good for one device.
package struct Invitation: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable, CaseIterable { case open, redeemed, expired }

    package var number: Int64
    /// What the other device is given; only when it is made.
    package var code: String?
    package var folder: String
    package var role: String
    package var expires: String
    package var state: State
    /// Who has redeemed it.
    package var device: String?
    package var name: String?

    package init(
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

package struct InvitationList: Codable, Equatable, Sendable {
    package var schema = 1
    package var invitations: [Invitation]

    package init(invitations: [Invitation]) { self.invitations = invitations }
}

/// To redeem an invitation.
package struct JoinRequest: Codable, Equatable, Sendable {
    package var code: String
    /// Absolute: where the folder is to lie, or, with `isParent`, the directory in which it gets a directory of its own.
    package var directory: String
    package var isParent: Bool
    /// `selective` or `full`.
    package var mode: String
    /// Where to dial the device that invites; nil for where the code says.
    package var address: String?
    /// Whether a folder that is here already may be shared with the device that invites; else `confirmationNeeded` is thrown if it is
    /// not yet, unless `directory` is its own.
    package var isConfirmed: Bool

    package init(
        code: String, directory: String, isParent: Bool, mode: String = "selective", address: String? = nil,
        isConfirmed: Bool = false
    ) {
        self.code = code
        self.directory = directory
        self.isParent = isParent
        self.mode = mode
        self.address = address
        self.isConfirmed = isConfirmed
    }

    enum CodingKeys: String, CodingKey {
        case code, directory, isParent = "parent", mode, address, isConfirmed = "confirmed"
    }

    /// Reads the request; `confirmed` may be missing.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        directory = try container.decode(String.self, forKey: .directory)
        isParent = try container.decode(Bool.self, forKey: .isParent)
        mode = try container.decode(String.self, forKey: .mode)
        address = try container.decodeIfPresent(String.self, forKey: .address)
        isConfirmed = try container.decodeIfPresent(Bool.self, forKey: .isConfirmed) ?? false
    }
}

package struct JoinAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var folder: String
    package var label: String
    /// What this device may do there.
    package var role: String
    package var path: String
    /// The device that invited.
    package var device: String
    package var name: String

    package init(folder: String, label: String, role: String, path: String, device: String, name: String) {
        self.folder = folder
        self.label = label
        self.role = role
        self.path = path
        self.device = device
        self.name = name
    }
}
