import Phrases

/// How this device can be reached from elsewhere, and how it finds others.
package struct ReachReport: Codable, Equatable, Sendable {
    /// A discovery server.
    package struct Server: Codable, Equatable, Sendable {
        package var url: String
        /// Seconds since this device was announced there; nil if it never was.
        package var announcedSeconds: Int?
        /// Seconds until it is announced again.
        package var nextSeconds: Int?
        /// What is the matter, with what to do; `problemText` is what it was made of.
        package private(set) var problem: String?
        package private(set) var problemText: Phrase?

        package init(url: String, announcedSeconds: Int?, nextSeconds: Int?, problem: Phrase?) {
            self.url = url
            self.announcedSeconds = announcedSeconds
            self.nextSeconds = nextSeconds
            self.problem = problem?.english
            problemText = problem?.unlessVerbatim
        }

        package var problemPhrase: Phrase? {
            get { problemText ?? problem.map { "\($0)" } }
            set { (problem, problemText) = (newValue?.english, newValue?.unlessVerbatim) }
        }
    }

    /// The address of a relay, or of a pool from which the best relay is chosen.
    package struct Relay: Codable, Equatable, Sendable {
        /// As configured, without a token.
        package var source: String
        /// The relay that is joined or was tried last.
        package var address: String?
        /// `choosing`, `connecting`, `joined`, `waiting` or `stopped`.
        package var state: String
        package var joinedSeconds: Int?
        package var roundTripMilliseconds: Int?
        package private(set) var problem: String?
        package private(set) var problemText: Phrase?

        package init(
            source: String, address: String?, state: String, joinedSeconds: Int?, roundTripMilliseconds: Int?,
            problem: Phrase?
        ) {
            self.source = source
            self.address = address
            self.state = state
            self.joinedSeconds = joinedSeconds
            self.roundTripMilliseconds = roundTripMilliseconds
            self.problem = problem?.english
            problemText = problem?.unlessVerbatim
        }

        package var problemPhrase: Phrase? {
            get { problemText ?? problem.map { "\($0)" } }
            set { (problem, problemText) = (newValue?.english, newValue?.unlessVerbatim) }
        }
    }

    /// A known device.
    package struct Device: Codable, Equatable, Sendable {
        /// What a dial came to that led to no link.
        package struct Failure: Codable, Equatable, Sendable {
            package var address: String
            /// Who says that the device is there: `configured`, `local`, `introduced` or `global`.
            package var source: String
            /// What was the matter, with what to do; `text` is what it was made of.
            package private(set) var message: String
            package private(set) var text: Phrase?
            package var time: String

            package init(address: String, source: String, message: Phrase, time: String) {
                self.address = address
                self.source = source
                self.message = message.english
                text = message.unlessVerbatim
                self.time = time
            }

            package var phrase: Phrase { text ?? "\(message)" }

            /// Who says that the device is there, for people.
            package var sourceText: Phrase {
                switch source {
                case "configured": Phrase("configuration")
                case "local": Phrase("local discovery")
                case "global": Phrase("discovery server")
                case "introduced": Phrase("introducer")
                default: "\(source)"
                }
            }
        }

        /// An address that is not dialled.
        package struct Untried: Codable, Equatable, Sendable {
            package var address: String
            /// Why, and what would change that; `text` is what it was made of.
            package private(set) var message: String
            package private(set) var text: Phrase?

            package init(address: String, message: Phrase) {
                self.address = address
                self.message = message.english
                text = message.unlessVerbatim
            }

            package var phrase: Phrase { text ?? "\(message)" }
        }

        package var id: String
        package var name: String
        /// The addresses of the links in use, that of the index exchange first; empty while it is not connected.
        package var links: [String]
        /// What links of `links` carried when they were busy last, in bytes per second, by their texts; those of one text together.
        package var rates: [String: Int64]
        package var failures: [Failure]
        package var untried: [Untried]

        package init(
            id: String, name: String, links: [String], rates: [String: Int64] = [:], failures: [Failure],
            untried: [Untried] = []
        ) {
            self.id = id
            self.name = name
            self.links = links
            self.rates = rates
            self.failures = failures
            self.untried = untried
        }
    }

    package var schema = 1
    /// What is announced to discovery servers; empty while nothing is.
    package var announcedAddresses: [String]
    package var servers: [Server]
    package var relays: [Relay]
    /// A sentence for each router that was asked to map a port.
    package var routers: [String]
    /// The proxy that connections take, without user and password; nil for none.
    package var proxy: String?
    package var devices: [Device]

    package init(
        announcedAddresses: [String] = [], servers: [Server] = [], relays: [Relay] = [], routers: [String] = [],
        proxy: String? = nil, devices: [Device] = []
    ) {
        self.announcedAddresses = announcedAddresses
        self.servers = servers
        self.relays = relays
        self.routers = routers
        self.proxy = proxy
        self.devices = devices
    }
}
