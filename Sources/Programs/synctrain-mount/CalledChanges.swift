import CFuse
import Glibc
import MountProtocol
import MountRules

/// Answers to the process that calls for programs which watch: as if what it asks for had been done. Nothing of it reaches the agent but
/// the question what a name is.
struct CalledChanges {
    let mount: Mount

    /// Answers a request for a change of a name if it is of that process; false for all other callers.
    func answers(
        _ request: Request, _ call: ExpectedCall.Call, _ parent: UInt64, _ name: UnsafePointer<CChar>
    ) -> Bool {
        guard mount.watching.isCalling(request.caller) else { return false }
        guard let path = mount.path(request, parent, name) else { return true }
        guard mount.watching.verdict(on: call, at: path) == .pretend else {
            request.fail(EPERM)
            return true
        }
        mount.ask(.look(path: path), for: request, within: MountDeadlines.metadata) { result in
            let entry: MountEntry?
            switch result {
            case .success(let answer):
                guard case .entry(let found) = answer.answer else { return request.fail(EIO) }
                entry = found
            case .failure(.notFound): entry = nil
            case .failure: return request.fail(EIO)
            }
            // It may be otherwise by now.
            guard mount.watching.isTrue(path, now: entry?.kind) else { return request.fail(EIO) }
            mount.nodes.withLock { $0.doubt(node: parent) }
            switch (call, entry) {
            case (.make, let entry?): pretendMade(request, entry, at: path)
            case (.remove(let isDirectory), _):
                mount.nodes.withLock { $0.detach(path, directories: isDirectory) }
                request.fail(0)
            default: request.fail(EIO)
            }
        }
        return true
    }

    private func pretendMade(_ request: Request, _ entry: MountEntry, at path: String) {
        var parameters = mount.parameters(entry, at: path)
        if fuse_reply_entry(request.raw, &parameters) == -ENOENT {
            mount.nodes.withLock { $0.forget(UInt64(parameters.ino), 1) }
        }
    }

    /// The same for attributes: that process sets the time of change alone, and is told the attributes as they are.
    func answers(_ request: Request, settingOf number: UInt64, _ which: CInt) -> Bool {
        guard mount.watching.isCalling(request.caller) else { return false }
        let times = FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_CTIME
        let call: ExpectedCall.Call = which & ~times == 0 && which & FUSE_SET_ATTR_MTIME != 0 ? .setTime : .other
        guard let node = mount.nodes.withLock({ $0[number] }), !node.isDetached,
            mount.watching.verdict(on: call, at: node.path) == .pretend
        else {
            request.fail(EPERM)
            return true
        }
        mount.attributes(request, number)
        return true
    }

    /// The same for all that is never called for.
    func refuses(_ request: Request) -> Bool {
        guard mount.watching.isCalling(request.caller) else { return false }
        request.fail(EPERM)
        return true
    }

    /// Answers what the kernel looks up because of a call; false for what all callers are told.
    func answersLook(_ request: Request, _ path: String) -> Bool {
        guard mount.watching.isCalling(request.caller) else { return false }
        switch mount.watching.verdict(on: .look, at: path) {
        case .nobodys: request.replyNobodys(for: .zero)
        case .former(let former):
            let entry = former.entry(named: NodeTable.split(path)?.name ?? path)
            let number = mount.nodes.withLock { $0.lookUpFormer(entry, at: path) }
            var parameters = fuse_entry_param()
            parameters.ino = fuse_ino_t(number)
            parameters.attr = entry.status(at: path, mount.user, mount.group)
            if fuse_reply_entry(request.raw, &parameters) == -ENOENT { mount.nodes.withLock { $0.forget(number, 1) } }
        case .ordinary, .pretend, .refused: return false
        }
        return true
    }
}
