import AgentConfiguration
import BlockExchange
import LinkRules

extension ClusterConfig.Device {
    /// Adds what the configuration says of the device, as Syncthing sends it: an introducer's word is of no use without.
    ///
    /// Neither where discovery has found the device is in it, nor radio addresses, nor the token of a relay. Whether it keeps
    /// what it introduced is not said, which Syncthing does not say either.
    mutating func describe(_ configuration: DeviceConfiguration) {
        name = configuration.name
        addresses = configuration.addresses.compactMap { text in
            guard text != "dynamic" else { return text }
            guard let target = try? DialTarget(parsing: text), target.kind != .radio else { return nil }
            return target.text
        }
        isIntroducer = configuration.isIntroducer
    }

    /// Adds what this device says of itself.
    mutating func describeItself(_ name: String) {
        self.name = name
        addresses = ["dynamic"]
    }
}
