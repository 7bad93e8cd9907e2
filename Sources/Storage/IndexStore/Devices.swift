import BlockExchange
import GRDB

/// A device that asked for a connection and is not known.
package struct PendingDevice: Equatable, Sendable {
    package var id: DeviceID
    package var name: String
    package var address: String
    /// Seconds since 1970.
    package var lastSeen: Int64

    package init(id: DeviceID, name: String, address: String, lastSeen: Int64) {
        self.id = id
        self.name = name
        self.address = address
        self.lastSeen = lastSeen
    }
}

/// A folder that a device offered and that is not shared with it.
package struct PendingFolder: Equatable, Sendable {
    package var id: FolderID
    package var device: DeviceID
    package var label: String
    /// Seconds since 1970.
    package var lastSeen: Int64

    package init(id: FolderID, device: DeviceID, label: String, lastSeen: Int64) {
        self.id = id
        self.device = device
        self.label = label
        self.lastSeen = lastSeen
    }
}

/// Devices and offers, next to the index because they change as often and matter as little after a loss.
extension IndexStore {
    /// Of pending devices, and of pending folders, so many are kept: the newest.
    package static let pendingLimit = 100
    /// Of the folders that one device offers, so many are kept: it does not displace the offers of all others.
    package static let offersPerDevice = 40

    /// Of a text that a stranger sent, so many bytes are kept.
    private static let textLimit = 1024

    /// Notes that `device` was seen at `time`, in seconds since 1970; also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError`.
    package func noteSeen(_ device: DeviceID, at time: Int64) async throws {
        try await writeRegardless { database in
            let replace = try RawStatement(database, "INSERT OR REPLACE INTO device (id, lastSeen) VALUES (?1, ?2)")
            try replace.bind(1, device.digest.bytes)
            try replace.bind(2, time)
            try replace.run()
        }
    }

