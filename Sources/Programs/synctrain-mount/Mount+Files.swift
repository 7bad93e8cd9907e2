import CFuse
import Glibc
import MountProtocol
import MountRules

/// Opening and reading files.
extension Mount {
    static let handleLimit = 1024

    func open(_ request: Request, _ number: UInt64, _ info: fuse_file_info) {
        guard let node = nodes.withLock({ $0[number] }) else { return request.fail(ESTALE) }
        guard info.flags & O_ACCMODE == O_RDONLY, info.flags & O_TRUNC == 0 else {
            return openWriting(request, number, node, info)
        }
        guard handles.withLock({ $0.files.count < Self.handleLimit }) else { return request.fail(ENFILE) }
        let caller = MountCaller(
            group: Caller.group(of: request.caller), thread: UInt32(clamping: max(0, request.caller)))
        let question = MountRequest.open(
            path: node.path, version: node.entry.version, disk: node.entry.disk,
            onlyHere: scanners.areCalling(request.caller, opening: number), caller)
        let info = Information(raw: info)
        ask(question, for: request, within: MountDeadlines.metadata) { [self] result in
            var info = info.raw
            let handle: Handles.File
            switch result {
            case .success(let answer):
                switch (answer.answer, answer.descriptor) {
                case (.opened, let descriptor?):
                    let file = OpenFile(FileDescriptor(descriptor), node: number)
                    if invalidation.areKept(file) { info.keep_cache = 1 }
                    handle = .here(invalidation.opened(file, as: node.entry, self))
                case (.openedAbsent(let remote), _):
                    // The bytes of a node never change. Those of a file on this disk may, before its time does.
                    info.keep_cache = 1
                    handle = .absent(
                        AbsentFile(
                            node: number, path: node.path, version: node.entry.version, handle: remote,
                            generation: answer.generation, caller: caller))
                default: return request.fail(EIO)
                }
            // The file manager looks for the agent's thumbnail as soon as this program has failed.
            case .failure(.noData) where Caller.isThumbnailer(request.caller):
                let wish = MountRequest.thumbnail(path: node.path, version: node.entry.version)
                return ask(wish, for: request, within: MountDeadlines.metadata) { _ in request.fail(ENODATA) }
            case .failure(let failure): return failOpening(request, node.path, failure)
            }
            errors.clear(number)
            let key = handles.withLock { handles in
                defer { handles.next &+= 1 }
                handles.files[handles.next] = handle
                return handles.next
            }
            info.fh = key
            // The caller has gone: no release follows.
            if fuse_reply_open(request.raw, &info) == -ENOENT { close(key) }
        }
    }

    func close(_ key: UInt64) {
        let (handle, generation): (UInt64, Int)
        switch handles.withLock({ $0.files.removeValue(forKey: key) }) {
        case .absent(let file): (handle, generation) = file.place.withLock { $0 }
        case .here(let file):
            guard let written = file.written else { return }
            watching.closed(file, nodes.withLock { $0[file.node] })
            (handle, generation) = written
        case nil: return
        }
        if generation == agent.generation { agent.tell(.close(handle: handle)) }
    }

    func read(_ request: Request, _ node: UInt64, _ key: UInt64, offset: Int64, count: Int) {
        guard let handle = handles.withLock({ $0.files[key] }), offset >= 0 else { return request.fail(EBADF) }
        switch handle {
        case .here(let file):
            let size = min(max(count, 0), MountLimits.readByteCount)
            withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
                switch file.read(into: buffer, at: offset) {
                case .done(let count):
                    fuse_reply_buf(request.raw, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count)
                case .failed(let number): request.fail(number)
                }
            }
        case .absent(let file):
            read(
                request, file, offset: UInt64(offset), count: UInt32(clamping: min(count, MountLimits.readByteCount)),
                until: Clock.now + terms.limit)
        }
    }

    private func read(
        _ request: Request, _ file: AbsentFile, offset: UInt64, count: UInt32, until end: Duration
    ) {
        let (handle, generation) = file.place.withLock { $0 }
        // Handles end with the connection that they are of.
        guard generation == agent.generation else {
            return reopen(request, file, until: end) { [self] in
                read(request, file, offset: offset, count: count, until: end)
            }
        }
        let question = MountRequest.read(handle: handle, offset: offset, count: count)
        ask(question, for: request, within: max(end - Clock.now, .zero)) { [self] result in
            switch result {
            case .success(let answer):
                guard case .bytes(let bytes) = answer.answer else { return request.fail(EIO) }
                request.reply(bytes)
            case .failure(.stale) where generation != agent.generation && end > Clock.now:
                read(request, file, offset: offset, count: count, until: end)
            case .failure(let failure):
                errors.note(failure, of: file.node)
                request.fail(failure == .stale ? EIO : failure.number)
            }
        }
    }

    /// Opens the file again by an agent that has come back.
    private func reopen(
        _ request: Request, _ file: AbsentFile, until end: Duration, then: @escaping @Sendable () -> Void
    ) {
        let question = MountRequest.open(
            path: file.path, version: file.version, disk: 0, onlyHere: false, file.caller)
        ask(question, for: request, within: max(end - Clock.now, .zero)) { [self] result in
            switch result {
            case .success(let answer):
                if let descriptor = answer.descriptor { Glibc.close(descriptor) }
                guard case .openedAbsent(let handle) = answer.answer else {
                    // It is on this disk now: the next `open` reads it from there.
                    errors.note(.stale, of: file.node)
                    return request.fail(EIO)
                }
                file.place.withLock { $0 = (handle, answer.generation) }
                then()
            case .failure(let failure):
                errors.note(failure, of: file.node)
                request.fail(failure == .stale ? EIO : failure.number)
            }
        }
    }
}
