import CLinux
import Glibc

/// An extended attribute as the disk has it.
package struct DiskAttribute: Hashable, Sendable {
    /// With its namespace: `user.comment`.
    package var name: String
    package var value: [UInt8]

    package init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }
}

/// Who owns a file or directory.
package struct DiskOwner: Hashable, Sendable {
    package var uid: UInt32
    package var gid: UInt32
    /// Empty where this system has no name for the number.
    package var ownerName: String
    package var groupName: String

    package init(uid: UInt32, gid: UInt32, ownerName: String = "", groupName: String = "") {
        self.uid = uid
        self.gid = gid
        self.ownerName = ownerName
        self.groupName = groupName
    }
}

/// Owner and extended attributes of a file or directory, as far as they are asked for.
package struct DiskAttributes: Hashable, Sendable {
    package var owner: DiskOwner?
    /// In no order; nil if the disk keeps none, or not all could be read.
    package var extended: [DiskAttribute]?

    package init(owner: DiskOwner? = nil, extended: [DiskAttribute]? = nil) {
        self.owner = owner
        self.extended = extended
    }
}

/// Which attributes are read and set.
package struct AttributeAccess: Sendable {
    /// Says of a name whether the attribute is read and set; nil leaves all extended attributes alone.
    package var permits: (@Sendable (String) -> Bool)?
    /// Which of those that a file has may be removed: not those that are too large to be synced.
    package var removable: @Sendable ([DiskAttribute]) -> [DiskAttribute]
    package var usesOwner: Bool
    package var accounts: AccountNames

    package init(
        permits: (@Sendable (String) -> Bool)?,
        removable: @escaping @Sendable ([DiskAttribute]) -> [DiskAttribute] = { $0 }, usesOwner: Bool,
        accounts: AccountNames = AccountNames()
    ) {
        self.permits = permits
        self.removable = removable
        self.usesOwner = usesOwner
        self.accounts = accounts
    }
}

/// Attributes that something is to get.
package struct AttributeChange: Sendable {
    /// What is nil stays as it is. Of extended attributes those that are not here are removed, where the access allows it.
    package var wanted: DiskAttributes
    package var access: AttributeAccess

    package init(_ wanted: DiskAttributes, _ access: AttributeAccess) {
        self.wanted = wanted
        self.access = access
    }
}

extension Descriptor {
    /// Of the calls that set something, each has its time: a file that is read-only takes no attribute of its user's, one
    /// whose permissions are set has another access control list, and one that was given away belongs to somebody else.
    enum AttributePhase {
        case beforePermissions
        case afterPermissions
        case last

        init(of name: String) {
            self =
                name.hasPrefix("system.") ? .afterPermissions : name.hasPrefix("security.") ? .last : .beforePermissions
        }
    }

    /// The most that one attribute, and the list of names, may have: Linux gives no more.
    private static let byteLimit = 64 << 10

    /// The kernel's link leads to the open file itself, also for a descriptor opened with O_PATH.
    private var kernelPath: String { "/proc/self/fd/\(number)" }

    func attributes(_ access: AttributeAccess) -> DiskAttributes {
        var found = DiskAttributes()
        if access.usesOwner, case .success(let status) = rawStatus() {
            found.owner = access.accounts.owner(uid: status.st_uid, gid: status.st_gid)
        }
        if let permits = access.permits { found.extended = extendedAttributes(permits) }
        return found
    }

    /// Nil if the disk keeps none, or not all can be read: a part would be taken for all.
    private func extendedAttributes(_ permits: (String) -> Bool) -> [DiskAttribute]? {
        let path = kernelPath
        guard
            let list = Self.sized({ buffer in
                listxattr(path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
            })
        else { return nil }
        var found: [DiskAttribute] = []
        for bytes in list.split(separator: 0) {
            guard let name = String(validating: bytes, as: UTF8.self), permits(name) else { continue }
            let value = Self.sized { buffer in getxattr(path, name, buffer.baseAddress, buffer.count) }
            if let value {
                found.append(DiskAttribute(name: name, value: value))
            } else if Glibc.errno != ENODATA {
                return nil
            }
        }
        return found
    }

    /// Asks for the size, then for so many bytes, and again if they became more in between. Nil, and errno, for an error.
    private static func sized(_ call: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8]? {
        for _ in 0..<8 {
            let size = call(UnsafeMutableRawBufferPointer(start: nil, count: 0))
            guard size > 0 else { return size == 0 ? [] : nil }
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: min(size, byteLimit)) { buffer, initialized in
                count = call(UnsafeMutableRawBufferPointer(buffer))
                initialized = max(0, count)
            }
            if count >= 0 { return bytes }
            guard Glibc.errno == ERANGE else { return nil }
        }
        return nil
    }

