import MountProtocol

/// The one call that the process which calls for watchers is to make now; see docs/decisions/mount.md, "Programs that watch a
/// directory". Whatever else it asks to have changed is refused: nothing that this process calls for may become real. Pure.
package struct ExpectedCall: Equatable, Sendable {
    package enum Call: Equatable, Sendable {
        /// The kernel looks for the name, on the way of a call or because of it.
        case look
        case make(MountEntry.Kind)
        case remove(isDirectory: Bool)
        /// The time of change alone.
        case setTime
        /// All that changes anything otherwise.
        case other
    }

    package enum Verdict: Equatable, Sendable {
        /// Answered as to any program.
        case ordinary
        /// Answered that nobody has the name, for no time.
        case nobodys
        /// Answered with what the name was, for no time.
        case former(SeenName)
        /// Answered as done if it is still true by then, with nothing done.
        case pretend
        case refused
    }

    package let path: String
    package let change: WatchedChange
    private var isMade = false

    /// - Parameter path: of the name, relative to the folder's root.
    package init(path: String, change: WatchedChange) { (self.path, self.change) = (path, change) }

    /// What becomes of a call at `path`. Each call is expected once.
    package mutating func verdict(on call: Call, at path: String) -> Verdict {
        let isMeant = !isMade && self.path.utf8.elementsEqual(path.utf8)
        switch (call, change) {
        case (.look, .made) where isMeant: return .nobodys
        case (.look, .removed(let former)) where isMeant: return .former(former)
        case (.look, _): return .ordinary
        case (.make(let kind), .made(let expected)) where isMeant && kind == expected: break
        case (.remove(let isDirectory), .removed(let former))
        where isMeant && isDirectory == (former.kind == .directory): break
        case (.setTime, .changed) where isMeant: break
        default: return .refused
        }
        isMade = true
        return .pretend
    }

    /// Where no call is expected.
    package static func verdict(unexpected call: Call) -> Verdict { call == .look ? .ordinary : .refused }

    /// Whether a call that was expected may be answered as done: the world may be otherwise by then.
    ///
    /// - Parameter now: what has the name when it is answered; nil for nothing.
    package func isTrue(now: MountEntry.Kind?) -> Bool {
        switch change {
        case .made(let kind): now == kind
        case .removed(let former): now != former.kind
        case .changed: now != nil
        }
    }
}
