import CFuse
import Glibc
import MountProtocol
import MountRules

/// Files that are written to. The agent hands over a descriptor of the file in the folder; bytes never pass it.
extension Mount {
    // MARK: opening

    func openWriting(_ request: Request, _ number: UInt64, _ node: NodeTable.Node, _ info: fuse_file_info) {
        guard !node.isDetached else { return request.fail(ESTALE) }
        var opening: MountOpening = []
        if info.flags & O_TRUNC != 0 { opening.insert(.truncates) }
        let question = MountRequest.openWriting(
            path: node.path, version: node.entry.version, disk: node.entry.disk, opening, permissions: 0)
        let (information, appends) = (Information(raw: info), info.flags & O_APPEND != 0)
        let isDownloaded = !node.entry.isHere && !opening.contains(.truncates)
        askForFile(
            question, node.path, for: request, within: isDownloaded ? MountDeadlines.download : MountDeadlines.change
        ) { [self] result in
            var info = information.raw
            switch result {
            case .success(let (descriptor, written, entry, _)):
                nodes.withLock { $0.refresh(number, entry, now: Clock.now) }
                errors.clear(number)
                let file = OpenFile(descriptor, node: number, written: written, appends: appends)
                info.fh = keep(invalidation.opened(file, as: node.entry, self))
                if fuse_reply_open(request.raw, &info) == -ENOENT { close(info.fh) }
            case .failure(let failure):
                errors.note(failure, of: number)
                failOpening(request, node.path, failure)
            }
        }
    }

    func create(
        _ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>, _ mode: mode_t, _ info: fuse_file_info
    ) {
        guard let path = path(request, parent, name) else { return }
        var opening: MountOpening = .creates
        if newNames.making(path) { opening.insert(.isNew) }
        if info.flags & O_TRUNC != 0 { opening.insert(.truncates) }
        if info.flags & O_EXCL != 0 { opening.insert(.isExclusive) }
        let question = MountRequest.openWriting(
            path: path, version: 0, disk: 0, opening, permissions: UInt16(truncatingIfNeeded: mode & 0o777))
        let (information, appends) = (Information(raw: info), info.flags & O_APPEND != 0)
        askForFile(question, path, for: request, within: MountDeadlines.change) { [self] result in
            var info = information.raw
            switch result {
            case .success(let (descriptor, written, entry, directory)):
                // The kernel asks for the directory's attributes behind each name that is made in it.
                nodes.withLock { nodes in
                    if let directory {
                        nodes.changed(directory: parent, at: (directory.seconds, directory.nanoseconds))
                    } else {
                        nodes.doubt(node: parent)
                    }
                }
                var parameters = parameters(entry, at: path)
                info.fh = keep(
                    OpenFile(descriptor, node: UInt64(parameters.ino), written: written, appends: appends))
                if fuse_reply_create(request.raw, &parameters, &info) == -ENOENT {
                    close(info.fh)
                    nodes.withLock { $0.forget(UInt64(parameters.ino), 1) }
                }
            case .failure(let failure):
                if failure == .selectionFull { errors.note(failure, of: parent) }
                request.fail(failure.number)
            }
        }
    }

    private typealias Opened = (
        descriptor: FileDescriptor, written: (handle: UInt64, generation: Int), MountEntry, directory: MountChange.Time?
    )

    /// From here on it is this mount's programs that change the name, until the file is closed.
    private func askForFile(
        _ question: MountRequest, _ path: String, for request: Request, within limit: Duration,
        answer: @escaping @Sendable (Result<Opened, MountFailure>) -> Void
    ) {
        guard handles.withLock({ $0.files.count < Self.handleLimit }) else { return request.fail(ENFILE) }
        NameChange(self, request, [path]).ask(question, within: limit) { [watching] result in
            switch result {
            case .success(let found):
                guard case .openedWriting(let handle, let entry, let directory) = found.answer,
                    let descriptor = found.descriptor
                else {
                    watching.ended(path, .failed)
                    return answer(.failure(.unreadable))
                }
                answer(.success((FileDescriptor(descriptor), (handle, found.generation), entry, directory)))
            case .failure(let failure): answer(.failure(failure))
            }
        }
    }

    private func keep(_ file: OpenFile) -> UInt64 {
        handles.withLock { handles in
            defer { handles.next &+= 1 }
            handles.files[handles.next] = .here(file)
            return handles.next
        }
    }

    // MARK: writing

    func write(
        _ request: Request, _ node: UInt64, _ bytes: UnsafeRawBufferPointer, _ offset: Int64, _ info: fuse_file_info
    ) {
        guard let file = openFile(node, info.fh), file.written != nil, offset >= 0 else { return request.fail(EBADF) }
        let outcome = file.write(bytes, at: offset, isPage: info.writepage != 0)
        nodes.withLock { $0.doubt(node: node) }
        switch outcome {
        case .done(let count): fuse_reply_write(request.raw, count)
        case .failed(let number): request.fail(number)
        }
    }

