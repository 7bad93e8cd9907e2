import Arithmetic
import ControlAPI
import Phrases

/// A line on standard error that shows what the agent does while a command waits for its answer.
struct StatusProgress: Sendable {
    private let agent: any AgentControl
    private let line: ProgressLine
    private let isShown: Bool

    init(_ context: CommandContext, _ agent: any AgentControl) {
        self.agent = agent
        isShown =
            context.terminal.hasProgress(variables: context.process.variables) && !context.options.quiet
            && !context.options.json
        line = ProgressLine(errors: context.process.errors, isShown: isShown, width: context.terminal.width)
    }

    /// Shows a look at the status.
    func show(_ status: AgentStatus) throws {
        if isShown, let text = Self.text(status) { try line.show(text: text) }
    }

    func clear() throws { try line.clear() }

    /// Runs `body`, and shows what the agent does until it ends.
    func during<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        guard isShown else { return try await body() }
        let progress = self
        defer { try? line.clear() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Without a look there is no line; what is wrong with the agent, `body` says.
                _ = try? await StatusWatch(agent: progress.agent).first { status -> Bool? in
                    try progress.show(status)
                    return nil
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// What the first folder at work does, and the transfer that has most to come; nil where nothing is done. Pure.
    static func text(_ status: AgentStatus) -> String? {
        let working = status.folders.first { !$0.condition.isAtRest && !$0.condition.isFailure }
        let need = status.folders.first { !$0.need.isZero && $0.condition != .paused }
        var parts: [String] = []
        if let folder = working ?? need {
            let name = EscapedName.escape(folder.id)
            parts.append("\(name): \(Word.shown(folder.state.replacing("-", with: " ")))")
            if let progress = folder.progress { parts.append(Self.text(progress)) }
            if !folder.need.isZero { parts.append(translated("\(Quantity.need(folder.need)) to come")) }
        }
        if let transfer = status.transfers.max(by: { left($0) < left($1) }) {
            parts.append("\(Quantity.percent(transfer.bytesDone, of: transfer.bytesTotal)) %")
            if let rate = transfer.bytesPerSecond { parts.append(Quantity.rate(rate)) }
            parts.append(EscapedName.escape("\(transfer.folder):\(transfer.path)"))
        }
        return parts.isEmpty ? nil : parts.joined(separator: "  ")
    }

    private static func left(_ transfer: TransferStatus) -> Int64 {
        transfer.bytesTotal.subtractingClamped(transfer.bytesDone)
    }

    private static func text(_ progress: FolderStatus.Progress) -> String {
        let bytes = Quantity.size(progress.bytesDone)
        guard let total = progress.filesTotal else { return "\(Quantity.files(progress.filesDone)), \(bytes)" }
        return translated("\(progress.filesDone) of \(total) files, \(bytes)")
    }
}