    /// Sets what is different, and removes what is permitted and not wanted. What cannot be set is left out.
    ///
    /// - Returns: what was set or, nil, removed, by name.
    @discardableResult
    func set(_ change: AttributeChange, _ phase: AttributePhase) -> [String: [UInt8]?] {
        if phase == .last, change.access.usesOwner, let owner = change.wanted.owner {
            set(owner, change.access.accounts)
        }
        guard let permits = change.access.permits, let wanted = change.wanted.extended,
            let now = extendedAttributes(permits)
        else { return [:] }
        let path = kernelPath
        let names = Set(wanted.map(\.name))
        var done: [String: [UInt8]?] = [:]
        for attribute in change.access.removable(now)
        where !names.contains(attribute.name) && AttributePhase(of: attribute.name) == phase {
            let result = changing(.setAttributes(file: number)) { removexattr(path, attribute.name) }
            if case .success = result { done.updateValue(nil, forKey: attribute.name) }
        }
        let values = Dictionary(now.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        for attribute in wanted where permits(attribute.name) && AttributePhase(of: attribute.name) == phase {
            guard values[attribute.name] != attribute.value else { continue }
            let result = changing(.setAttributes(file: number)) {
                setxattr(path, attribute.name, attribute.value, attribute.value.count, 0)
            }
            if case .success = result { done.updateValue(attribute.value, forKey: attribute.name) }
        }
        return done
    }

    private func set(_ owner: DiskOwner, _ accounts: AccountNames) {
        guard case .success(let status) = rawStatus() else { return }
        // Numbers differ from system to system; a name that this one does not know leaves the number.
        let uid = accounts.uid(named: owner.ownerName) ?? owner.uid
        let gid = accounts.gid(named: owner.groupName) ?? owner.gid
        guard uid != status.st_uid || gid != status.st_gid else { return }
        let path = kernelPath
        let both = changing(.setAttributes(file: number)) { chown(path, uid, gid) }
        guard case .failure = both, gid != status.st_gid else { return }
        // Without the right to give a file away, one may give it to another of one's own groups.
        _ = changing(.setAttributes(file: number)) { chown(path, uid_t.max, gid) }
    }
}

extension OpenFile {
    /// Owner and extended attributes of the open file.
    package func attributes(_ access: AttributeAccess) -> DiskAttributes { descriptor.attributes(access) }
}

extension StagedFile {
    /// Takes over owner and attributes of the file that this is a copy of, as far as the disk keeps them and this user may
    /// set them. What belongs to the machine stays behind.
    func takeAttributes(of source: OpenFile) {
        let access = AttributeAccess(
            permits: { !$0.hasPrefix("security.") && !$0.hasPrefix("trusted.") }, usesOwner: true)
        let change = AttributeChange(source.attributes(access), access)
        for phase in [Descriptor.AttributePhase.beforePermissions, .afterPermissions, .last] {
            file.descriptor.set(change, phase)
        }
    }
}

extension Directory {
    /// Owner and extended attributes of a file or directory; nil if there is none, or it is something else.
    func attributes(ofName name: String, _ access: AttributeAccess) throws(FileAccessError) -> DiskAttributes? {
        switch Descriptor.openHeld(name, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        case .success(let file):
            let status = try file.status().orThrow(.inspect, path: displayPath(of: name))
            guard status.type == .regular || status.type == .directory else { return nil }
            return file.attributes(access)
        case .failure(let error) where error.number == ENOENT: return nil
        case .failure(let error): throw FileAccessError(error, .inspect, path: displayPath(of: name))
        }
    }

