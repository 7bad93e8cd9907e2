import CFuse
import Glibc
import LocalSocket
import MountProtocol
import MountRules
import Synchronization
import Threads

/// Tells the kernel what it may not use any more, from a thread of its own: told from a handler it would wait for itself.
final class Invalidation: Sendable {
    enum Item: Sendable {
        case paths([String])
        /// The list of a directory alone.
        case listing(UInt64)
        case everything
    }

    /// The session of libfuse, which may be used from any thread until it is destroyed.
    struct Session: @unchecked Sendable { let raw: OpaquePointer }

    private struct Queue {
        var session: Session?
        var items: [Item] = []
        var isEnding = false
    }

    /// More waiting than this becomes "everything".
    private static let limit = 256
    private let queue = Guarded(Queue())
    private let pages = Mutex(KeptPages())
    private let notices = Atomic(0)

    /// How many notices of changes were given to the kernel, or are about to be.
    var noticeCount: Int { notices.load(ordering: .sequentiallyConsistent) }

    func add(_ item: Item) {
        if case .listing = item {} else { notices.wrappingAdd(1, ordering: .sequentiallyConsistent) }
        queue.with { queue in
            if queue.items.count >= Self.limit { queue.items = [.everything] } else { queue.items.append(item) }
        }
    }

    func end() { queue.with { $0.isEnding = true } }

    /// Whether the kernel may use what it has of a file on this disk that is being opened.
    func areKept(_ file: OpenFile) -> Bool {
        guard let stamp = file.stamp else { return false }
        return pages.withLock { $0.opened(file.node, stamp, at: Clock.wall) { file.hasNoWriters } }
    }

    /// Gives the file back. One on this disk may have changed since the kernel got its attributes, and would be read up to the old
    /// size: then they are dropped, so that the kernel asks again. That cannot block, as no page is touched.
    func opened(_ file: OpenFile, as known: MountEntry, _ mount: Mount) -> OpenFile {
        guard let status = file.status, status.st_size != off_t(known.size) || !known.isHere,
            let session = queue.quietly({ $0.isEnding ? nil : $0.session })
        else { return file }
        mount.nodes.withLock { $0.doubt(node: file.node) }
        fuse_lowlevel_notify_inval_inode(session.raw, fuse_ino_t(file.node), -1, 0)
        return file
    }

    func start(_ session: Session, _ mount: Mount) -> Bool {
        queue.quietly { $0.session = session }
        return OwnedThread.start("invalidation") { [queue] in
            while true {
                let items = queue.wait { queue -> [Item]? in
                    guard !queue.items.isEmpty || queue.isEnding else { return nil }
                    defer { queue.items = [] }
                    return queue.isEnding ? [] : queue.items
                }
                if items.isEmpty { return }
                for item in items {
                    switch item {
                    case .paths(let paths): Self.tell(session, paths, mount)
                    case .listing(let number): Self.dropListing(session, number)
                    case .everything:
                        let paths = mount.nodes.withLock { nodes in
                            nodes.doubtEverything()
                            return nodes.paths
                        }
                        Self.tell(session, paths, mount)
                    }
                }
            }
        }
    }

    /// ENOENT, of what the kernel does not have, is usual.
    private static func tell(_ session: Session, _ paths: [String], _ mount: Mount) {
        var directories: Set<UInt64> = []
        for path in paths {
            guard let (parent, name) = NodeTable.split(path) else { continue }
            let (parents, own, known) = mount.nodes.withLock { nodes in
                let own = nodes.numbers(at: path)
                return (nodes.numbers(at: parent), own, own.last.flatMap { nodes[$0]?.entry })
            }
            // Programs in a directory whose name the kernel drops have no working directory any longer.
            let isDirectory = known?.kind == .directory
            // Of one on this disk it asks again within a second.
            for number in parents where !isDirectory || known?.isHere == false {
                if isDirectory {
                    expire(session, name, in: number)
                } else {
                    fuse_lowlevel_notify_inval_entry(session.raw, fuse_ino_t(number), name, name.utf8.count)
                }
            }
            directories.formUnion(parents)
            for number in own {
                let isDirectory = mount.nodes.withLock { $0[number]?.entry.kind } == .directory
                // Of files attributes only: the bytes of a node never change.
                if isDirectory {
                    directories.insert(number)
                } else {
                    fuse_lowlevel_notify_inval_inode(session.raw, fuse_ino_t(number), -1, 0)
                }
            }
        }
        for number in directories { dropListing(session, number) }
    }

    /// `FUSE_EXPIRE_ONLY` of Linux 6.2.
    private static let expiresOnly: UInt32 = 1

    /// Has the kernel ask for a name when it is used next, and keep it until then; before Linux 6.2, drop it. libfuse's function for this
    /// has other parameters in each version, so the message (`fuse_notify_inval_entry_out`) is written here.
    private static func expire(_ session: Session, _ name: String, in parent: UInt64) {
        var message: [UInt8] = []
        func add(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value) { message.append(contentsOf: $0) } }
        let headByteCount = MemoryLayout<fuse_out_header>.size + MemoryLayout<fuse_notify_inval_entry_out>.size
        add(UInt32(clamping: headByteCount + name.utf8.count + 1))
        add(Int32(clamping: FUSE_NOTIFY_INVAL_ENTRY.rawValue))
        add(UInt64(0))
        add(parent)
        add(UInt32(clamping: name.utf8.count))
        add(expiresOnly)
        message += Array(name.utf8) + [0]
        _ = write(fuse_session_fd(session.raw), message, message.count)
    }

    /// Attributes and what the kernel keeps of the names in a directory, which are its pages.
    private static func dropListing(_ session: Session, _ number: UInt64) {
        fuse_lowlevel_notify_inval_inode(session.raw, fuse_ino_t(number), 0, 0)
    }
}
