import Transport

/// A transport as the conformance suite sees it: how to make both ends of a link, and what may differ between kinds.
package struct ConformanceSubject: Sendable {
    /// The side that dials and the side that listens; the same for most.
    package var dialler: any LinkTransport
    package var listener: any LinkTransport
    /// Where to listen: a port or name that is free at each call.
    package var address: @Sendable () -> LinkAddress
    /// Where nobody ever answers: a dial of it hangs until it is cancelled.
    package var silentAddress: LinkAddress
    package var kind: LinkKind
    /// Whether one direction can be closed alone.
    package var closesDirectionsApart: Bool
    /// Most bytes that a sender gets rid of while the other side reads nothing.
    package var bufferLimit: Int
    /// Size of the large transfers; more than `bufferLimit`.
    package var transferByteCount: Int
    /// How many links the cycle check makes.
    package var cycleCount: Int
    /// Makes the link another one while it is in use (rate, delay, loss); called with 0, 1, 2, ….
    package var change: (@Sendable (Int) async throws -> Void)?
    /// Breaks all links without a word to their ends.
    package var breakLinks: (@Sendable () async throws -> Void)?
    /// For one dial.
    package var dialLimit: Duration = .seconds(60)

    package init(
        dialler: any LinkTransport, listener: any LinkTransport, address: @escaping @Sendable () -> LinkAddress,
        silentAddress: LinkAddress, kind: LinkKind, closesDirectionsApart: Bool, bufferLimit: Int,
        transferByteCount: Int, cycleCount: Int, change: (@Sendable (Int) async throws -> Void)? = nil,
        breakLinks: (@Sendable () async throws -> Void)? = nil
    ) {
        self.dialler = dialler
        self.listener = listener
        self.address = address
        self.silentAddress = silentAddress
        self.kind = kind
        self.closesDirectionsApart = closesDirectionsApart
        self.bufferLimit = bufferLimit
        self.transferByteCount = transferByteCount
        self.cycleCount = cycleCount
        self.change = change
        self.breakLinks = breakLinks
    }
}

/// What a transport does not do as `LinkTransport` says.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(message()) }
}
