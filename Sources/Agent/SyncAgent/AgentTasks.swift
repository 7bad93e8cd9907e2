/// Work that goes on though who began it may have gone. The agent runs it until it ends by itself or the agent does.
struct AgentTasks: Sendable {
    typealias Work = @Sendable () async -> Void

    private let waiting: AsyncStream<Work>
    private let add: AsyncStream<Work>.Continuation

    init() { (waiting, add) = AsyncStream.makeStream(of: Work.self) }

    /// What is started before `run` begins with it.
    func start(_ work: @escaping Work) { add.yield(work) }

    /// Runs everything until cancelled. Called once.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await work in waiting { group.addTask { await work() } }
            group.cancelAll()
        }
    }
}