    func synchronize(_ request: Request, _ node: UInt64, _ key: UInt64) {
        request.fail(openFile(node, key)?.synchronize() ?? 0)
    }

    func synchronizeDirectory(_ request: Request, _ number: UInt64) {
        guard let node = nodes.withLock({ $0[number] }), !node.isDetached else { return request.fail(0) }
        NameChange(self, request).settle(.synchronize(directory: node.path)) {}
    }

    // MARK: attributes

    /// The open file that has the node, by the handle that the kernel names or by any.
    func openFile(_ number: UInt64, _ key: UInt64?) -> OpenFile? {
        handles.withLock { handles in
            if let key {
                guard case .here(let file)? = handles.files[key] else { return nil }
                return file
            }
            for case .here(let file) in handles.files.values where file.node == number { return file }
            return nil
        }
    }

    /// An open file that has the node and is written to.
    func writtenFile(_ number: UInt64) -> OpenFile? {
        handles.withLock { handles in
            for case .here(let file) in handles.files.values where file.node == number && file.written != nil {
                return file
            }
            return nil
        }
    }

    /// Whether a program has the node open that is read from other devices.
    func isOpenAbsent(_ number: UInt64) -> Bool {
        handles.withLock { handles in
            handles.files.values.contains { handle in
                if case .absent(let file) = handle { file.node == number } else { false }
            }
        }
    }

    /// Replies with what the disk says of an open file, whatever its name is by now. False if it says nothing.
    func reply(_ request: Request, of file: OpenFile, _ path: String) -> Bool {
        guard var status = file.status else { return false }
        status.st_ino = ino_t(NodeTable.inode(of: path))
        (status.st_uid, status.st_gid) = (user, group)
        status.st_mode = status.st_mode & (S_IFMT | 0o777)
        // As once it is closed, which the kernel says later than to the program: `tar` and Git take another time for a change.
        (status.st_ctim, status.st_atim) = (status.st_mtim, status.st_mtim)
        // Never less than the size, as of all files here.
        status.st_blocks = max(status.st_blocks, status.st_size / 512 + 1)
        status.st_blksize = 128 << 10
        fuse_reply_attr(request.raw, &status, Double(MountDeadlines.presentValidity.components.seconds))
        return true
    }

    func setAttributes(
        _ request: Request, _ number: UInt64, _ wanted: stat, _ which: CInt, _ key: UInt64?
    ) {
        guard let node = nodes.withLock({ $0[number] }) else { return request.fail(ESTALE) }
        func asks(_ attribute: CInt) -> Bool { which & attribute != 0 }
        if asks(FUSE_SET_ATTR_UID) && wanted.st_uid != user || asks(FUSE_SET_ATTR_GID) && wanted.st_gid != group {
            return request.fail(EPERM)
        }
        let change = MountChange(wanted, which)
        nodes.withLock { $0.doubt(node: number) }
        // Times of reading are kept by nobody.
        guard change != MountChange() else { return attributes(request, number) }
        if let size = change.size, size < 0 { return request.fail(EINVAL) }
        // For all but the size the kernel does not say by which handle: of a file without a name, by one that is written to.
        if key != nil || node.isDetached, let file = key == nil ? writtenFile(number) : openFile(number, key),
            file.written != nil
        {
            let error = file.apply(change)
            guard error == 0 else { return request.fail(error) }
            if !reply(request, of: file, node.path) { request.fail(EIO) }
            return
        }
        guard !node.isDetached else { return request.fail(ESTALE) }
        let limit = change.size == nil ? MountDeadlines.change : MountDeadlines.download
        let naming = NameChange(self, request, [node.path])
        naming.ask(.change(path: node.path, change), within: limit) { [self] result in
            guard let entry = naming.entry(result) else { return }
            nodes.withLock { $0.refresh(number, entry, now: Clock.now) }
            reply(request, node.path, entry, validity: MountDeadlines.presentValidity)
        }
    }

    // MARK: names

    /// The path of a name; nil once the request has failed.
    func path(_ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>) -> String? {
        guard let node = nodes.withLock({ $0[parent] }), !node.isDetached else {
            request.fail(ESTALE)
            return nil
        }
        guard strlen(name) <= MountLimits.nameByteCount else {
            request.fail(ENAMETOOLONG)
            return nil
        }
        // No name of a folder is anything but UTF-8.
        guard let name = String(validatingCString: name) else {
            request.fail(EILSEQ)
            return nil
        }
        let path = NodeTable.join(node.path, name)
        guard path.utf8.count <= MountLimits.pathByteCount else {
            request.fail(ENAMETOOLONG)
            return nil
        }
        return path
    }

    func makeDirectory(_ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>, _ mode: mode_t) {
        guard let path = path(request, parent, name) else { return }
        make(
            request, parent, path,
            .makeDirectory(path: path, permissions: UInt16(truncatingIfNeeded: mode & 0o777)))
    }

