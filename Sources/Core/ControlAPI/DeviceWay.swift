import Phrases

/// An address of a device, and what came of it.
package struct DeviceWay: Codable, Equatable, Sendable {
    package var address: String
    /// One of `outcomes`.
    package var outcome: String
    /// What carries the links there, while there are any: `tcp-lan` and so on.
    package var transport: String?
    /// How many links are in use there.
    package var links: Int?
    /// What these links carried when they were busy last; nil if they never were.
    package var bytesPerSecond: Int64?
    /// Who says that the device is there: `configured`, `local`, `introduced` or `global`. Of a dial that failed.
    package var source: String?
    /// What was the matter, or why it is not tried, with what to do; `text` is what it was made of.
    package private(set) var message: String?
    package private(set) var text: Phrase?
    /// RFC 3339. Of a dial that failed.
    package var time: String?

    package init(
        address: String, outcome: String, transport: String? = nil, links: Int? = nil, bytesPerSecond: Int64? = nil,
        source: String? = nil, message: Phrase? = nil, time: String? = nil
    ) {
        self.address = address
        self.outcome = outcome
        self.transport = transport
        self.links = links
        self.bytesPerSecond = bytesPerSecond
        self.source = source
        self.message = message?.english
        text = message?.unlessVerbatim
        self.time = time
    }

    package var phrase: Phrase? { text ?? message.map { "\($0)" } }

    package static let outcomes = [connected, failed, notTried]
    package static let connected = "connected"
    package static let failed = "failed"
    package static let notTried = "not-tried"
}
