import Glibc
import MountProtocol
import MountRules

/// A change that a program of this mount has asked for. `Mount.watching` is told when it begins, and when it fails: nobody else is to tell
/// those who watch of what the kernel has told them.
struct NameChange: Sendable {
    private let mount: Mount
    private let request: Request
    private let paths: [String]

    /// - Parameter paths: names that it changes.
    init(_ mount: Mount, _ request: Request, _ paths: [String] = []) {
        (self.mount, self.request, self.paths) = (mount, request, paths)
    }

    /// Asks the agent. Where that succeeds, the caller tells `watching` the end.
    func ask(
        _ question: MountRequest, within limit: Duration,
        answer: @escaping @Sendable (Result<AgentLink.Answer, MountFailure>) -> Void
    ) {
        for path in paths { mount.watching.began(path) }
        mount.ask(question, for: request, within: limit, isRepeatable: false) { result in
            if case .failure = result { for path in paths { mount.watching.ended(path, .failed) } }
            answer(result)
        }
    }

    /// What the change has made of its name; nil once the request has failed.
    func entry(_ result: Result<AgentLink.Answer, MountFailure>) -> MountEntry? {
        switch result {
        case .success(let answer):
            guard case .entry(let entry) = answer.answer else {
                for path in paths { mount.watching.ended(path, .failed) }
                request.fail(EIO)
                return nil
            }
            for path in paths { mount.watching.ended(path, .seen(SeenName(entry))) }
            return entry
        case .failure(let failure):
            request.fail(failure.number)
            return nil
        }
    }

    /// Asks for something that is answered by its being done; `done` is called before the program hears of it.
    func settle(_ question: MountRequest, done: @escaping @Sendable () -> Void) {
        ask(question, within: MountDeadlines.change) { result in
            switch result {
            case .success:
                done()
                request.fail(0)
            case .failure(let failure): request.fail(failure.number)
            }
        }
    }
}
