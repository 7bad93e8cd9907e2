import CFuse
import Glibc
import MountProtocol
import MountRules

/// What the kernel asks, answered on libfuse's threads from what is known, else by the agent's answer from its thread. No
/// operation waits. In functions that no actor isolates, since closures of the main actor would trap here.
enum Operations {
    static func make() -> fuse_lowlevel_ops {
        var operations = fuse_lowlevel_ops()
        operations.`init` = { data, connection in
            guard let connection else { return }
            connection.pointee.max_background = 64
            connection.pointee.congestion_threshold = 48
            let wanted =
                FUSE_CAP_ASYNC_READ | FUSE_CAP_READDIRPLUS | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_CACHE_SYMLINKS
                | FUSE_CAP_ATOMIC_O_TRUNC
            // What is written to changes under the kernel's pages; the bytes of all else never do.
            let isWritable = data.map {
                Unmanaged<Mount>.fromOpaque($0).takeUnretainedValue().isWritable.load(ordering: .relaxed)
            }
            let pages = isWritable == true ? FUSE_CAP_AUTO_INVAL_DATA : FUSE_CAP_EXPLICIT_INVAL_DATA
            connection.pointee.want = connection.pointee.capable & UInt32(wanted | pages)
        }
        operations.lookup = { request, parent, name in
            guard let request, let name, let mount = Mount.of(request) else { return }
            mount.lookUp(Request(raw: request), UInt64(parent), name)
        }
        operations.getattr = { request, node, info in
            guard let request, let mount = Mount.of(request) else { return }
            mount.attributes(Request(raw: request), UInt64(node), info?.pointee.fh)
        }
        operations.forget = { request, node, count in
            guard let request, let mount = Mount.of(request) else { return }
            mount.nodes.withLock { $0.forget(UInt64(node), count) }
            fuse_reply_none(request)
        }
        operations.forget_multi = { request, count, forgets in
            guard let request, let forgets, let mount = Mount.of(request) else { return }
            mount.nodes.withLock { nodes in
                for index in 0..<count { nodes.forget(UInt64(forgets[index].ino), forgets[index].nlookup) }
            }
            fuse_reply_none(request)
        }
        operations.readlink = { request, node in
            guard let request, let mount = Mount.of(request) else { return }
            guard let entry = mount.nodes.withLock({ $0[UInt64(node)]?.entry }), entry.kind == .symlink else {
                fuse_reply_err(request, EINVAL)
                return
            }
            let target = entry.target.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
            fuse_reply_readlink(request, target)
        }
        operations.statfs = { request, _ in
            guard let request, let mount = Mount.of(request) else { return }
            let space = mount.space.withLock { $0 }
            var status = statvfs()
            let unit = UInt(4096)
            (status.f_bsize, status.f_frsize, status.f_namemax) = (unit, unit, 255)
            status.f_blocks = UInt(clamping: space.total) / unit
            (status.f_bfree, status.f_bavail) = (UInt(clamping: space.free) / unit, UInt(clamping: space.free) / unit)
            // Inodes are 0 of 0, as on btrfs: their number has no limit.
            fuse_reply_statfs(request, &status)
        }
        operations.open = { request, node, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).refuses(Request(raw: request)) else { return }
            mount.open(Request(raw: request), UInt64(node), info.pointee)
        }
        operations.read = { request, node, size, offset, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.read(Request(raw: request), UInt64(node), info.pointee.fh, offset: Int64(offset), count: size)
        }
        operations.release = { request, _, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.close(info.pointee.fh)
            fuse_reply_err(request, 0)
        }
        operations.opendir = { request, node, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.openDirectory(Request(raw: request), UInt64(node), info.pointee)
        }
        operations.readdirplus = { request, _, size, offset, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.readDirectory(Request(raw: request), info.pointee.fh, offset: Int64(offset), size: size)
        }
        operations.releasedir = { request, _, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.closeDirectory(info.pointee.fh)
            fuse_reply_err(request, 0)
        }
        operations.getxattr = { request, node, name, size in
            guard let request, let name, let mount = Mount.of(request) else { return }
            // Without the attributes of labels and access lists, `ls` asks once, and not for each file.
            guard strncmp(name, AttributeName.userPrefix, AttributeName.userPrefix.utf8.count) == 0 else {
                fuse_reply_err(request, EOPNOTSUPP)
                return
            }
            let attribute = String(cString: name)
            if node == fuse_ino_t(NodeTable.root), attribute == AttributeName.prefix + AttributeName.watchers,
                let word = mount.watching.word(for: Request(raw: request).caller)
            {
                return Request(raw: request).reply(word, size: size)
            }
            mount.attribute(Request(raw: request), UInt64(node), attribute, size: size)
        }
        operations.listxattr = { request, _, size in
            guard let request else { return }
            // The names that getxattr knows are not listed: programs that copy all listed attributes could not set them elsewhere,
            // and would pin the copy of a pinned file.
            Request(raw: request).reply([], size: size)
        }
        addChanges(to: &operations)
        return operations
    }
}

