import Glibc
import Logging
import MessageBus
import Synchronization

/// A tray icon where the user's desktop shows such: it is announced to `org.kde.StatusNotifierWatcher` on the session bus.
///
/// Where there is none nothing is announced, and only the bus wakes this. A watcher that comes back is told again.
package final class Tray: Sendable {
    private struct State {
        var objects: TrayObjects?
        var hasWatcher = false
        /// Since the connection was made the bus has said whether there is a watcher.
        var hasHeard = false
        /// How often the watcher came or went: what was told to an earlier one is void.
        var watchers = 0
        /// The watcher that was told, by `watchers`; nil if none was.
        var told: Int?
        /// A signal could not be sent: what shows the icon may have missed something.
        var isBehind = false
    }

    private static let watcher = "org.kde.StatusNotifierWatcher"
    private static let watcherPath = "/StatusNotifierWatcher"
    private static let answerLimit: Duration = .seconds(10)
    /// RequestName: fail instead of waiting in a queue.
    private static let doNotQueue: UInt32 = 4

    private let bus: SystemBus
    private let themed: Set<TrayLook.Mark>
    private let logger: Logger
    private let name = "org.kde.StatusNotifierItem-\(getpid())-1"
    private let state = Mutex(State())
    /// The words of what was clicked. Of many at once the last ones count.
    package let clicks: AsyncStream<String>
    private let clicked: AsyncStream<String>.Continuation
    /// Something about `isAsked` may be other than before.
    package let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation
    private let connections: AsyncStream<Void>
    private let connected: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - bus: the session bus; who runs it has this hear.
    ///   - variables: of the environment, which say where icon themes are.
    package init(_ bus: SystemBus, variables: [String: String], logger: Logger) {
        self.bus = bus
        self.logger = logger
        themed = Self.themed(variables)
        (clicks, clicked) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(4))
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (connections, connected) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether a desktop shows tray icons now.
    package var isAsked: Bool { state.withLock { $0.hasWatcher } }

    /// Finds out, after each connection to the bus, whether there is a watcher. Until the task is cancelled; to be called once.
    package func run() async {
        for await _ in connections {
            // A bus that cannot say has no watcher that could be told; one that comes is announced.
            let answer = try? await bus.call(
                BusCall(Names.bus, Names.busPath, Names.bus, "NameHasOwner", [.string(Self.watcher)]),
                timeout: Self.answerLimit)
            let isThere = answer?.first?.flag ?? false
            state.withLock { state in
                // What the bus said meanwhile is newer.
                if !state.hasHeard { state.hasWatcher = isThere }
            }
            changed.yield()
        }
    }

    /// Shows an icon, or what it shows now. Not to be called again before it returned.
    package func show(_ look: TrayLook) async {
        let (signals, watcher) = state.withLock { state -> ([BusSignal], Int?) in
            guard state.hasWatcher else { return ([], nil) }
            guard state.told == state.watchers, !state.isBehind, state.objects != nil else {
                state.objects = TrayObjects(look: look, themed: themed)
                return ([], state.watchers)
            }
            return (state.objects?.show(look) ?? [], nil)
        }
        if let watcher { return await announce(to: watcher) }
        let isComplete = signals.reduce(true) { bus.emit($1) && $0 }
        if !isComplete { state.withLock { $0.isBehind = true } }
    }

    /// Takes the icon away.
    package func hide() async {
        let wasShown = state.withLock { state in
            defer { (state.objects, state.told) = (nil, nil) }
            return state.objects != nil
        }
        // It fails where the connection is gone, and the name with it.
        if wasShown { _ = try? await call("ReleaseName", [.string(name)]) }
    }

    /// A watcher follows the name, so that the icon goes with it.
    private func announce(to watcher: Int) async {
        do {
            _ = try await call("RequestName", [.string(name), .uint32(Self.doNotQueue)])
            _ = try await bus.call(
                BusCall(
                    Self.watcher, Self.watcherPath, Self.watcher, "RegisterStatusNotifierItem", [.string(name)]),
                timeout: Self.answerLimit)
            state.withLock { state in
                state.told = watcher
                state.isBehind = false
            }
        } catch {
            // It went while it was told, or has no room. Told again when something changes.
            logger.debug("the tray icon is not shown: \(error)")
        }
    }

    private func call(_ member: String, _ arguments: [BusValue]) async throws -> [BusValue] {
        try await bus.call(
            BusCall(Names.bus, Names.busPath, Names.bus, member, arguments), timeout: Self.answerLimit)
    }

    /// The pictures that are in the icon theme, below the directories of `XDG_DATA_HOME` and `XDG_DATA_DIRS` (XDG Base Directory
    /// Specification).
    static func themed(_ variables: [String: String]) -> Set<TrayLook.Mark> {
        func value(_ name: String, _ fallback: String) -> String {
            variables[name].flatMap { $0.isEmpty ? nil : $0 } ?? fallback
        }
        let home = value("XDG_DATA_HOME", (variables["HOME"] ?? "") + "/.local/share")
        let directories =
            [home] + value("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
        return Set(
            TrayLook.Mark.allCases.filter { mark in
                directories.contains {
                    $0.hasPrefix("/") && access("\($0)/icons/hicolor/scalable/apps/\(mark.iconName).svg", R_OK) == 0
                }
            })
    }
}

extension Tray: BusListener {
    package func busConnected() {
        state.withLock { state in
            state.hasHeard = false
            state.watchers += 1
        }
        let rule =
            "type='signal',sender='\(Names.bus)',path='\(Names.busPath)',interface='\(Names.bus)',"
            + "member='NameOwnerChanged',arg0='\(Self.watcher)'"
        bus.post(BusCall(Names.bus, Names.busPath, Names.bus, "AddMatch", [.string(rule)]))
        connected.yield()
    }

    package func busLost(_ reason: SystemError) {
        state.withLock { $0.hasWatcher = false }
        changed.yield()
    }

    package func busSignalled(_ signal: BusNotice) {
        guard signal.sender == Names.bus, signal.member == "NameOwnerChanged", signal.arguments.count == 3,
            signal.arguments[0].text == Self.watcher
        else { return }
        let isThere = signal.arguments[2].text?.isEmpty == false
        state.withLock { state in
            state.hasWatcher = isThere
            state.hasHeard = true
            state.watchers += 1
        }
        changed.yield()
    }

    package func busCalled(_ call: BusNotice) -> BusAnswer {
        guard let objects = state.withLock({ $0.objects }) else {
            return .error(name: BusErrorName.unknownObject, message: "no object is here now")
        }
        let (answer, click) = objects.answer(call)
        if let click { clicked.yield(click) }
        return answer
    }
}
