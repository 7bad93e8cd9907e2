import Logging
import MessageBus

/// What of the user's desktop the agent uses, over one connection to the session bus.
package struct SessionDesktop: Sendable {
    package let notifications: Desktop
    package let tray: Tray
    private let bus: SystemBus

    /// Nil where the user has no session bus.
    ///
    /// - Parameters:
    ///   - variables: of the environment.
    ///   - escape: of a notification's body, for a service that reads markup in it.
    /// - Throws: `SystemError` when the system has no descriptors left.
    package init?(_ variables: [String: String], escape: @escaping @Sendable (String) -> String, logger: Logger) throws
    {
        guard Desktop.hasSessionBus(variables) else { return nil }
        bus = try SystemBus(.session)
        notifications = Desktop(bus, escape: escape, logger: logger)
        tray = Tray(bus, variables: variables, logger: logger)
    }

    /// Stays connected until the task is cancelled. To be called once.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await tray.run() }
            await bus.run(BusFork([notifications, tray], callee: tray))
            group.cancelAll()
        }
    }
}
