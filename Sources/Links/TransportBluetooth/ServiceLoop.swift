import GhostDrop
import Logging
import MessageBus

/// Keeps this device reachable: does the next step whenever something has changed, and again later what has failed.
struct ServiceLoop {
    let core: BluetoothCore
    let publish: @Sendable (BluetoothState) -> Void

    /// How long to wait after the first, second … failure in a row; the last one repeats.
    static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(15), .seconds(60)]

    /// Runs until the task is cancelled.
    func run(_ accept: @escaping @Sendable (L2CAPSocket, BluetoothAddress) -> Void) async {
        var listener: L2CAPListener?
        var preferredPSM: UInt16?
        var failures = 0
        var retry = ContinuousClock.now
        await withTaskGroup(of: Void.self) { alarms in
            for await _ in core.client.changes {
                observeRadio()
                while let step = core.client.facts.nextStep(isRetryDue: ContinuousClock.now >= retry), !Task.isCancelled
                {
                    do {
                        switch step {
                        case .openSocket:
                            listener = try openSocket(preferring: preferredPSM, accept)
                            preferredPSM = listener?.psm ?? preferredPSM
                        case .closeSocket:
                            listener?.stop()
                            listener = nil
                            core.client.update { $0.socketAdapter = nil }
                        default: try await perform(step)
                        }
                        failures = 0
                        core.client.update { $0.refusal = nil }
                    } catch {
                        let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
                        failures += 1
                        retry = ContinuousClock.now + pause
                        refuse(step, error)
                        // One at a time: there is only one failing step.
                        alarms.cancelAll()
                        alarms.addTask { [client = core.client] in
                            try? await Task.sleep(for: pause)
                            client.remind()
                        }
                    }
                }
                publish(core.client.facts.state)
            }
            alarms.cancelAll()
        }
        listener?.stop()
    }

    /// Looks at the switches of the radio, which nobody announces.
    private func observeRadio() {
        guard core.client.facts.adapter?.isPowered != true else { return }
        let blocks = RadioSwitch.blocks()
        if core.client.facts.blocks != blocks { core.client.update { $0.blocks = blocks } }
    }

    private func refuse(_ step: BluetoothFacts.Step, _ error: any Error) {
        let busError = error as? BusError
        let denials = ["org.freedesktop.DBus.Error.AccessDenied", "org.bluez.Error.NotAuthorized"]
        let refusal = BluetoothFacts.StepError(
            step: step, isDenied: denials.contains(busError?.name ?? ""), message: "\(error)")
        core.logger.debug("Bluetooth: a step failed.", metadata: ["step": "\(step)", "error": "\(error)"])
        core.client.update { $0.refusal = refusal }
    }

    private func openSocket(
        preferring psm: UInt16?, _ accept: @escaping @Sendable (L2CAPSocket, BluetoothAddress) -> Void
    ) throws -> L2CAPListener? {
        guard let adapter = core.client.facts.adapter else { return nil }
        var listener: L2CAPListener?
        if core.configuration.offersL2CAP {
            listener = try L2CAPListener(at: adapter.address, adapter.addressKind, preferred: psm, accepted: accept) {
                [client = core.client, logger = core.logger] error in
                logger.warning("Bluetooth: listening has ended.", metadata: ["error": "\(error)"])
                client.update { $0.socketAdapter = nil }
            }
        }
        core.server.offer(
            CapabilitiesValue(capabilities: Capabilities(supportsL2CAP: listener != nil), psm: listener?.psm),
            advertisementLimit: adapter.advertisementLimit)
        core.client.update { $0.socketAdapter = adapter.path }
        return listener
    }

    private func perform(_ step: BluetoothFacts.Step) async throws {
        let client = core.client
        let facts = client.facts
        switch step {
        case .watch: try await client.watch()
        case .load: try await client.load()
        case .registerApplication:
            guard let path = facts.adapter?.path else { return }
            let arguments: [BusValue] = [.objectPath(ExportedObjects.applicationPath), .properties([:])]
            do {
                _ = try await client.call(path, BlueZ.applications, "RegisterApplication", arguments)
            } catch let error as BusError where error.name == "org.bluez.Error.AlreadyExists" {}
            client.update { $0.applicationAdapter = path }
        case .unregisterApplication:
            if let path = facts.applicationAdapter {
                // bluetoothd 5.66 was seen to crash when the service goes while a device that used it is on its way out.
                if let device = core.server.withdraw() {
                    let _: Bool? = try? await client.value(within: .seconds(4)) {
                        $0.tree.device(at: device)?.isResolved == true ? nil : true
                    }
                }
                // Whether bluetoothd still knows of it does not matter.
                let arguments: [BusValue] = [.objectPath(ExportedObjects.applicationPath)]
                _ = try? await client.call(path, BlueZ.applications, "UnregisterApplication", arguments)
            }
            client.update { $0.applicationAdapter = nil }
        case .advertise:
            guard let path = facts.adapter?.path else { return }
            let arguments: [BusValue] = [.objectPath(ExportedObjects.advertisementPath), .properties([:])]
            do {
                _ = try await client.call(path, BlueZ.advertising, "RegisterAdvertisement", arguments)
            } catch let error as BusError where error.name == "org.bluez.Error.AlreadyExists" {}
            client.update { $0.advertisementAdapter = path }
        case .stopAdvertising:
            if let path = facts.advertisementAdapter {
                let arguments: [BusValue] = [.objectPath(ExportedObjects.advertisementPath)]
                _ = try? await client.call(path, BlueZ.advertising, "UnregisterAdvertisement", arguments)
            }
            client.update { $0.advertisementAdapter = nil }
        case .openSocket, .closeSocket: break
        }
    }
}
