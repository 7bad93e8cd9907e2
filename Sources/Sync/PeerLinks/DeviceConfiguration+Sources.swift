import AgentConfiguration
import LinkRules

extension DeviceConfiguration {
    /// Where the configuration says that the device is, by who said so. Of a device that another one introduced, that one: the user
    /// has not read the addresses, and a name may lead anywhere. No radio address comes from others.
    var statedAddresses: [AddressSource: [String]] {
        let addresses = addresses.filter { $0 != "dynamic" }
        guard introducedBy != nil else { return [.configured: addresses] }
        let isOurs = { (text: String) in (try? DialTarget(parsing: text))?.kind == .radio }
        return [.configured: addresses.filter(isOurs), .introduced: addresses.filter { !isOurs($0) }]
    }
}
