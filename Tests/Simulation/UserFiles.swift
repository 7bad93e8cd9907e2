import BlockExchange
import Cryptography
import FileAccess
import Glibc
import SyncTestKit

@testable import FolderSync

/// What is at a name on a disk.
enum Item: Equatable {
    case file(SHA256Digest, size: Int, permissions: UInt32, modified: FileTime)
    case directory(permissions: UInt32)
    case symlink(String)

    var isDirectory: Bool { if case .directory = self { true } else { false } }

    var content: SHA256Digest? { if case .file(let digest, _, _, _) = self { digest } else { nil } }
}

/// A folder as its user sees it: bare calls on real files, with nobody in between.
struct UserFiles: Sendable {
    let root: String
    /// Which names are one to its disk; nil for an ordinary disk.
    var folding: FoldedNames?

    /// How what the disk finds under a name is called; the name itself if there is nothing.
    func listed(_ name: String) -> String { folding?.spelling(of: name, in: root) ?? name }

    private func full(_ name: String) -> String { "\(root)/\(listed(name))" }

    func status(_ name: String) -> stat? {
        var status = stat()
        return lstat(full(name), &status) == 0 ? status : nil
    }

    func isDirectory(_ name: String) -> Bool { status(name).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }
    func isFile(_ name: String) -> Bool { status(name).map { $0.st_mode & S_IFMT == S_IFREG } ?? false }

    func read(_ name: String) -> [UInt8]? {
        guard isFile(name) else { return nil }
        let file = open(full(name), O_RDONLY | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            while count < buffer.count {
                let more = Glibc.read(file, buffer.baseAddress! + count, buffer.count - count)
                guard more > 0 else { break }
                count += more
            }
        }
    }

    func content(_ name: String) -> SHA256Digest? { read(name).map { SHA256.digest($0) } }

    /// Writes into the file itself, or makes it.
    func write(_ bytes: [UInt8], to name: String) -> Bool {
        let file = open(full(name), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644)
        guard file >= 0 else { return false }
        defer { close(file) }
        return bytes.isEmpty || Glibc.write(file, bytes, bytes.count) == bytes.count
    }

    /// Puts a new file into the place of another, as most editors do.
    func replace(_ name: String, with bytes: [UInt8]) -> Bool {
        let aside = "\(root).aside"
        unlink(aside)
        let file = open(aside, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard bytes.isEmpty || Glibc.write(file, bytes, bytes.count) == bytes.count else { return false }
        return Glibc.rename(aside, full(name)) == 0
    }

    func setTime(_ time: FileTime, of name: String) {
        let times = [
            timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds)),
            timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds)),
        ]
        _ = utimensat(AT_FDCWD, full(name), times, AT_SYMLINK_NOFOLLOW)
    }

    /// Gives what is there the name, also where that is its own in other letters.
    func rename(_ from: String, to: String) -> Bool {
        let isSame = listed(from) == listed(to)
        let parent = to.lastIndex(of: "/").map { listed(String(to[..<$0])) + to[$0...] } ?? to
        return Glibc.rename(full(from), isSame ? "\(root)/\(parent)" : full(to)) == 0
    }
    func remove(_ name: String) -> Bool { (isDirectory(name) ? rmdir(full(name)) : unlink(full(name))) == 0 }
    func makeDirectory(_ name: String) -> Bool { mkdir(full(name), 0o755) == 0 }
    func makeSymlink(_ name: String, target: String) -> Bool { symlink(target, full(name)) == 0 }
    func setPermissions(_ mode: UInt32, of name: String) -> Bool { chmod(full(name), mode_t(mode)) == 0 }

    /// The names in a directory, in order; with what the folder keeps for itself if `all`.
    func names(in directory: String, all: Bool = false) -> [String] {
        guard let stream = opendir(directory.isEmpty ? root : full(directory)) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let record = readdir(stream) {
            let name = withUnsafePointer(to: &record.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let path = directory.isEmpty ? name : "\(directory)/\(name)"
            if all {
                names.append(path)
            } else if let path = RelativePath(path), !path.isInternal, !path.isTemporary {
                names.append(path.text)
            }
        }
        return names.sorted()
    }

    /// All names beneath a directory, each directory before what is in it.
    func allNames(below directory: String = "", all: Bool = false) -> [String] {
        names(in: directory, all: all).flatMap { name in
            isDirectory(name) ? [name] + allNames(below: name, all: all) : [name]
        }
    }

    /// Without what agents write for themselves.
    func userNames() -> [String] { allNames().filter { !$0.hasPrefix(".synctrain") } }

    func item(_ name: String) -> Item? {
        guard let status = status(name) else { return nil }
        let permissions = UInt32(status.st_mode & 0o777)
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return .directory(permissions: permissions)
        case S_IFLNK:
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(full(name), &target, target.count)
            return .symlink(String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self))
        default:
            guard let bytes = read(name) else { return nil }
            return .file(
                SHA256.digest(bytes), size: bytes.count, permissions: permissions,
                modified: FileTime(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(status.st_mtim.tv_nsec)))
        }
    }

    func holds(_ content: SHA256Digest) -> Bool { allNames().contains { self.content($0) == content } }

    /// Also where the folder keeps things for itself.
    func holdsAnywhere(_ content: SHA256Digest) -> Bool {
        allNames(all: true).contains { self.content($0) == content }
    }

    /// What files have in them, by inode; also those that the folder keeps for itself.
    func contents() -> [UInt64: SHA256Digest] {
        var contents: [UInt64: SHA256Digest] = [:]
        for name in allNames(all: true) {
            if let content = content(name), let status = status(name) { contents[UInt64(status.st_ino)] = content }
        }
        return contents
    }

    /// The whole folder, without what it keeps for itself.
    func tree() -> [String: Item] {
        var tree: [String: Item] = [:]
        for name in allNames() { tree[name] = item(name) }
        return tree
    }

    /// Gives everything that bears a time of the real clock one of the simulated clock, so that nothing depends on
    /// when the simulation ran.
    func hideRealTimes(_ time: FileTime) {
        for name in allNames(all: true) {
            guard let status = status(name), Int64(status.st_mtim.tv_sec) >= VirtualTime.firstRealSecond else {
                continue
            }
            setTime(time, of: name)
        }
    }
}

