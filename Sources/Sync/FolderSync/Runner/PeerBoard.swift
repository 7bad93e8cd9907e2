import AsyncTools
import BlockExchange
import IndexStore
import Synchronization

/// What the devices that the folder is shared with have said of it since this device started.
package final class PeerBoard: Sendable {
    /// What one device has said, on its last link.
    package struct Standing: Equatable, Sendable {
        /// Up to where its index goes.
        package var announced: IndexStore.IndexState
        /// Whether it takes keep requests for the folder.
        package var takesKeepRequests: Bool
        package var isConnected = true
        /// Whether it has heard on that link how much this device keeps, and what that has promised.
        package var hasHeard = false
        /// When the link ended.
        package var seen: MonotonicTime?
    }

    private struct State {
        var standings: [DeviceID: Standing] = [:]
        /// Those that have stated on their links what they have promised; a statement may be heeded before what is shared is.
        var stated: Set<DeviceID> = []
        /// Whether each refuses this device's changes, as it said last.
        var refusals: [DeviceID: Bool] = [:]
        /// How often somebody gathers promises now.
        var gatherings = 0
        /// Counts gatherings that have ended: what they left is to be released.
        var ended = 0
    }

    private let state = Mutex(State())
    /// One at a time: a file that is freed, and a device that says it has lost its promises.
    let keepTurn = Budget(limit: 1)

    /// The indexes of the devices that are connected.
    package var all: [DeviceID: IndexStore.IndexState] {
        state.withLock { $0.standings.filter(\.value.isConnected).mapValues(\.announced) }
    }

    package var standings: [DeviceID: Standing] { state.withLock { $0.standings } }

    package func takesKeepRequests(_ device: DeviceID) -> Bool {
        state.withLock { $0.standings[device].map { $0.isConnected && $0.takesKeepRequests } ?? false }
    }

    /// The device has said on a link which index it has; nil: what it said holds no longer.
    package func set(_ device: DeviceID, _ announced: IndexStore.IndexState?, takesKeepRequests: Bool = false) {
        state.withLock { state in
            state.standings[device] = announced.map {
                Standing(announced: $0, takesKeepRequests: takesKeepRequests)
            }
        }
    }

    /// The device has said whether it refuses this one's changes. True if that is new; who has said nothing
    /// takes them.
    func note(_ device: DeviceID, refusesChanges: Bool) -> Bool {
        state.withLock { ($0.refusals.updateValue(refusesChanges, forKey: device) ?? false) != refusesChanges }
    }

    /// Whether all of these devices that have connected since this device started refuse its changes; false if none has.
    package func refuseChanges(_ devices: [DeviceID]) -> Bool {
        let said = state.withLock { state in devices.compactMap { state.refusals[$0] } }
        return !said.isEmpty && said.allSatisfy { $0 }
    }

    /// Whether the device has said since this one started that it refuses changes of this one.
    package func refusesChanges(_ device: DeviceID) -> Bool { state.withLock { $0.refusals[device] ?? false } }

    /// The link is over. What the device said is remembered.
    package func ended(_ device: DeviceID, at now: MonotonicTime) {
        state.withLock { state in
            state.stated.remove(device)
            guard state.standings[device]?.isConnected == true else { return }
            state.standings[device]?.isConnected = false
            state.standings[device]?.seen = now
        }
    }

    /// The device has heard this one's statement.
    func noteHeard(_ device: DeviceID) { state.withLock { $0.standings[device]?.hasHeard = true } }

    /// The device has stated what it promised.
    func noteStated(_ device: DeviceID) { state.withLock { _ = $0.stated.insert(device) } }

    /// Those of the connected devices that have stated on their links what they have promised.
    package var stated: Set<DeviceID> { state.withLock { $0.stated } }

    // MARK: gathering

    func beginGathering() { state.withLock { $0.gatherings += 1 } }

    func endGathering() {
        state.withLock { state in
            state.gatherings -= 1
            state.ended += 1
        }
    }

    /// A number that changes with the end of each gathering; nil while there is one.
    var quietNumber: Int? { state.withLock { $0.gatherings == 0 ? $0.ended : nil } }
}
