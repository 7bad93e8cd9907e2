import MessageBus
import Synchronization

/// What is known of bluetoothd, kept up to date by the bus's thread, and waited on by tasks.
final class BlueZClient: BusListener {
    private struct Waiter {
        /// What resumes its task, if these facts are what it waits for. To be called without the lock: who cancels the task
        /// holds a lock of the runtime that is taken then, and waits for this one.
        var ready: @Sendable (BluetoothFacts) -> (@Sendable () -> Void)?
        var cancel: @Sendable () -> Void
    }

    private struct Shared {
        var facts: BluetoothFacts
        /// At most one for each task that dials or scans.
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// Where the values of a characteristic go, by its path: at most one for each link of this side.
        var values: [String: PacketInbox] = [:]

        /// Takes those who need not wait any more, each to be called.
        mutating func takeReady() -> [@Sendable () -> Void] {
            var ready: [@Sendable () -> Void] = []
            for (number, waiter) in waiters {
                guard let resume = waiter.ready(facts) else { continue }
                waiters[number] = nil
                ready.append(resume)
            }
            return ready
        }
    }

    let bus: SystemBus
    /// One element at most: something has changed.
    let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation
    private let shared: Mutex<Shared>
    private let start = ContinuousClock.now
    /// Answers what bluetoothd calls.
    private let answer: @Sendable (BlueZClient, BusNotice) -> BusAnswer
    /// Hears the path of each device that disconnects; nil: all of them have.
    private let disconnected: @Sendable (String?) -> Void