    func makeSymlink(
        _ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>, to target: UnsafePointer<CChar>
    ) {
        guard let path = path(request, parent, name) else { return }
        let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
        guard bytes.count <= MountLimits.targetByteCount else { return request.fail(ENAMETOOLONG) }
        make(request, parent, path, .makeSymlink(path: path, target: Array(bytes)))
    }

    private func make(_ request: Request, _ parent: UInt64, _ path: String, _ question: MountRequest) {
        newNames.making(path)
        let naming = NameChange(self, request, [path])
        naming.ask(question, within: MountDeadlines.change) { [self] result in
            guard let entry = naming.entry(result) else { return }
            nodes.withLock { $0.doubt(node: parent) }
            var parameters = parameters(entry, at: path)
            if fuse_reply_entry(request.raw, &parameters) == -ENOENT {
                nodes.withLock { $0.forget(UInt64(parameters.ino), 1) }
            }
        }
    }

    func remove(_ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>, isDirectory: Bool) {
        guard let path = path(request, parent, name) else { return }
        NameChange(self, request, [path]).settle(.remove(path: path, isDirectory: isDirectory)) { [self] in
            nodes.withLock { nodes in
                nodes.detach(path)
                nodes.doubt(node: parent)
            }
            watching.ended(path, .nobodys)
        }
    }

    func rename(
        _ request: Request, _ parent: UInt64, _ name: UnsafePointer<CChar>, _ newParent: UInt64,
        _ newName: UnsafePointer<CChar>, _ flags: UInt32
    ) {
        // RENAME_NOREPLACE of renameat2(2) is 1.
        guard flags & ~1 == 0 else { return request.fail(EINVAL) }
        guard let from = path(request, parent, name), let to = path(request, newParent, newName) else { return }
        newNames.making(to)
        let known = nodes.withLock { nodes in nodes.numbers(at: to).last.flatMap { nodes[$0]?.entry.version } }
        let question = MountRequest.rename(from: from, to: to, version: known ?? 0, keepsOther: flags & 1 != 0)
        NameChange(self, request, [from, to]).settle(question) { [self] in
            let entry = nodes.withLock { nodes in
                let entry = nodes.numbers(at: from).last.flatMap { nodes[$0]?.entry }
                nodes.rename(from, to: to)
                nodes.doubt(node: parent)
                nodes.doubt(node: newParent)
                return entry
            }
            watching.renamed(from, to: to, as: entry.map { SeenName($0) })
            // What is below a directory has other paths now.
            if entry?.kind != .file { newNames.changedEverywhere() }
        }
    }

    // MARK: extended attributes

    func setAttribute(_ request: Request, _ number: UInt64, _ name: String, _ value: UnsafeRawBufferPointer) {
        guard value.count <= MountLimits.attributeByteCount else { return request.fail(E2BIG) }
        if name == AttributeName.prefix + AttributeName.budget, number == NodeTable.root {
            return setBudget(request, value)
        }
        guard name == AttributeName.prefix + "pin" else { return request.fail(EOPNOTSUPP) }
        guard let node = nodes.withLock({ $0[number] }), !node.isDetached else { return request.fail(ESTALE) }
        NameChange(self, request).settle(.setAttribute(path: node.path, name: "pin", value: Array(value))) {}
    }
}

extension Mount {
    private func setBudget(_ request: Request, _ value: UnsafeRawBufferPointer) {
        guard let wanted = ReadBudget(parsing: value) else { return request.fail(EINVAL) }
        NameChange(self, request).settle(ReadTerms.setting(wanted)) { [self] in terms.setBudget(wanted) }
    }
}

extension MountChange {
    /// What setattr(2) wants, but for owners.
    fileprivate init(_ wanted: stat, _ which: CInt) {
        func asks(_ attribute: CInt) -> Bool { which & attribute != 0 }
        self.init()
        if asks(FUSE_SET_ATTR_SIZE) { size = Int64(wanted.st_size) }
        if asks(FUSE_SET_ATTR_MODE) { permissions = UInt16(truncatingIfNeeded: wanted.st_mode & 0o777) }
        if asks(FUSE_SET_ATTR_MTIME_NOW) {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            modified = Time(now)
        } else if asks(FUSE_SET_ATTR_MTIME) {
            modified = Time(wanted.st_mtim)
        }
    }
}

extension MountChange.Time {
    /// What no clock shows is taken for the nearest that one does.
    fileprivate init(_ time: timespec) {
        self.init(
            seconds: Int64(time.tv_sec), nanoseconds: min(UInt32(clamping: time.tv_nsec), 999_999_999))
    }
}

extension ReadBudget {
    /// Of the value of the attribute; nil for what is none.
    fileprivate init?(parsing value: UnsafeRawBufferPointer) {
        guard let limit = Self.limit(parsing: String(decoding: value, as: UTF8.self)) else { return nil }
        self.init(limit: limit)
    }
}
