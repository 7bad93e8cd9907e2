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

    package init(
        number: Int64, digest: SHA256Digest, folder: FolderID, role: String, expires: Int64, device: DeviceID? = nil
    ) {
        self.number = number
        self.digest = digest
        self.folder = folder
        self.role = role
        self.expires = expires
        self.device = device
    }
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
                database, "SELECT number, digest, folder, role, expires, device FROM invitation ORDER BY number")
            defer { select.reset() }
            var invitations: [StoredInvitation] = []
            while try select.step() {
                var digest = ByteReader(select.bytes(1))
                var device = ByteReader(select.bytes(5))
                invitations.append(
                    StoredInvitation(
                        number: select.integer(0), digest: try digest.digest(), folder: FolderID(select.text(2)),
                        role: select.text(3), expires: select.integer(4),
                        device: select.isNull(5) ? nil : DeviceID(digest: try device.digest())))
            }
            return invitations
        }
    }

    /// Notes that `device` has redeemed the invitation; false if it is gone or another device has. Survives a loss of power
    /// on return, so that it is good once.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`. The invitation may be noted as used; the same device can
    ///   redeem it again.
    package func redeemInvitation(_ number: Int64, by device: DeviceID) async throws -> Bool {
        let isRedeemed = try await write { database in
            let update = try RawStatement(
                database,
                "UPDATE invitation SET device = ?2 WHERE number = ?1 AND (device IS NULL OR device = ?2)")
            try update.bind(1, number)
            try update.bind(2, device.digest.bytes)
            try update.run()
            return update.changes > 0
        }
        try await makeDurable()
        return isRedeemed
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