extension Mount {
    // MARK: names

    func lookUp(_ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>) {
        guard let directory = nodes.withLock({ $0[parent]?.path }) else { return request.fail(ESTALE) }
        guard strlen(name) <= MountLimits.nameByteCount else { return request.fail(ENAMETOOLONG) }
        // No name of a folder is anything but UTF-8.
        guard let name = String(validatingCString: name) else { return request.fail(ENOENT) }
        let path = NodeTable.join(directory, name)
        guard path.utf8.count <= MountLimits.pathByteCount else { return request.fail(ENAMETOOLONG) }
        if CalledChanges(mount: self).answersLook(request, path) { return }
        if let rest = newNames.isNobodys(name, in: directory) {
            return request.replyNobodys(for: min(rest, watching.validityOfNobodys(path)))
        }
        ask(.look(path: path), for: request, within: MountDeadlines.metadata) { [self] result in
            switch result {
            case .success(let answer):
                guard case .entry(let entry) = answer.answer else { return request.fail(EIO) }
                var parameters = parameters(entry, at: path)
                if fuse_reply_entry(request.raw, &parameters) == -ENOENT {
                    nodes.withLock { $0.forget(UInt64(parameters.ino), 1) }
                }
            case .failure(.notFound):
                newNames.missed(in: directory)
                // That nothing is there may be kept for a moment, too.
                request.replyNobodys(for: watching.validityOfNobodys(path))
            case .failure(let failure): request.fail(failure.number)
            }
        }
    }

    func attributes(_ request: Request, _ number: UInt64, _ key: UInt64? = nil) {
        guard let node = nodes.withLock({ $0[number] }) else { return request.fail(ESTALE) }
        if key != nil || node.isDetached, let file = openFile(number, key), reply(request, of: file, node.path) {
            return
        }
        guard !node.isDetached else {
            guard isOpenAbsent(number) else { return request.fail(ESTALE) }
            // What is read is the version that the program has open, whatever became of its name.
            return reply(request, node.path, node.entry, validity: MountDeadlines.presentValidity, isNamed: false)
        }
        let validity = node.entry.validity
        if let asOf = node.asOf, Clock.now - asOf < validity {
            return reply(request, node.path, node.entry, validity: validity)
        }
        // The kernel does not say by which handle. What is being written is told by the disk, whether or not there is an agent.
        if let file = writtenFile(number), reply(request, of: file, node.path) { return }
        ask(.look(path: node.path), for: request, within: MountDeadlines.metadata) { [self] result in
            var entry = node.entry
            if case .success(let answer) = result, case .entry(let now) = answer.answer, node.isSame(as: now) {
                entry = now
                nodes.withLock { $0.refresh(number, now, now: Clock.now) }
            } else if case .failure(.cancelled) = result {
                return request.fail(EINTR)
            }
            // Of another version, or with no agent, the node is what it was: programs that have it open see that.
            reply(request, node.path, entry, validity: MountDeadlines.presentValidity)
        }
    }

    /// - Parameter isNamed: false for what only programs see that have it open.
    func reply(
        _ request: Request, _ path: String, _ entry: MountEntry, validity: Duration, isNamed: Bool = true
    ) {
        var status = entry.status(at: path, user, group)
        if !isNamed { status.st_nlink = 0 }
        fuse_reply_attr(request.raw, &status, Double(validity.components.seconds))
    }

    // MARK: extended attributes

    func attribute(_ request: Request, _ number: UInt64, _ name: String, size: Int) {
        guard let name = AttributeName.known(name), let path = nodes.withLock({ $0[number]?.path }) else {
            return request.fail(ENODATA)
        }
        if name == AttributeName.access || name == AttributeName.budget {
            guard path.isEmpty else { return request.fail(ENODATA) }
            let isReadOnly = !isWritable.load(ordering: .relaxed)
            let access = isReadOnly ? "read-only" : access.withLock { $0.text }
            let text = name == AttributeName.access ? access : terms.budget.text
            return request.reply(Array(text.utf8), size: size)
        }
        if name == "error" {
            guard let text = errors.text(of: number) else { return request.fail(ENODATA) }
            return request.reply(Array(text.utf8), size: size)
        }
        ask(.attribute(path: path, name: name), for: request, within: MountDeadlines.metadata) { result in
            switch result {
            case .success(let answer):
                guard case .bytes(let bytes) = answer.answer else { return request.fail(EIO) }
                request.reply(bytes, size: size)
            case .failure(let failure): request.fail(failure.number)
            }
        }
    }
}
