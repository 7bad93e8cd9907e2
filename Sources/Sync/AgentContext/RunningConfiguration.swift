import AgentConfiguration
import BlockExchange
import Synchronization

/// The configuration that the agent runs with, and whose it is.
package final class RunningConfiguration: Sendable {
    package let localDevice: DeviceID
    /// As it was when the agent was started.
    package let atStart: Configuration
    private let configuration: Mutex<Configuration>

    package init(_ configuration: Configuration, of localDevice: DeviceID) {
        (atStart, self.localDevice) = (configuration, localDevice)
        self.configuration = Mutex(configuration)
    }

    package var current: Configuration { configuration.withLock { $0 } }

    package func set(_ new: Configuration) { configuration.withLock { $0 = new } }

    /// The devices that this one knows, itself first, and their names.
    package var knownDevices: [(id: DeviceID, name: String)] {
        let configuration = current
        return [(localDevice, configuration.name)] + configuration.devices.map { ($0.id, $0.name) }
    }

    /// What devices are called, this one among them, by their short ids.
    package var deviceNames: [String: String] {
        let known = knownDevices.map { ($0.id.shortID.description, $0.name) }
        return Dictionary(known.dropFirst() + known.prefix(1), uniquingKeysWith: { first, _ in first })
    }
}
