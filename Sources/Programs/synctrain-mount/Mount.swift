import CFuse
import Glibc
import LocalSocket
import MountProtocol
import MountRules
import Synchronization

/// What one mount knows: the nodes, the open files and directories, the agent.
final class Mount: Sendable {
    let agent: AgentLink
    let nodes = Mutex(NodeTable())
    let newNames: NewNames
    let handles = Mutex(Handles())
    let space = Mutex(MountSpace(total: 0, free: 0))
    let errors = ReadErrors()
    let invalidation: Invalidation
    let watching = Watching()
    let scanners = Scanners()
    /// What becomes of changes that programs make; as the agent said last.
    let access = Mutex(MountAccess.writable)
    let terms = ReadTerms()
    /// Whether the file system is mounted for writing.
    let isWritable = Atomic(false)
    let (user, group) = (getuid(), getgid())

    init(socket: String, folder: String, origin: MountOrigin) {
        let invalidation = Invalidation()
        self.invalidation = invalidation
        let refresh = Mutex<(@Sendable (MountAnswer) -> Void)?>(nil)
        let link = AgentLink(socket: socket, folder: folder, origin: origin) { answer in
            refresh.withLock { $0 }?(answer)
        }
        agent = link
        newNames = NewNames(agent: link)
        refresh.withLock { $0 = { [weak self] in self?.heard($0) } }
    }

    /// What the agent says unasked.
    private func heard(_ answer: MountAnswer) {
        switch answer {
        case .welcome(let space, let access):
            self.access.withLock { $0 = access }
            self.space.withLock { $0 = space }
            // The agent forgets it with the connection.
            if let setting = terms.setting { agent.askFirst(setting) }
            // What changed while nobody was connected was not said.
            if agent.generation > 0 {
                newNames.changedEverywhere()
                invalidation.add(.everything)
                watching.changedEverywhere()
            }
        case .changed(let paths):
            nodes.withLock { nodes in for path in paths { nodes.doubt(path) } }
            newNames.changed(paths)
            invalidation.add(.paths(paths))
            watching.changed(paths)
            refreshSpace()
        case .everythingChanged:
            newNames.changedEverywhere()
            invalidation.add(.everything)
            watching.changedEverywhere()
            refreshSpace()
        case .access(let access): self.access.withLock { $0 = access }
        case .settings(let settings):
            terms.follow(settings)
            scanners.names.withLock { $0 = settings.scanners }
        case .failed(.wrongVersion): MountProgram.noteUpdate()
        default: break
        }
    }

    private func refreshSpace() {
        agent.ask(.space, within: MountDeadlines.metadata) { [self] result in
            if case .success(let answer) = result, case .space(let space) = answer.answer {
                self.space.withLock { $0 = space }
            }
        }
    }

    /// Asks the agent for a program that waits, who may be interrupted; `answer` gives the request its answer.
    ///
    /// - Parameter isRepeatable: whether it is asked again if the agent goes away before it has answered.
    func ask(
        _ question: MountRequest, for request: Request, within limit: Duration, isRepeatable: Bool = true,
        answer: @escaping @Sendable (Result<AgentLink.Answer, MountFailure>) -> Void
    ) {
        let (number, caller) = (agent.number(), request.caller)
        // Called at once if the interrupt came before. The number is all that it needs, so nothing has to be kept for it.
        fuse_req_interrupt_func(
            request.raw,
            { request, data in
                guard let request, let mount = Mount.of(request) else { return }
                mount.agent.interrupted(UInt64(UInt(bitPattern: data)))
            }, UnsafeMutableRawPointer(bitPattern: UInt(number)))
        agent.ask(question, number: number, within: limit, caller: caller, isRepeatable: isRepeatable) { result in
            request.settle()
            answer(result)
        }
    }

    static func of(_ request: fuse_req_t) -> Mount? {
        fuse_req_userdata(request).map { Unmanaged<Mount>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: what programs see

    /// The answer that names a node, and counts as a look-up of it.
    func parameters(_ entry: MountEntry, at path: String) -> fuse_entry_param {
        let number = nodes.withLock { $0.lookUp(entry, at: path, now: Clock.now) }
        var parameters = fuse_entry_param()
        parameters.ino = fuse_ino_t(number)
        parameters.attr = entry.status(at: path, user, group)
        let seconds = Double(entry.validity.components.seconds)
        (parameters.attr_timeout, parameters.entry_timeout) = (seconds, seconds)
        return parameters
    }

    /// Answers that a node cannot be opened. If nothing has its name any more, the kernel looks the name up again, once, and
    /// makes the file if it was to be made: it is ESTALE that has it do so.
    func failOpening(_ request: Request, _ path: String, _ failure: MountFailure) {
        let isGone = failure == .stale || failure == .notFound
        if isGone { invalidation.add(.paths([path])) }
        request.fail(isGone ? ESTALE : failure.number)
    }
}

extension MountFailure {
    /// What programs are told. Never EAGAIN: some take it for an empty file. EINTR only for callers that are dying.
    var number: CInt {
        switch self {
        case .notFound, .noSuchFolder: ENOENT
        case .stale: ESTALE
        case .noData: ENODATA
        case .noHolder: ENETDOWN
        case .silence: ETIMEDOUT
        case .heldByPolicy: EACCES
        case .unreadable, .noAgent, .wrongVersion: EIO
        case .notAFile: EISDIR
        case .tooMany: ENFILE
        case .cancelled: EINTR
        case .exists: EEXIST
        case .notADirectory: ENOTDIR
        case .isADirectory: EISDIR
        case .notEmpty: ENOTEMPTY
        case .absent: EXDEV
        case .readOnly: EROFS
        case .refused, .massDeletion: EPERM
        case .overBudget, .selectionFull: EDQUOT
        case .noPermission: EACCES
        case .noSpace: ENOSPC
        case .busy: EBUSY
        case .nameTooLong: ENAMETOOLONG
        case .tooLarge: EFBIG
        case .notSupported: EOPNOTSUPP
        case .invalid: EINVAL
        }
    }

    var text: String {
        switch self {
        case .noHolder: "no connected device has it"
        case .silence: "a device that has it sends nothing"
        case .heldByPolicy: "a policy keeps it off the connections that there are"
        case .noAgent: "the agent does not answer"
        case .selectionFull:
            ".stignore is full; to select the directory: synctrain select --while-space FOLDER:DIRECTORY"
        case .overBudget:
            "this program has downloaded as much within 10 minutes as the mount allows; set user.synctrain.budget of the "
                + "mount to none, or to more bytes"
        case .stale: "a newer version has taken its place"
        default: "no device sent its bytes"
        }
    }
}
