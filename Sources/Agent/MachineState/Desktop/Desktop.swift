import Glibc
import Logging
import MessageBus
import Synchronization

/// The user's desktop, as far as it shows notifications: `org.freedesktop.Notifications` on the session bus (Desktop
/// Notifications Specification 1.2).
package final class Desktop: Sendable {
    /// What is shown: texts without markup.
    package struct Message: Equatable, Sendable {
        /// A newer message takes the place of an older one with the same word.
        package var place: String
        package var summary: String
        package var body: String
        /// It stays until somebody has seen it.
        package var isUrgent: Bool
        /// What a click does, for a service that shows a word for it; nil where a click does nothing.
        package var action: String?

        package init(place: String, summary: String, body: String, isUrgent: Bool, action: String? = nil) {
            self.place = place
            self.summary = summary
            self.body = body
            self.isUrgent = isUrgent
            self.action = action
        }
    }

    private struct State {
        /// What the service answered when it was last shown something, by place.
        var shown: [String: UInt32] = [:]
        /// Why nothing is shown, as it was logged.
        var obstacle: String?
    }

    /// What a click on the notification itself is called.
    private static let click = "default"
    private static let service = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let answerLimit: Duration = .seconds(10)

    private let bus: SystemBus
    private let logger: Logger
    private let escape: @Sendable (String) -> String
    private let state = Mutex(State())
    /// The places of messages that were clicked. Of many clicks at once the last one counts.
    package let clicks: AsyncStream<String>
    private let clicked: AsyncStream<String>.Continuation

    /// Whether the user has a session bus: on a machine without a desktop there may be none.
    ///
    /// - Parameter variables: of the environment.
    package static func hasSessionBus(_ variables: [String: String]) -> Bool {
        if let address = variables["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return true }
        guard let directory = variables["XDG_RUNTIME_DIR"], !directory.isEmpty else { return false }
        return access(directory + "/bus", F_OK) == 0
    }

    /// - Parameters:
    ///   - bus: the session bus; who runs it has this hear.
    ///   - escape: of a body, for a service that reads markup in it.
    package init(_ bus: SystemBus, escape: @escaping @Sendable (String) -> String, logger: Logger) {
        self.bus = bus
        self.escape = escape
        self.logger = logger
        (clicks, clicked) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Shows a message, in place of the one that was shown at the same place. One that cannot be shown is dropped; why is logged once.
    package func show(_ message: Message) async {
        do {
            let capabilities = try await call("GetCapabilities").first?.texts ?? []
            let body = capabilities.contains("body-markup") ? escape(message.body) : message.body
            let action = capabilities.contains("actions") ? message.action : nil
            let before = state.withLock { $0.shown[message.place] ?? 0 }
            let answer = try await call(
                "Notify",
                [
                    .string("synctrain"), .uint32(before), .string("folder-remote"), .string(message.summary),
                    .string(body), .strings(action.map { [Self.click, $0] } ?? []),
                    .properties([
                        "urgency": .byte(message.isUrgent ? 2 : 1), "desktop-entry": .string("synctrain"),
                        "category": .string("transfer"),
                    ]), .int32(message.isUrgent ? 0 : -1),
                ])
            let number = answer.first?.number.flatMap { UInt32(exactly: $0) }
            state.withLock { state in
                state.shown[message.place] = number
                state.obstacle = nil
            }
        } catch is CancellationError {
        } catch {
            note("notifications cannot be shown: \(error)")
        }
    }

    private func call(_ member: String, _ arguments: [BusValue] = []) async throws -> [BusValue] {
        var call = BusCall(Self.service, Self.path, Self.service, member, arguments)
        call.startsService = true
        return try await bus.call(call, timeout: Self.answerLimit)
    }

    private func note(_ obstacle: String) {
        let isNew = state.withLock { state in
            defer { state.obstacle = obstacle }
            return state.obstacle != obstacle
        }
        if isNew { logger.info("\(obstacle)") }
    }
}

extension Desktop: BusListener {
    /// The numbers are of the service that was there before.
    package func busConnected() {
        state.withLock { $0.shown = [:] }
        let rule = "type='signal',interface='\(Self.service)',path='\(Self.path)',member='ActionInvoked'"
        bus.post(BusCall(Names.bus, Names.busPath, Names.bus, "AddMatch", [.string(rule)]))
    }

    package func busLost(_ reason: SystemError) { note("the session bus is not there: \(reason)") }

    package func busSignalled(_ signal: BusNotice) {
        guard signal.interface == Self.service, signal.path == Self.path, signal.member == "ActionInvoked",
            signal.arguments.count == 2, signal.arguments[1].text == Self.click,
            let number = signal.arguments[0].number.flatMap({ UInt32(exactly: $0) }), number != 0,
            let place = state.withLock({ state in state.shown.first { $0.value == number }?.key })
        else { return }
        clicked.yield(place)
    }

    package func busCalled(_ call: BusNotice) -> BusAnswer { .unknown(call) }
}
