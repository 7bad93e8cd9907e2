import ControlAPI

/// What the agent and the user say while a command runs.
enum Utterance<Notice: Sendable>: Sendable {
    case notice(Notice)
    /// What the user has typed.
    case line(String)
    /// The user types nothing any more.
    case inputEnded
}

extension Utterance: Equatable where Notice: Equatable {}

/// A request to the agent during which it tells of one thing after the other, and the user may answer.
struct Conversation<Notice: Encodable & Sendable> {
    typealias Emit = @Sendable (Notice) async throws -> Void

    /// What follows from something that was said.
    enum Consequence {
        case goOn
        /// Nothing more is heard, and the request is given up: the user knows enough.
        case end
        /// The command will fail so, when the agent has said everything.
        case willFail(ControlError)
        case fail(ControlError)
    }

    let context: CommandContext
    let readsInput: Bool

    private enum Incoming: Sendable {
        case said(Utterance<Notice>)
        /// The agent has said everything.
        case over((any Error)?)
    }

    /// Hands what is said to `hear`, in its order, until the agent has said everything; with `--json` notices are printed
    /// as they come. Throws what the request or `hear` ends with.
    func run(
        _ request: @escaping @Sendable (Emit) async throws -> Void,
        hear: (Utterance<Notice>) async throws -> Consequence
    ) async throws {
        let (incoming, feed) = AsyncStream.makeStream(of: Incoming.self, bufferingPolicy: .bufferingOldest(1000))
        let context = context
        var ending: (any Error)?
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await request { notice in
                        if context.options.json {
                            try context.output.print(bytes: try ControlJSON.encode(notice))
                            try context.output.flush()
                        }
                        feed.yield(.said(.notice(notice)))
                    }
                    feed.yield(.over(nil))
                } catch {
                    feed.yield(.over(error))
                }
                feed.finish()
            }
            if readsInput {
                group.addTask {
                    // Input that cannot be read is input that has ended.
                    while let line = try? await context.terminal.nextLine() { feed.yield(.said(.line(line))) }
                    if !Task.isCancelled { feed.yield(.said(.inputEnded)) }
                }
            }
            defer { group.cancelAll() }
            for await incoming in incoming {
                switch incoming {
                case .over(let error): ending = ending ?? error
                case .said(let utterance):
                    switch try await hear(utterance) {
                    case .goOn: break
                    case .end: return
                    case .willFail(let error): ending = error
                    case .fail(let error):
                        ending = error
                        return
                    }
                }
            }
        }
        try Task.checkCancellation()
        if let ending { throw ending }
    }
}
