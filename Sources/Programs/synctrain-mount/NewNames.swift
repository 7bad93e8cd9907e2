import MountProtocol
import MountRules
import Synchronization

/// Spares programs that make many names in a directory a question about each of them; see `KnownNames`.
final class NewNames: Sendable {
    private let agent: AgentLink
    private let known = Mutex(KnownNames())

    init(agent: AgentLink) { self.agent = agent }

    /// How long it holds that nobody has the name; nil if that is not known.
    func isNobodys(_ name: String, in directory: String) -> Duration? {
        known.withLock { $0.isNobodys(name, in: directory, at: Clock.now) }
    }

    /// The agent said that nobody has a name. Asks for all names of the directory, for nobody who waits, if that is worth it.
    func missed(in directory: String) {
        guard known.withLock({ $0.missed(in: directory, at: Clock.now) }) else { return }
        let question = MountRequest.list(directory: directory, after: nil, limit: UInt32(MountLimits.pageCount))
        agent.ask(question, within: MountDeadlines.metadata) { [self] result in
            guard case .success(let answer) = result, case .page(let entries, let isLast) = answer.answer else {
                return
            }
            known.withLock { $0.listed(entries.lazy.map(\.name), isAll: isLast, in: directory) }
        }
    }

    /// Called before the agent is asked to make a name: from then on somebody may have it.
    ///
    /// - Returns: whether it is known that nobody has it.
    @discardableResult
    func making(_ path: String) -> Bool {
        guard let (directory, name) = NodeTable.split(path) else { return false }
        return known.withLock { known in
            let isNobodys = known.isNobodys(name, in: directory, at: Clock.now) != nil
            known.making(name, in: directory)
            return isNobodys
        }
    }

    func changed(_ paths: [String]) {
        known.withLock { known in for path in paths { known.changed(path) } }
    }

    func changedEverywhere() { known.withLock { $0.changedEverywhere() } }
}
