import NIOCore

/// A place where links arrive: an asynchronous sequence of what the installer made of them.
///
/// Holds a bounded number of links that are being set up or wait to be taken; while it is full, peers wait in the
/// transport's own queue. One task iterates. Ends after `close()`, which must be called when the listener is done with.
package struct LinkListener<Output: Sendable>: AsyncSequence, Sendable {
    package typealias Element = Output
    package typealias Failure = Never

    /// Where it listens, with the port that was really taken.
    package let address: LinkAddress
    private let accepted: AcceptedLinks<Output>
    private let stop: @Sendable () async -> Void

    /// - Parameter stop: stops accepting and returns when the address is free again.
    package init(address: LinkAddress, accepted: AcceptedLinks<Output>, stop: @escaping @Sendable () async -> Void) {
        self.address = address
        self.accepted = accepted
        self.stop = stop
    }

    /// Stops listening, closes what was not taken and ends the sequence. The address is free when it returns; links that
    /// were taken live on.
    package func close() async {
        await stop()
        accepted.close()
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(accepted: accepted, keys: accepted.readyKeys.makeAsyncIterator())
    }

    package struct Iterator: AsyncIteratorProtocol {
        let accepted: AcceptedLinks<Output>
        var keys: AsyncStream<ObjectIdentifier>.Iterator

        /// The next link; nil after `close()` and when the task is cancelled.
        package mutating func next() async -> Output? {
            while let key = await keys.next(isolation: #isolation) {
                if let output = accepted.take(key) { return output }
            }
            return nil
        }
    }
}
