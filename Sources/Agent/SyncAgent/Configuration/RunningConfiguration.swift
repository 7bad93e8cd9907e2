import AgentConfiguration
import BlockExchange
import Synchronization

/// The configuration that the agent runs with, and whose it is.
final class RunningConfiguration: Sendable {
    let localDevice: DeviceID
    /// As it was when the agent was started.
    let atStart: Configuration
    private let configuration: Mutex<Configuration>

    init(_ configuration: Configuration, of localDevice: DeviceID) {
        (atStart, self.localDevice) = (configuration, localDevice)
        self.configuration = Mutex(configuration)
    }

    var current: Configuration { configuration.withLock { $0 } }

    func set(_ new: Configuration) { configuration.withLock { $0 = new } }

    /// The devices that this one knows, itself first, and their names.
    var knownDevices: [(id: DeviceID, name: String)] {
        let configuration = current
        return [(localDevice, configuration.name)] + configuration.devices.map { ($0.id, $0.name) }
    }

    /// What devices are called, this one among them, by their short ids.
    var deviceNames: [String: String] {
        let known = knownDevices.map { ($0.id.shortID.description, $0.name) }
        return Dictionary(known.dropFirst() + known.prefix(1), uniquingKeysWith: { first, _ in first })
    }
}
