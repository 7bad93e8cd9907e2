import MessageBus
import Transport

/// Scanning by bluetoothd: on while anybody needs it. Other programs that scan are not disturbed, for bluetoothd
/// combines what all of them ask for.
actor Discovery {
    private let client: BlueZClient
    private var users: [String: Int] = [:]

    init(client: BlueZClient) { self.client = client }

    /// Scans in the duty cycle until `find` gives something, and gives that; nil when `limit` is over before.
    nonisolated func scan<Value: Sendable>(
        _ adapter: String, cycle: DutyCycle, limit: Duration, for find: @escaping @Sendable (BluetoothFacts) -> Value?
    ) async throws -> Value? {
        if let value = find(client.facts) { return value }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await self.client.value(within: limit, find) }
            group.addTask {
                let start = ContinuousClock.now
                while let stretch = cycle.stretch(at: ContinuousClock.now - start, until: limit) {
                    if stretch.isScanning {
                        try await self.begin(adapter)
                        try? await Task.sleep(for: stretch.length)
                        await self.end(adapter)
                    } else {
                        try? await Task.sleep(for: stretch.length)
                    }
                    try Task.checkCancellation()
                }
                return nil
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
                // The other one may still find what came in the last moment.
            }
            return nil
        }
    }

    private func begin(_ adapter: String) async throws {
        users[adapter, default: 0] += 1
        guard users[adapter] == 1 else { return }
        do {
            let filter: [String: BusValue] = [
                "Transport": .string("le"), "UUIDs": .strings([SurfaceUUID.service]),
                // Each advertisement is news of the signal's strength.
                "DuplicateData": .boolean(true),
            ]
            _ = try await client.call(adapter, BlueZ.adapter, "SetDiscoveryFilter", [.properties(filter)])
            _ = try await client.call(adapter, BlueZ.adapter, "StartDiscovery")
        } catch let error as BusError where error.name == "org.bluez.Error.InProgress" {
            // The end of the last scan is still on its way; scanning goes on.
        } catch {
            end(adapter)
            throw error
        }
    }

    private func end(_ adapter: String) {
        guard let count = users[adapter] else { return }
        users[adapter] = count > 1 ? count - 1 : nil
        // Posted, for it must also happen when the task was cancelled. The bus keeps the order of calls.
        if count == 1 { client.bus.post(BusCall(BlueZ.service, adapter, BlueZ.adapter, "StopDiscovery")) }
    }
}
