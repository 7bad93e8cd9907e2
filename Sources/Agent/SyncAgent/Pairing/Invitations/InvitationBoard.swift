import AgentConfiguration
import BlockExchange
import IndexStore
import Pairing
import Synchronization

/// The invitations that can be redeemed, as the index has them.
///
/// A wrong secret tells nothing and is answered late, later with each: as a secret has 128 bits, that only keeps somebody
/// who tries from costing much. A right one is never made to wait, so nobody can lock a guest out.
final class InvitationBoard: Sendable {
    private struct State {
        var invitations: [StoredInvitation] = []
        var wrongSecrets = 0
    }

    private static let longestPause = 30

    private let state = Mutex(State())
    private let now: @Sendable () -> Int64

    /// - parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    func replace(_ invitations: [StoredInvitation]) { state.withLock { $0.invitations = invitations } }

    /// Brings those that were redeemed in line with a changed configuration, as `InvitationRule` decides.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    func settle(from old: Configuration, to new: Configuration, in index: IndexStore) async throws {
        var (stored, withdrawn): ([Int64], [Int64]) = ([], [])
        for invitation in state.withLock({ $0.invitations }) {
            switch InvitationRule.outcome(of: invitation, from: old, to: new) {
            case .stored: stored.append(invitation.number)
            case .withdrawn: withdrawn.append(invitation.number)
            case nil: break
            }
        }
        guard !stored.isEmpty || !withdrawn.isEmpty else { return }
        try await index.settleInvitations(stored: stored, withdrawn: withdrawn)
        replace(try await index.invitations())
    }

    /// Whether there is one that is not expired, redeemed or not: then links may speak of invitations.
    var isOpen: Bool {
        let now = now()
        return state.withLock { $0.invitations.contains { $0.expires >= now } }
    }

    /// The invitation of this secret; one that `device` has redeemed before is found again until it expires.
    func find(_ secret: [UInt8], for device: DeviceID) throws(InvitationRefusal) -> StoredInvitation {
        let (digest, now) = (InvitationCode.digest(ofSecret: secret), now())
        let found: StoredInvitation? = state.withLock { state in
            // All are compared, so that the time does not tell which one.
            var found: StoredInvitation?
            for invitation in state.invitations where InvitationCode.isSame(invitation.digest, digest) {
                found = invitation
            }
            if found == nil { state.wrongSecrets = min(state.wrongSecrets + 1, 16) } else { state.wrongSecrets = 0 }
            return found
        }
        guard let found else { throw .unknown }
        guard found.expires >= now else { throw .expired }
        guard found.device == nil || found.device == device else { throw .used }
        return found
    }

    /// How long a wrong secret's answer waits.
    var pause: Duration {
        state.withLock { .seconds(min(Self.longestPause, 1 << min($0.wrongSecrets, 5))) }
    }
}