    /// When each device was seen last, in seconds since 1970.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func lastSeen() async throws -> [DeviceID: Int64] {
        try await read { database in
            let select = try RawStatement(database, "SELECT id, lastSeen FROM device")
            defer { select.reset() }
            var times: [DeviceID: Int64] = [:]
            while try select.step() { times[try Self.device(select, 0)] = select.integer(1) }
            return times
        }
    }

    /// Notes that an unknown device tried to connect; of more than `pendingLimit` only the last ones are kept.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func notePending(_ pending: PendingDevice) async throws {
        try await write { database in
            let replace = try RawStatement(
                database,
                "INSERT OR REPLACE INTO pendingDevice (id, name, address, lastSeen) VALUES (?1, ?2, ?3, ?4)")
            try replace.bind(1, pending.id.digest.bytes)
            try replace.bind(2, Self.clipped(pending.name))
            try replace.bind(3, Self.clipped(pending.address))
            try replace.bind(4, pending.lastSeen)
            try replace.run()
            let trim = try RawStatement(
                database,
                """
                DELETE FROM pendingDevice WHERE id IN (
                    SELECT id FROM pendingDevice ORDER BY lastSeen DESC, id LIMIT -1 OFFSET \(Self.pendingLimit))
                """)
            try trim.run()
        }
    }

    /// Notes that a device offers a folder; of more than `offersPerDevice` from one device, or `pendingLimit` in all,
    /// only the last ones are kept.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func notePending(_ pending: PendingFolder) async throws {
        try await write { database in
            let replace = try RawStatement(
                database,
                "INSERT OR REPLACE INTO pendingFolder (folder, device, label, lastSeen) VALUES (?1, ?2, ?3, ?4)")
            try replace.bind(1, pending.id.rawValue)
            try replace.bind(2, pending.device.digest.bytes)
            try replace.bind(3, Self.clipped(pending.label))
            try replace.bind(4, pending.lastSeen)
            try replace.run()
            let trimOwn = try RawStatement(
                database,
                """
                DELETE FROM pendingFolder WHERE device = ?1 AND folder IN (
                    SELECT folder FROM pendingFolder WHERE device = ?1
                    ORDER BY lastSeen DESC, folder LIMIT -1 OFFSET \(Self.offersPerDevice))
                """)
            try trimOwn.bind(1, pending.device.digest.bytes)
            try trimOwn.run()
            let trim = try RawStatement(
                database,
                """
                DELETE FROM pendingFolder WHERE (folder, device) IN (
                    SELECT folder, device FROM pendingFolder
                    ORDER BY lastSeen DESC, folder, device LIMIT -1 OFFSET \(Self.pendingLimit))
                """)
            try trim.run()
        }
    }

    /// The newest first.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func pendingDevices() async throws -> [PendingDevice] {
        try await read { database in
            let select = try RawStatement(
                database, "SELECT id, name, address, lastSeen FROM pendingDevice ORDER BY lastSeen DESC, id")
            defer { select.reset() }
            var pending: [PendingDevice] = []
            while try select.step() {
                pending.append(
                    PendingDevice(
                        id: try Self.device(select, 0), name: select.text(1), address: select.text(2),
                        lastSeen: select.integer(3)))
            }
            return pending
        }
    }

    /// The newest first.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func pendingFolders() async throws -> [PendingFolder] {
        try await read { database in
            let select = try RawStatement(
                database,
                "SELECT folder, device, label, lastSeen FROM pendingFolder ORDER BY lastSeen DESC, folder, device")
            defer { select.reset() }
            var pending: [PendingFolder] = []
            while try select.step() {
                pending.append(
                    PendingFolder(
                        id: FolderID(select.text(0)), device: try Self.device(select, 1), label: select.text(2),
                        lastSeen: select.integer(3)))
            }
            return pending
        }
    }

    /// Forgets that `device` is pending, after it was added or refused.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func forgetPending(_ device: DeviceID) async throws {
        try await write { database in
            let delete = try RawStatement(database, "DELETE FROM pendingDevice WHERE id = ?1")
            try delete.bind(1, device.digest.bytes)
            try delete.run()
        }
    }

    /// Forgets the offers of `folder`, all or those of one device.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func forgetPending(_ folder: FolderID, from device: DeviceID? = nil) async throws {
        try await write { database in
            let delete = try RawStatement(
                database, "DELETE FROM pendingFolder WHERE folder = ?1\(device == nil ? "" : " AND device = ?2")")
            try delete.bind(1, folder.rawValue)
            if let device { try delete.bind(2, device.digest.bytes) }
            try delete.run()
        }
    }

    /// Forgets the offers of `device` but for those of `offered`, which are all that it offers now.
    ///
    /// - Returns: whether there were any.
    /// - Throws: `IndexStoreError`; `CancellationError`. Some of them may be forgotten.
    package func forgetOffers(of device: DeviceID, but offered: Set<FolderID>) async throws -> Bool {
        let ended = try await read { database in
            let select = try RawStatement(database, "SELECT folder FROM pendingFolder WHERE device = ?1")
            try select.bind(1, device.digest.bytes)
            defer { select.reset() }
            var ended: [FolderID] = []
            while try select.step() {
                let folder = FolderID(select.text(0))
                if !offered.contains(folder) { ended.append(folder) }
            }
            return ended
        }
        for folder in ended { try await forgetPending(folder, from: device) }
        return !ended.isEmpty
    }

    /// Notes that the user does not want `folder`, or, with false, wants it again.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func setDeclined(_ folder: FolderID, _ isDeclined: Bool) async throws {
        try await write { database in
            let change = try RawStatement(
                database,
                isDeclined
                    ? "INSERT OR IGNORE INTO declinedFolder (folder) VALUES (?1)"
                    : "DELETE FROM declinedFolder WHERE folder = ?1")
            try change.bind(1, folder.rawValue)
            try change.run()
        }
    }

    /// The folders that the user does not want.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func declinedFolders() async throws -> Set<FolderID> {
        try await read { database in
            let select = try RawStatement(database, "SELECT folder FROM declinedFolder")
            defer { select.reset() }
            var folders: Set<FolderID> = []
            while try select.step() { folders.insert(FolderID(select.text(0))) }
            return folders
        }
    }

    private static func clipped(_ text: String) -> String {
        text.utf8.count <= textLimit ? text : String(decoding: text.utf8.prefix(textLimit), as: UTF8.self)
    }

    static func device(_ row: RawStatement, _ column: Int32) throws -> DeviceID {
        var reader = ByteReader(row.bytes(column))
        return DeviceID(digest: try reader.digest())
    }
}
