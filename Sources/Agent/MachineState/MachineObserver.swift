import AgentConfiguration
import Logging
import MessageBus
import Synchronization

/// Follows what NetworkManager says of the connection, UPower of the battery and logind of sleep, on the system bus.
///
/// That the machine sleeps is said by a signal alone, and held up for those who have something to do before (sd-login's "delay" lock);
/// any other signal is only a reason to ask again, so it does not matter who sends it, nor what it missed. Nothing is asked without
/// one, but for once when the bus is there and once when a service comes. No service is started by being asked.
package final class MachineObserver: Sendable {
    private struct State {
        var isConnected = false
        /// Whether the bus was told which signals to send here.
        var isWatching = false
        var conditions = MachineConditions()
        var remarks: [String] = ["the system bus has not been queried yet"]
        /// Holds the machine's sleep up for as long as it is there.
        var hold: BusDescriptor?
        var isAsleep = false
    }

    private static let answerLimit: Duration = .seconds(5)

    private let bus: SystemBus
    private let logger: Logger
    private let state = Mutex(State())
    /// One element at most: something may be other than it was.
    private let news: AsyncStream<Void>
    private let hasNews: AsyncStream<Void>.Continuation
    /// One element at most: `conditions` or `remarks` are other than they were. For one reader.
    package let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation
    /// For one reader.
    package let sleep: AsyncStream<MachineSleep>
    private let sleeps: AsyncStream<MachineSleep>.Continuation

    /// Throws when the system has no descriptors left.
    package init(logger: Logger) throws {
        bus = try SystemBus()
        self.logger = logger
        (news, hasNews) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Nobody holds up more than the last sleep.
        (sleep, sleeps) = AsyncStream.makeStream(of: MachineSleep.self, bufferingPolicy: .bufferingNewest(2))
    }

    package var conditions: MachineConditions { state.withLock { $0.conditions } }

    /// What is not known, and why: a sentence each.
    package var remarks: [String] { state.withLock { $0.remarks } }

    /// Follows until the task is cancelled. To be called once.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.bus.run(self) }
            for await _ in news { await look() }
            group.cancelAll()
        }
    }

    // MARK: asking

    private func look() async {
        guard state.withLock({ $0.isConnected }) else {
            return note(
                MachineConditions(), ["no system bus; the state of connection and battery is unknown"])
        }
        do {
            if !state.withLock({ $0.isWatching }) {
                for rule in Names.rules {
                    _ = try await call(BusCall(Names.bus, Names.busPath, Names.bus, "AddMatch", [.string(rule)]))
                }
                state.withLock { $0.isWatching = true }
            }
        } catch {
            // A bus that is lost says so, and is watched again when it is there again.
            return note(MachineConditions(), ["the system bus does not report changes: \(error)"])
        }
        await holdSleepUp()
        var conditions = MachineConditions()
        var remarks: [String] = []
        do {
            let metered = try await property("Metered", of: Names.networkManager)
            conditions.isMetered = NetworkManagerMetered(rawValue: metered.number ?? 0)?.isMetered
        } catch {
            remarks.append(Self.remark("NetworkManager", "whether the connection is metered", error))
        }
        do {
            conditions.isOnBattery = try await property("OnBattery", of: Names.upower).flag
            if conditions.isOnBattery == true {
                conditions.charge = MachineConditions.charge(
                    percent: try await property("Percentage", of: Names.battery).real)
            }
        } catch {
            conditions.isOnBattery = nil
            remarks.append(Self.remark("UPower", "whether the machine runs on battery", error))
        }
        note(conditions, remarks)
    }

    /// Without logind nothing is held up, and a logind that does not answer is not an error.
    private func holdSleepUp() async {
        guard state.withLock({ $0.hold == nil && !$0.isAsleep }) else { return }
        let arguments = ["sleep", "synctrain", "ends the reads of programs that wait for other devices", "delay"]
        let call = BusCall(
            Names.logind.service, Names.logind.path, Names.logind.interface, "Inhibit", arguments.map { .string($0) })
        guard case .descriptor(let hold)? = try? await self.call(call).first else { return }
        state.withLock { if !$0.isAsleep { $0.hold = hold } }
    }

    private func call(_ call: BusCall) async throws -> [BusValue] {
        try await bus.call(call, timeout: Self.answerLimit)
    }

    private func property(_ name: String, of place: Names.Place) async throws -> BusValue {
        let arguments: [BusValue] = [.string(place.interface), .string(name)]
        let answer = try await call(BusCall(place.service, place.path, Names.properties, "Get", arguments))
        guard let value = answer.first else { throw BusError(.invalid, "the answer is empty") }
        return value.plain
    }

    private static func remark(_ service: String, _ what: String, _ error: any Error) -> String {
        let absent = ["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"]
        let isAbsent = absent.contains((error as? BusError)?.name ?? "")
        return isAbsent
            ? "\(service) is not running; it reports \(what)" : "\(service) does not report \(what): \(error)"
    }

    private func note(_ conditions: MachineConditions, _ remarks: [String]) {
        let isOther = state.withLock { state in
            defer { (state.conditions, state.remarks) = (conditions, remarks) }
            return state.conditions != conditions || state.remarks != remarks
        }
        guard isOther else { return }
        for remark in remarks { logger.info("policies: \(remark)") }
        changed.yield()
    }
}

extension MachineObserver: BusListener {
    package func busConnected() {
        state.withLock { ($0.isConnected, $0.isWatching) = (true, false) }
        hasNews.yield()
    }

    package func busLost(_ reason: SystemError) {
        state.withLock { ($0.isConnected, $0.isWatching) = (false, false) }
        // Nobody would say that a sleep is over. A machine that sleeps loses no connection: it has woken, or does not sleep yet.
        wake()
        hasNews.yield()
    }

    /// The machine does not sleep, as far as anybody knows.
    private func wake() {
        let wasAsleep = state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wasAsleep { sleeps.yield(.over) }
    }

    package func busSignalled(_ signal: BusNotice) {
        switch Names.isFallingAsleep(signal) {
        case true?:
            let hold = state.withLock { state in
                state.isAsleep = true
                return state.hold.take()
            }
            sleeps.yield(.begins(hold: hold))
        case false?:
            wake()
            // Until the next time.
            hasNews.yield()
        case nil: break
        }
        // Another logind does not know of a sleep that the one before began.
        if Names.isOfOwner(signal, of: Names.logind) { wake() }
        if Names.isOfInterest(signal) { hasNews.yield() }
    }

    package func busCalled(_ call: BusNotice) -> BusAnswer { .unknown(call) }
}

/// NMMetered of NetworkManager's D-Bus interface.
enum NetworkManagerMetered: Int, CaseIterable {
    case unknown = 0
    case yes
    case no
    case guessYes
    case guessNo

    var isMetered: Bool? {
        switch self {
        case .unknown: nil
        case .yes, .guessYes: true
        case .no, .guessNo: false
        }
    }
}
