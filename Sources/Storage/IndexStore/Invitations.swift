import BlockExchange
import Cryptography
import GRDB

/// An invitation to a folder, next to what is known of devices.
package struct StoredInvitation: Equatable, Sendable {
    /// What it is called by its user: given in order, never twice.
    package var number: Int64
    /// Of the secret; the secret itself is kept nowhere.
    package var digest: SHA256Digest
    package var folder: FolderID
    package var role: String
    /// Seconds since 1970.
    package var expires: Int64
    /// Who has redeemed it.
    package var device: DeviceID?
    /// Whether all that follows from that is stored: then it changes nothing any more.
    package var isStored: Bool

    package init(
        number: Int64, digest: SHA256Digest, folder: FolderID, role: String, expires: Int64, device: DeviceID? = nil,
        isStored: Bool = false
    ) {
        self.number = number
        self.digest = digest
        self.folder = folder
        self.role = role
        self.expires = expires
        self.device = device
        self.isStored = isStored
    }
}

/// What a device that redeems an invitation gets.
package enum InvitationUse: Equatable, Sendable {
    /// It is the device's, and what follows from that is still to be stored.
    case noted
    /// The device has redeemed it before, and all that follows from that is stored.
    case stored
    /// Another device has redeemed it.
    case taken
    /// There is none of that number.
    case gone
}

extension IndexStore {
    /// Invitations that are kept at the same time.
    package static let invitationLimit = 100

    /// Adds an invitation and gives its number, nil if there are too many; those that expired before `now` go. Survives a
    /// loss of power on return.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The invitation may be stored, and a loss of power may
    ///   undo that.
    package func addInvitation(
        digest: SHA256Digest, folder: FolderID, role: String, expires: Int64, now: Int64
    ) async throws -> Int64? {
        let number: Int64? = try await write { database in
            let delete = try RawStatement(database, "DELETE FROM invitation WHERE expires < ?1")
            try delete.bind(1, now)
            try delete.run()
            let count = try RawStatement(database, "SELECT count(*) FROM invitation").first { $0.integer(0) } ?? 0
            guard count < Self.invitationLimit else { return nil }
            let insert = try RawStatement(
                database, "INSERT INTO invitation (digest, folder, role, expires) VALUES (?1, ?2, ?3, ?4)")
            try insert.bind(1, digest.bytes)
            try insert.bind(2, folder.rawValue)
            try insert.bind(3, role)
            try insert.bind(4, expires)
            try insert.run()
            return insert.lastInsertedRowID
        }
        try await makeDurable()
        return number
    }

    /// Those that were not withdrawn, in the order in which they were made; expired ones may be among them.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func invitations() async throws -> [StoredInvitation] {
        try await read { database in
            let select = try RawStatement(
                database,
                "SELECT number, digest, folder, role, expires, device, isStored FROM invitation ORDER BY number")
            defer { select.reset() }
            var invitations: [StoredInvitation] = []
            while try select.step() {
                var digest = ByteReader(select.bytes(1))
                var device = ByteReader(select.bytes(5))
                invitations.append(
                    StoredInvitation(
                        number: select.integer(0), digest: try digest.digest(), folder: FolderID(select.text(2)),
                        role: select.text(3), expires: select.integer(4),
                        device: select.isNull(5) ? nil : DeviceID(digest: try device.digest()),
                        isStored: select.integer(6) != 0))
            }
            return invitations
        }
    }

    /// Notes that `device` has redeemed the invitation, unless another device has. Survives a loss of power on return, so that it
    /// is good once.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The invitation may be noted as used; the same device can
    ///   redeem it again.
    package func redeemInvitation(_ number: Int64, by device: DeviceID) async throws -> InvitationUse {
        let use = try await write { database -> InvitationUse in
            let select = try RawStatement(database, "SELECT device, isStored FROM invitation WHERE number = ?1")
            try select.bind(1, number)
            let found = try select.first { row in
                var device = ByteReader(row.bytes(0))
                return (
                    device: row.isNull(0) ? nil : DeviceID(digest: try device.digest()), isStored: row.integer(1) != 0
                )
            }
            guard let found else { return .gone }
            guard found.device == nil || found.device == device else { return .taken }
            guard !found.isStored else { return .stored }
            let update = try RawStatement(database, "UPDATE invitation SET device = ?2 WHERE number = ?1")
            try update.bind(1, number)
            try update.bind(2, device.digest.bytes)
            try update.run()
            return .noted
        }
        try await makeDurable()
        return use
    }

    /// Notes that all that follows from the use of some invitations is stored, and withdraws others. Survives a loss of power on
    /// return.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. All of that may be done, or nothing.
    package func settleInvitations(stored: [Int64], withdrawn: [Int64]) async throws {
        try await write { database in
            let update = try RawStatement(database, "UPDATE invitation SET isStored = 1 WHERE number = ?1")
            let delete = try RawStatement(database, "DELETE FROM invitation WHERE number = ?1")
            for (statement, numbers) in [(update, stored), (delete, withdrawn)] {
                for number in numbers {
                    try statement.bind(1, number)
                    try statement.run()
                }
            }
        }
        try await makeDurable()
    }

    /// Withdraws an invitation; false if there is none of that number.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The invitation may be withdrawn.
    package func removeInvitation(_ number: Int64) async throws -> Bool {
        let isRemoved = try await write { database in
            let delete = try RawStatement(database, "DELETE FROM invitation WHERE number = ?1")
            try delete.bind(1, number)
            try delete.run()
            return delete.changes > 0
        }
        try await makeDurable()
        return isRemoved
    }
}
