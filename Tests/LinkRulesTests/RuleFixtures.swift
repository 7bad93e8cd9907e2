import BlockExchange
import Cryptography

@testable import LinkRules

/// Devices, links and addresses for the tests of the rules.
enum Fixture {
    /// In the order of `number`.
    static func device(_ number: UInt8) -> DeviceID {
        DeviceID(digest: SHA256Digest([number] + [UInt8](repeating: 0, count: 31))!)
    }

    static func link(_ number: Int, _ way: LinkWay = .wideTCP, isOurs: Bool = true, since seconds: Double = 0)
        -> LinkView
    {
        LinkView(LinkNumber(number), way: way, isOurs: isOurs, since: .seconds(seconds))
    }

    static func target(_ text: String) -> DialTarget { try! DialTarget(parsing: text) }

    static func network(_ text: String) -> NetworkPrefix { try! NetworkPrefix(parsing: text) }
}
