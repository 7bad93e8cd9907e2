import Glibc
import Synchronization

/// Names of users and groups on this system, each looked up once in the life of this value: some systems ask a server.
package final class AccountNames: Sendable {
    private struct Known {
        var users: [UInt32: String] = [:]
        var groups: [UInt32: String] = [:]
        var userIDs: [String: UInt32?] = [:]
        var groupIDs: [String: UInt32?] = [:]
    }

    /// Names and numbers beyond that are looked up every time.
    private static let limit = 10_000
    private let known = Mutex(Known())

    package init() {}

    func owner(uid: UInt32, gid: UInt32) -> DiskOwner {
        let owner = remembered(\.users, uid) { Self.userName(uid) }
        let group = remembered(\.groups, gid) { Self.groupName(gid) }
        return DiskOwner(uid: uid, gid: gid, ownerName: owner, groupName: group)
    }

    /// Nil if there is no such user here.
    func uid(named name: String) -> UInt32? {
        name.isEmpty ? nil : remembered(\.userIDs, name) { Self.user(named: name) }
    }

    func gid(named name: String) -> UInt32? {
        name.isEmpty ? nil : remembered(\.groupIDs, name) { Self.group(named: name) }
    }

    private func remembered<Key: Hashable & Sendable, Value: Sendable>(
        _ table: WritableKeyPath<Known, [Key: Value]> & Sendable, _ key: Key, _ find: () -> Value
    ) -> Value {
        if let value = known.withLock({ $0[keyPath: table][key] }) { return value }
        let value = find()
        known.withLock { known in
            if known[keyPath: table].count < Self.limit { known[keyPath: table][key] = value }
        }
        return value
    }

    // MARK: asking the system

    private static func userName(_ uid: UInt32) -> String {
        let name = record(Glibc.passwd()) { getpwuid_r(uid, $0, $1, $2, $3) }
        // Zero is root, also where nobody can be asked.
        return name?.name ?? (uid == 0 ? "root" : "")
    }

    private static func groupName(_ gid: UInt32) -> String {
        let name = record(Glibc.group()) { getgrgid_r(gid, $0, $1, $2, $3) }
        return name?.name ?? (gid == 0 ? "root" : "")
    }

    private static func user(named name: String) -> UInt32? {
        record(Glibc.passwd()) { getpwnam_r(name, $0, $1, $2, $3) }?.id
    }

    private static func group(named name: String) -> UInt32? {
        record(Glibc.group()) { getgrnam_r(name, $0, $1, $2, $3) }?.id
    }

    /// Calls a look-up of the C library with a buffer that is large enough; nil if there is no such account.
    private static func record<Record: AccountRecord>(
        _ empty: Record,
        _ call: (
            UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Record>?>
        ) -> CInt
    ) -> (name: String, id: UInt32)? {
        var size = 1024
        // A group's record has all its members.
        while size <= 1 << 20 {
            let (result, account) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) {
                buffer -> (CInt, (name: String, id: UInt32)?) in
                guard let start = buffer.baseAddress else { return (ENOMEM, nil) }
                var record = empty
                var found: UnsafeMutablePointer<Record>?
                let result = call(&record, start, size, &found)
                // The record's texts are in the buffer.
                return (result, result == 0 && found != nil ? record.account : nil)
            }
            guard result == ERANGE else { return account }
            size *= 4
        }
        return nil
    }
}

private protocol AccountRecord {
    var account: (name: String, id: UInt32) { get }
}

extension passwd: AccountRecord {
    fileprivate var account: (name: String, id: UInt32) { (pw_name.map { String(cString: $0) } ?? "", pw_uid) }
}

extension group: AccountRecord {
    fileprivate var account: (name: String, id: UInt32) { (gr_name.map { String(cString: $0) } ?? "", gr_gid) }
}
