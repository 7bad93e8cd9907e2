import ControlAPI
import Phrases
import Synchronization

/// `synctrain` alone for as long as somebody looks: the status and the next step, drawn again in their place when they change.
struct OverviewWatch: Sendable {
    let context: CommandContext
    /// At most one look in this time.
    var pause = Duration.milliseconds(500)

    /// Shows `facts` and what comes of them until q is pressed, the input ends or the agent stops; the last state stays on the
    /// screen.
    func run(from facts: NextStep.Facts) async throws {
        let (terminal, screen) = (context.terminal, OverviewScreen(context))
        terminal.setKeys(true)
        defer {
            terminal.setKeys(false)
            screen.end()
        }
        try screen.draw(facts)
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await follow(facts, screen) }
                group.addTask { try await Self.waitForEnd(terminal) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } onCancel: {
            // What does not end in time ends with the process, and the terminal is to be as it was.
            terminal.setKeys(false)
        }
    }

    private static func waitForEnd(_ terminal: Terminal) async throws {
        let ends = Set("qQ\u{4}".utf8)
        while let key = try await terminal.nextKey() {
            if ends.contains(key) { return }
        }
    }

    private func follow(_ facts: NextStep.Facts, _ screen: OverviewScreen) async throws {
        let agent = try context.agent()
        let looks = OverviewLooks(facts, agent)
        while true {
            do {
                _ = try await StatusWatch(agent: agent, pause: pause).first { status -> Bool? in
                    try screen.draw(try await looks.facts(status))
                    return nil
                }
            } catch let error as ControlError where [.noAgent, .interrupted, .stopping].contains(error.code) {
                let facts = try await OverviewCommand.facts(context)
                guard facts.status != nil else { return try screen.add(facts) }
                // It was started again.
                try await Task.sleep(for: pause)
            }
        }
    }
}

/// What is known of the device, brought up to date with what is shown.
private actor OverviewLooks {
    /// What is selected is asked for so rarely that it takes a tenth of the time at most.
    private static let patience = 10

    private let agent: any AgentControl
    private var known: NextStep.Facts
    private var cost = Duration.zero
    private var asked = ContinuousClock.now
    /// Whether the status has changed since what is selected was asked for.
    private var isBehind = false

    init(_ facts: NextStep.Facts, _ agent: any AgentControl) { (known, self.agent) = (facts, agent) }

    func facts(_ status: AgentStatus) async throws -> NextStep.Facts {
        guard status != known.status || isBehind else { return known }
        isBehind = true
        known.pending =
            (status.pending ?? 0) > 0
            ? try await agent.call(Endpoints.pending) : PendingList(devices: [], folders: [])
        let begun = ContinuousClock.now
        if begun - asked >= cost * Self.patience {
            known.take(try await agent.call(Endpoints.ready, ReadyQuery()).folders)
            asked = .now
            cost = asked - begun
            isBehind = false
        }
        known.status = status
        return known
    }
}

/// The lines on the screen, from its top.
private final class OverviewScreen: Sendable {
    private static let top = "\u{1b}[H"
    private static let clearLine = "\u{1b}[K"
    private static let clearBelow = "\u{1b}[J"

    private let context: CommandContext
    private let shown = Mutex<[String]>([])

    init(_ context: CommandContext) { self.context = context }

    func draw(_ facts: NextStep.Facts) throws {
        let lines = try OverviewCommand.lines(facts, in: context, height: context.terminal.height().map { $0 - 1 })
        let isNew = shown.withLock { shown in
            defer { shown = lines }
            return shown != lines
        }
        guard isNew else { return }
        let text = lines.map { $0 + Self.clearLine + "\n" }.joined()
        try context.output.write(Self.top + text + Self.clearBelow + translated("Live; q or Ctrl-C ends."))
        try context.output.flush()
    }

    /// Below what is there.
    func add(_ facts: NextStep.Facts) throws {
        try context.output.write("\r" + Self.clearLine + "\n")
        for line in try OverviewCommand.lines(facts, in: context) { try context.output.print(line) }
        try context.output.flush()
    }

    /// Leaves the state, without what ends it.
    func end() {
        // If the screen is gone there is nobody to tell.
        try? context.output.write("\r" + Self.clearLine)
        try? context.output.flush()
    }
}
