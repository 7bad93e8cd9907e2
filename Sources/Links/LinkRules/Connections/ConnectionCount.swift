/// How many connections two devices keep (Hello field 4, since Syncthing 1.25).
package enum ConnectionCount {
    /// As Syncthing 2 between two of its kind.
    package static let standard = 3
    /// The most that Syncthing keeps, whatever is asked for.
    static let protocolLimit = 128
    /// The most that this device keeps for one device: a peer may ask for 128, each of which costs memory here.
    package static let limit = 16

    /// The setting `connections`: 0 stands for the standard, less for one.
    package static func own(setting: Int) -> Int {
        setting == 0 ? standard : min(max(1, setting), limit)
    }

    /// - Parameters:
    ///   - own: what this device says in its Hello.
    ///   - peer: what the peer's says; 0 if it says nothing.
    /// - Returns: one if either end wants one, otherwise the larger number, as far as this device goes along.
    package static func wanted(own: Int, peer: Int32) -> Int {
        guard own > 1, peer > 1 else { return 1 }
        return min(max(own, Int(peer)), protocolLimit, limit)
    }
}