/// What users ever wrote, and what of it somebody who had it before their eyes wrote over or removed.
struct Ledger {
    struct Writing {
        var author: Int
        var name: String
        var number: Int
    }

    private(set) var writings: [SHA256Digest: Writing] = [:]
    private(set) var superseded: Set<SHA256Digest> = []
    /// What the kernel had not written out when its user had written it.
    var leftToKernel: Set<SHA256Digest> = []
    /// By which agents it was removed to free space, while others had it.
    var setAside: [SHA256Digest: Set<Int>] = [:]
    /// Who moved the content away from a name that he keeps.
    var movedAway: [SHA256Digest: Set<Int>] = [:]
    struct Rewriting {
        var agent: Int
        /// Whether another device announced the old content as its own when this agent was asked last.
        var isAnnounced = false
    }

    /// What the user of an agent has replaced after he had freed it, while another device kept the name, and his agent has not taken
    /// into its index yet.
    var rewritten: [SHA256Digest: Rewriting] = [:]
    /// What the user of an agent removed from a name by hand to free its space, by agent and name.
    var removedByHand: [String: SHA256Digest] = [:]
    /// The same, until something else is written or removed there.
    var removedLast: [String: SHA256Digest] = [:]
    struct WritingOver {
        var agent: Int
        var name: String
        var content: SHA256Digest
    }

    /// What was removed from a name by hand, and another file written there, since the agent did its last step.
    var writtenOver: [WritingOver] = []

    /// Notes bytes that nobody wrote before.
    mutating func wrote(_ content: SHA256Digest, at name: String, by author: Int) {
        writings[content] = Writing(author: author, name: name, number: writings.count)
    }

    mutating func supersede(_ content: SHA256Digest?) { if let content { superseded.insert(content) } }

    /// Who keeps a name again from which he removed what he had written himself, and writes something new there, has
    /// replaced it: no version says otherwise, for all of its counters are his. What others wrote must outlive that.
    mutating func supersedeOwn(removedFrom name: String, by author: Int) {
        guard let content = removedByHand.removeValue(forKey: "\(author) \(name)") else { return }
        if writings[content]?.author == author { supersede(content) }
    }

    /// Something is written at a name.
    ///
    /// - Parameter isNew: whether nothing was there.
    mutating func writesAgain(_ name: String, isNew: Bool, by agent: Int) {
        guard let content = removedLast.removeValue(forKey: "\(agent) \(name)"), isNew else { return }
        writtenOver.append(WritingOver(agent: agent, name: name, content: content))
    }

    /// What must still be somewhere, oldest first.
    var alive: [(content: SHA256Digest, writing: Writing)] {
        writings.filter { !superseded.contains($0.key) }.map { ($0.key, $0.value) }
            .sorted { $0.writing.number < $1.writing.number }
    }
}
