/// How one discovery server does, for people.
package struct DiscoveryServerState: Equatable, Sendable {
    /// What was tried with it, in one direction.
    package struct Activity: Equatable, Sendable {
        /// How long ago the server last answered as it should; nil when it never has.
        package var sinceSuccess: Duration?
        /// How long until the next attempt; nil when it waits for an occasion, or is under way.
        package var untilNext: Duration?
        /// What went wrong at the last attempt, with the remedy; nil when nothing did, and when that is long ago or was in another
        /// network.
        package var problem: String?

        package init(sinceSuccess: Duration? = nil, untilNext: Duration? = nil, problem: String? = nil) {
            self.sinceSuccess = sinceSuccess
            self.untilNext = untilNext
            self.problem = problem
        }
    }

    package var server: DiscoveryServer
    /// Nil for a server that is for lookups only.
    package var announcing: Activity?
    /// Nil for a server that is for announcements only.
    package var lookingUp: Activity?

    package init(server: DiscoveryServer, announcing: Activity?, lookingUp: Activity?) {
        self.server = server
        self.announcing = announcing
        self.lookingUp = lookingUp
    }

    /// What keeps discovery from working; nil while one server takes announcements and one answers lookups, or nothing
    /// was tried yet.
    package static func problem(of states: [DiscoveryServerState]) -> String? {
        for activities in [states.compactMap(\.announcing), states.compactMap(\.lookingUp)] {
            guard activities.allSatisfy({ $0.problem != nil }), let problem = activities.first?.problem else {
                continue
            }
            return problem
        }
        return nil
    }
}

/// What happened, for logs and for whoever dials.
package enum GlobalDiscoveryEvent: Equatable, Sendable {
    /// A server took these addresses.
    case announced(DiscoveryServer, [String])
    /// A server did not, for this reason; reported when the reason changes.
    case announcementFailed(DiscoveryServer, String)
    /// A lookup failed, for this reason; reported when the reason changes.
    case lookupFailed(DiscoveryServer, String)
}
