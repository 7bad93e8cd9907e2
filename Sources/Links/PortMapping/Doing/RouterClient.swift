import NIOCore
import Transport

/// Performs what a `MappingMachine` decides: one router, one port.
struct RouterClient: Sendable {
    /// More events than that do not wait: datagrams beyond it are lost, as any may be.
    static let inboxLimit = 64

    let gateway: Gateway
    let port: ListenedPort
    private let group: any EventLoopGroup
    private let http: GatewayHTTP
    private let clock: any Clock<Duration>
    private let inbox: AsyncStream<MappingMachine.Event>
    private let post: AsyncStream<MappingMachine.Event>.Continuation
    /// What must not get lost: the end, a restart, and that a request is over.
    private let orders: AsyncStream<MappingMachine.Event>.Continuation
    private let ordered: AsyncStream<MappingMachine.Event>

    init(
        gateway: Gateway, port: ListenedPort, group: any EventLoopGroup, http: @escaping GatewayHTTP,
        clock: any Clock<Duration>
    ) {
        self.gateway = gateway
        self.port = port
        self.group = group
        self.http = http
        self.clock = clock
        (inbox, post) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.inboxLimit))
        (ordered, orders) = AsyncStream.makeStream()
    }

    /// Gives the machine an event that comes from the network.
    func deliver(_ event: MappingMachine.Event) { post.yield(event) }

    /// Gives the machine `begin`, `end` or `gone`.
    func order(_ event: MappingMachine.Event) { orders.yield(event) }

    /// Runs until the machine has ended, or the task is cancelled (nothing is deleted then).
    /// - Parameter report: called with each new report.
    func run(_ machine: MappingMachine, report: @escaping @Sendable (RouterReport) async -> Void) async {
        let sockets: GatewaySockets?
        var machine = machine
        do throws(PortMappingError) {
            sockets = try await GatewaySockets.open(for: gateway, on: group) { deliver($0) }
        } catch {
            // The next change of networks makes another one.
            await report(
                RouterReport(
                    gateway: gateway, port: port, outcome: .failed([.init(method: .natPMP, error: error)])))
            sockets = nil
        }
        guard let sockets else { return }
        defer { sockets.close() }
        await withTaskGroup(of: MappingMachine.Event?.self) { group in
            let timer = Timer(clock: clock)
            // One reader of each stream, one sleep and the one HTTP request under way.
            let network = EventReader(inbox)
            let owner = EventReader(ordered)
            group.addTask { await network.next() }
            group.addTask { await owner.next() }
            var sleepers: [Duration] = []
            var last: RouterReport?
            var event: MappingMachine.Event? = .begin
            while !Task.isCancelled {
                if let happened = event {
                    for action in machine.handle(happened, at: timer.now) {
                        perform(action, sockets: sockets, in: &group)
                    }
                }
                if machine.hasEnded { break }
                if machine.report != last {
                    last = machine.report
                    await report(machine.report)
                }
                if let deadline = machine.deadline, !sleepers.contains(where: { $0 <= deadline }) {
                    sleepers.append(deadline)
                    group.addTask {
                        await timer.sleep(until: deadline)
                        return .wake
                    }
                }
                guard let result = await group.next() else { break }
                event = result
                switch result {
                case .wake:
                    let now = timer.now
                    sleepers.removeAll { $0 <= now }
                case .begin, .end, .gone: group.addTask { await owner.next() }
                case .answer: break
                case .datagram, .refused, .announcement, .found: group.addTask { await network.next() }
                case nil: break
                }
            }
            group.cancelAll()
        }
    }

    private func perform(
        _ action: MappingMachine.Action, sockets: GatewaySockets, in group: inout TaskGroup<MappingMachine.Event?>
    ) {
        switch action {
        case .toGateway(let bytes): sockets.sendToRouter(bytes)
        case .search(let bytes): sockets.sendToGroup(bytes)
        case .request(let number, let request):
            let http = http
            group.addTask { .answer(number, await Self.exchange(request, http)) }
        }
    }

    private static func exchange(
        _ request: GatewayHTTPRequest, _ http: GatewayHTTP
    ) async -> Result<GatewayHTTPAnswer, PortMappingError> {
        do {
            let answer = try await http(request)
            guard answer.body.count <= request.maximumBodyByteCount else {
                throw PortMappingError(
                    .tooLarge, "its answer is longer than \(request.maximumBodyByteCount) bytes")
            }
            return .success(answer)
        } catch let error as PortMappingError {
            return .failure(error)
        } catch {
            return .failure(PortMappingError(.exchangeFailed, "the request to \(request.url) failed: \(error)"))
        }
    }
}

/// Time since it was made, by any clock.
private struct Timer: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let wait: @Sendable (Duration) async -> Void

    init(clock: some Clock<Duration>) {
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        // It only ends early when the task is cancelled.
        wait = { try? await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    var now: Duration { elapsed() }

    func sleep(until deadline: Duration) async { await wait(deadline) }
}

/// Takes one event after the other from a stream; one caller at a time.
private actor EventReader {
    private let stream: AsyncStream<MappingMachine.Event>

    init(_ stream: AsyncStream<MappingMachine.Event>) { self.stream = stream }

    func next() async -> MappingMachine.Event? {
        for await event in stream { return event }
        return nil
    }
}
