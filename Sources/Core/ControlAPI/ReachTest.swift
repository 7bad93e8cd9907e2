/// Whether other devices can connect to this one, as some of them have tested.
package struct ReachTest: Codable, Equatable, Sendable {
    /// What came of one address.
    package struct Result: Codable, Equatable, Sendable {
        /// `tcp://HOST:PORT`.
        package var address: String
        /// One of `outcomes`.
        package var outcome: String
        /// The reason, as a part of a sentence.
        package var message: String

        package init(address: String, outcome: String, message: String) {
            self.address = address
            self.outcome = outcome
            self.message = message
        }

        /// `not-tried` includes every reason not to dial.
        package static let outcomes = ["reached", "refused", "timed-out", "other-device", "unreachable", "not-tried"]
    }

    /// A device that was asked.
    package struct Device: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        /// How it is connected: `tcp`, `relay` or a radio.
        package var transport: String
        /// It is in a network of this machine: it cannot test how this device is reached from elsewhere.
        package var isLocal: Bool
        /// Why it has tested nothing, with what to do.
        package var problem: String?
        package var results: [Result]

        package init(
            id: String, name: String, transport: String, isLocal: Bool, problem: String? = nil, results: [Result] = []
        ) {
            self.id = id
            self.name = name
            self.transport = transport
            self.isLocal = isLocal
            self.problem = problem
            self.results = results
        }

        enum CodingKeys: String, CodingKey {
            case id, name, transport, isLocal = "local", problem, results
        }
    }

    /// Whether others reach this device over a relay.
    package struct Relay: Codable, Equatable, Sendable {
        package var isReachable: Bool
        /// Why, with what to do where it is not.
        package var message: String

        package init(isReachable: Bool, message: String) {
            self.isReachable = isReachable
            self.message = message
        }

        enum CodingKeys: String, CodingKey {
            case isReachable = "reachable", message
        }
    }

    package var schema = 1
    package var devices: [Device]
    package var relay: Relay
    /// What follows from it, with what to do next.
    package var advice: String

    package init(devices: [Device], relay: Relay, advice: String) {
        self.devices = devices
        self.relay = relay
        self.advice = advice
    }
}