    /// The status of a file or directory and what it has of attributes at that moment; nil if it is gone or something else.
    /// Throws `busy` if it is being changed.
    package func statusAndAttributes(
        of entry: DirectoryEntry, _ access: AttributeAccess
    ) throws(FileAccessError) -> (FileStatus, DiskAttributes)? {
        guard let name = entry.name else { return nil }
        let path = displayPath(of: name)
        switch Descriptor.openHeld(name, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW) {
        case .success(let file):
            let before = try file.status().orThrow(.inspect, path: path)
            guard before.type == .regular || before.type == .directory else { return nil }
            let attributes = file.attributes(access)
            guard try file.status().orThrow(.inspect, path: path).changed == before.changed else {
                throw FileAccessError(.busy, .inspect, path: path)
            }
            return (before, attributes)
        case .failure(let error) where error.number == ENOENT: return nil
        case .failure(let error): throw FileAccessError(error, .inspect, path: path)
        }
    }
}

extension DiskAttributes {
    /// What a file has by what was done to it, if this is what it had before: a program may have changed attributes of its user since,
    /// and what it has set must not pass for ours. What the kernel changes along with others is as it was `found`.
    func having(_ done: [String: [UInt8]?], found: DiskAttributes) -> DiskAttributes {
        guard let before = extended, let after = found.extended else { return found }
        func isUsers(_ attribute: DiskAttribute) -> Bool {
            Descriptor.AttributePhase(of: attribute.name) == .beforePermissions
        }
        var values = Dictionary(
            before.filter(isUsers).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        for (name, value) in done where isUsers(DiskAttribute(name: name, value: [])) { values[name] = value }
        return DiskAttributes(
            owner: found.owner,
            extended: values.map { DiskAttribute(name: $0.key, value: $0.value) } + after.filter { !isUsers($0) })
    }
}

extension FileStatus {
    /// The same, but without a time of change if a file that was given attributes has others by now.
    func having(_ attributes: DiskAttributes, expecting given: DiskAttributes) -> FileStatus {
        let isSame =
            attributes.owner == given.owner && attributes.extended.map(Set.init) == given.extended.map(Set.init)
        return isSame ? self : withoutChange
    }
}

extension RootDirectory {
    /// The status of a file or directory that was just given attributes, for the index; nil if it is gone. Without a time of change if
    /// it has others by now: whose change the time is of, nobody knows, so who looks next reads the attributes.
    package func status(
        of path: RelativePath, having given: DiskAttributes, _ access: AttributeAccess
    ) throws(FileAccessError) -> FileStatus? {
        guard let status = try status(of: path),
            let now = try directory(path.parent).attributes(ofName: path.name, access)
        else { return nil }
        return status.having(now, expecting: given)
    }

    /// Whether the root's disk keeps extended attributes of users.
    package var keepsAttributes: Bool {
        let list = system { listxattr("/proc/self/fd/\(descriptor.number)", nil, 0) }
        guard case .failure(let error) = list else { return true }
        return error.number != EOPNOTSUPP
    }

    /// Sets permissions (the low nine bits; nil leaves them) and attributes of a file or directory; returns the
    /// attributes that it has then. Those that cannot be set are omitted.
    ///
    /// - Parameter expected: how it was when its attributes were known; nil if that is not to be asked.
    /// - Throws: `changedOnDisk` if it is another by now; the disk's errors.
    package func set(
        permissions: UInt32?, _ change: AttributeChange, of path: RelativePath, expecting expected: FileStatus? = nil
    ) throws(FileAccessError) -> DiskAttributes {
        let file = try Descriptor.openHeld(path.text, in: descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW)
            .orThrow(.setPermissions, path: path.text)
        // Before the status, which tells whether they are those that are known.
        let before = file.attributes(change.access)
        let status = try file.status().orThrow(.inspect, path: path.text)
        guard status.type == .regular || status.type == .directory else {
            throw FileAccessError(.notARegularFile, .setPermissions, path: path.text)
        }
        if let expected, !status.isUnchanged(since: expected) {
            throw FileAccessError(.changedOnDisk, .setPermissions, path: path.text)
        }
        // What is read-only takes no attributes of its user's.
        let isLocked = status.permissions & 0o200 == 0 && change.wanted.extended != nil
        if isLocked { _ = file.setPermissionsByPath(mode_t(status.permissions & 0o777 | 0o200)) }
        var done = file.set(change, .beforePermissions)
        if let permissions {
            try file.setPermissionsByPath(mode_t(permissions & 0o777)).orThrow(.setPermissions, path: path.text)
        } else if isLocked {
            try file.setPermissionsByPath(mode_t(status.permissions & 0o777)).orThrow(.setPermissions, path: path.text)
        }
        for phase in [Descriptor.AttributePhase.afterPermissions, .last] {
            done.merge(file.set(change, phase)) { _, later in later }
        }
        return before.having(done, found: file.attributes(change.access))
    }
}
