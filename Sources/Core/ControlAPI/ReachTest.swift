import Phrases

/// Whether other devices can connect to this one, as some of them have tested.
package struct ReachTest: Codable, Equatable, Sendable {
    /// What came of one address.
    package struct Result: Codable, Equatable, Sendable {
        /// `tcp://HOST:PORT`.
        package var address: String
        /// One of `outcomes`.
        package var outcome: String
        /// The reason, as a part of a sentence; `text` is what it was made of.
        package private(set) var message: String
        package private(set) var text: Phrase?

        package init(address: String, outcome: String, message: Phrase) {
            self.address = address
            self.outcome = outcome
            self.message = message.english
            text = message.unlessVerbatim
        }

        package var phrase: Phrase { text ?? "\(message)" }

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
        /// Why it has tested nothing, with what to do; `problemText` is what it was made of.
        package private(set) var problem: String?
        package private(set) var problemText: Phrase?
        package var results: [Result]

        package init(
            id: String, name: String, transport: String, isLocal: Bool, problem: Phrase? = nil, results: [Result] = []
        ) {
            self.id = id
            self.name = name
            self.transport = transport
            self.isLocal = isLocal
            self.problem = problem?.english
            problemText = problem?.unlessVerbatim
            self.results = results
        }

        package var problemPhrase: Phrase? {
            get { problemText ?? problem.map { "\($0)" } }
            set { (problem, problemText) = (newValue?.english, newValue?.unlessVerbatim) }
        }

        enum CodingKeys: String, CodingKey {
            case id, name, transport, isLocal = "local", problem, problemText, results
        }
    }

    /// Whether others reach this device over a relay.
    package struct Relay: Codable, Equatable, Sendable {
        package var isReachable: Bool
        /// Why, with what to do where it is not; `text` is what it was made of.
        package private(set) var message: String
        package private(set) var text: Phrase?

        package init(isReachable: Bool, message: Phrase) {
            self.isReachable = isReachable
            self.message = message.english
            text = message.unlessVerbatim
        }

        package var phrase: Phrase { text ?? "\(message)" }

        enum CodingKeys: String, CodingKey {
            case isReachable = "reachable", message, text
        }
    }

    package var schema = 1
    package var devices: [Device]
    package var relay: Relay
    /// What follows from it, with what to do next; `adviceText` is what it was made of.
    package private(set) var advice: String
    package private(set) var adviceText: Phrase?

    package init(devices: [Device], relay: Relay, advice: Phrase) {
        self.devices = devices
        self.relay = relay
        self.advice = advice.english
        adviceText = advice.unlessVerbatim
    }

    package var advicePhrase: Phrase { adviceText ?? "\(advice)" }
}