    init(
        bus: SystemBus, adapter: String?, answer: @escaping @Sendable (BlueZClient, BusNotice) -> BusAnswer,
        disconnected: @escaping @Sendable (String?) -> Void
    ) {
        self.bus = bus
        self.answer = answer
        self.disconnected = disconnected
        (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        shared = Mutex(Shared(facts: BluetoothFacts(wantedAdapter: adapter)))
    }

    var facts: BluetoothFacts { shared.withLock { $0.facts } }

    /// Time since this was made, the clock of `ObjectTree`.
    var now: Duration { ContinuousClock.now - start }

    /// Changes the facts, and lets those know that wait for them.
    func update(_ change: (inout BluetoothFacts) -> Void) {
        let ready = shared.withLock { shared in
            change(&shared.facts)
            return shared.takeReady()
        }
        for resume in ready { resume() }
        changed.yield()
    }

    /// Has the service loop look again.
    func remind() { changed.yield() }

    // MARK: waiting

    /// The first value that `find` gives, now or later; nil when `limit` is over before. Throws on cancellation.
    func value<Value: Sendable>(
        within limit: Duration, _ find: @escaping @Sendable (BluetoothFacts) -> Value?
    ) async throws -> Value? {
        let value = await withTaskGroup(of: Value?.self) { group in
            group.addTask { await self.value(find) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        try Task.checkCancellation()
        return value
    }

    /// The first value that `find` gives; nil on cancellation.
    private func value<Value: Sendable>(_ find: @escaping @Sendable (BluetoothFacts) -> Value?) async -> Value? {
        let number = shared.withLock { shared in
            shared.lastWaiter += 1
            return shared.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
                let waiter = Waiter(
                    ready: { facts in
                        guard let value = find(facts) else { return nil }
                        return { continuation.resume(returning: value) }
                    },
                    cancel: { continuation.resume(returning: nil) })
                let resume: (@Sendable () -> Void)? = shared.withLock { shared in
                    if Task.isCancelled { return waiter.cancel }
                    if let ready = waiter.ready(shared.facts) { return ready }
                    shared.waiters[number] = waiter
                    return nil
                }
                resume?()
            }
        } onCancel: {
            shared.withLock { $0.waiters.removeValue(forKey: number) }?.cancel()
        }
    }

    // MARK: what the bus says

    func busConnected() {
        update { facts in
            facts.bus = .connected
            facts.isWatching = false
            facts.ownerChanged(to: nil)
        }
    }

    func busLost(_ reason: SystemError) {
        endLinks(of: nil)
        update { facts in
            facts.bus = .lost(reason)
            facts.isWatching = false
            facts.ownerChanged(to: nil)
        }
    }

    func busSignalled(_ signal: BusNotice) {
        if signal.sender == BlueZ.bus, signal.member == "NameOwnerChanged" {
            guard signal.arguments.count == 3, signal.arguments[0].text == BlueZ.service else { return }
            let owner = signal.arguments[2].text.flatMap { $0.isEmpty ? nil : $0 }
            update { $0.ownerChanged(to: owner) }
            endLinks(of: nil)
            return
        }
        let now = now
        // Nil if it changes nothing.
        let ready: [@Sendable () -> Void]? = shared.withLock { shared in
            // Only bluetoothd's word counts; anyone may send signals.
            guard signal.sender == shared.facts.owner else { return nil }
            if let value = signal.value {
                shared.values[signal.path]?.put(value)
                return nil
            }
            shared.facts.arrivedWhileLoading?.append(signal)
            guard shared.facts.tree.apply(signal, at: now) else { return nil }
            shared.facts.treeChanged()
            return shared.takeReady()
        }
        guard let ready else { return }
        for resume in ready { resume() }
        changed.yield()
        if let device = signal.disconnectedDevice { endLinks(of: device) }
    }

    /// What was connected by GATT is over.
    ///
    /// - Parameter device: its path; nil for all devices.
    private func endLinks(of device: String?) {
        closeValues(of: device)
        disconnected(device)
    }

    // MARK: values

    /// Has the values that a characteristic notifies of come in one place. Those of before come there no more.
    func takeValues(of characteristic: String) throws(SystemError) -> PacketInbox {
        let inbox = try PacketInbox()
        shared.withLock { $0.values.updateValue(inbox, forKey: characteristic) }?.close()
        return inbox
    }

    func leaveValues(of characteristic: String) { shared.withLock { $0.values[characteristic] = nil } }

    /// A device that has disconnected, or all of them, notify of nothing more.
    private func closeValues(of device: String?) {
        let values = shared.withLock { $0.values }
        for (path, inbox) in values where device.map({ path.hasPrefix($0 + "/") }) ?? true { inbox.close() }
    }

    func busCalled(_ call: BusNotice) -> BusAnswer {
        guard let owner = facts.owner, call.sender == owner else {
            return .error(name: "org.freedesktop.DBus.Error.AccessDenied", message: "only bluetoothd may call this")
        }
        if call.interface == BlueZ.advertisement, call.member == "Release" {
            update { $0.advertisementAdapter = nil }
        }
        return answer(self, call)
    }

    // MARK: calling

    /// Has the bus send bluetoothd's signals here, and asks who bluetoothd is.
    func watch() async throws {
        let rules = [
            "type='signal',sender='\(BlueZ.bus)',path='\(BlueZ.busPath)',interface='\(BlueZ.bus)',"
                + "member='NameOwnerChanged',arg0='\(BlueZ.service)'",
            "type='signal',sender='\(BlueZ.service)',interface='\(BlueZ.objects)'",
            "type='signal',sender='\(BlueZ.service)',interface='\(BlueZ.properties)',member='PropertiesChanged',"
                + "path_namespace='/org/bluez'",
        ]
        for rule in rules {
            _ = try await bus.call(BusCall(BlueZ.bus, BlueZ.busPath, BlueZ.bus, "AddMatch", [.string(rule)]))
        }
        var owner: String?
        do {
            let name = BusCall(BlueZ.bus, BlueZ.busPath, BlueZ.bus, "GetNameOwner", [.string(BlueZ.service)])
            owner = try await bus.call(name).first?.text
        } catch let error as BusError where error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
            owner = nil
        }
        update { facts in
            facts.isWatching = true
            facts.ownerChanged(to: owner)
        }
    }

    /// Reads all objects of bluetoothd.
    func load() async throws {
        guard let owner = facts.owner else { return }
        shared.withLock { $0.facts.arrivedWhileLoading = [] }
        let answer: [BusValue]
        do {
            answer = try await bus.call(BusCall(BlueZ.service, "/", BlueZ.objects, "GetManagedObjects"))
        } catch {
            shared.withLock { $0.facts.arrivedWhileLoading = nil }
            throw error
        }
        let now = now
        update { facts in
            let signals = facts.arrivedWhileLoading.take() ?? []
            guard facts.owner == owner else { return }
            facts.tree.replace(with: answer, at: now)
            // Whether a signal came before the answer or after it is not known here. All of them in their order end at
            // what is true now, whichever of them the answer has in it.
            for signal in signals { facts.tree.apply(signal, at: now) }
            facts.isLoaded = true
        }
    }

    /// Notes a link that a device has dialled: while it is there, the end of one that this side dialled leaves the device
    /// connected. Both may dial at once, over one connection, and then choose.
    func beginAcceptedUse(_ device: String) { update { $0.uses[device, default: .init()].count += 1 } }

    /// Notes the end of a dial or link to a device, which is disconnected if nobody needs it any more,
    /// whatever becomes of the caller.
    func endUse(_ device: String, wasGATT: Bool) {
        var isUnused = false
        // Both at once: a dial that waits for the end must not find the device free in between.
        update { facts in
            isUnused = facts.endUse(device, wasGATT: wasGATT)
            if isUnused { facts.leaving.insert(device) }
        }
        guard isUnused else { return }
        let isTaken = bus.post(BusCall(BlueZ.service, device, BlueZ.device, "Disconnect")) { [weak self] in
            self?.update { $0.leaving.remove(device) }
        }
        if !isTaken { update { $0.leaving.remove(device) } }
    }

    /// Calls a method of bluetoothd's at one of its objects.
    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        timeout: Duration = .seconds(25)
    ) async throws -> [BusValue] {
        try await bus.call(BusCall(BlueZ.service, path, interface, member, arguments), timeout: timeout)
    }
}

extension BusNotice {
    /// The path of a device that has disconnected, or that bluetoothd no longer has. If an adapter is unplugged, it only reports the
    /// second.
    fileprivate var disconnectedDevice: String? {
        switch (interface, member) {
        case (BlueZ.properties, "PropertiesChanged"):
            guard arguments.count == 3, arguments[0].text == BlueZ.device, let changed = arguments[1].members else {
                return nil
            }
            return changed["Connected"]?.flag == false || changed["ServicesResolved"]?.flag == false ? path : nil
        case (BlueZ.objects, "InterfacesRemoved"):
            guard arguments.count == 2, arguments[1].texts?.contains(BlueZ.device) == true else { return nil }
            return arguments[0].text
        default: return nil
        }
    }

    /// The value that a characteristic's signal is about.
    fileprivate var value: [UInt8]? {
        guard member == "PropertiesChanged", interface == BlueZ.properties, arguments.count == 3,
            arguments[0].text == BlueZ.characteristic
        else { return nil }
        return arguments[1].members?["Value"]?.data
    }
}
