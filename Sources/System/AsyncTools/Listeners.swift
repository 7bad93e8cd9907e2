import Synchronization

/// Streams of the same elements for several reading tasks. It is part of what its owner's lock guards, so that elements come in the
/// order in which they were sent.
///
/// A stream that ends is noted under a lock of its own. Who cancels a reading task holds that task's lock in the runtime while the
/// stream ends, and who sends takes it to wake the task: if the owner's lock were taken at that end, too, each would wait for the
/// other for ever.
package struct Listeners<Element: Sendable>: Sendable {
    private struct Listener: Sendable {
        var number: UInt64
        var continuation: AsyncStream<Element>.Continuation
        /// Whether the last element found its buffer full.
        var hasLost = false
    }

    private final class Ended: Sendable {
        let numbers = Mutex<Set<UInt64>>([])
    }

    /// In the order in which they came.
    private var listeners: [Listener] = []
    private var lastNumber: UInt64 = 0
    private let ended = Ended()

    package init() {}

    /// Whether nobody reads.
    package var isEmpty: Bool {
        mutating get {
            removeEnded()
            return listeners.isEmpty
        }
    }

    /// All elements from now on, until the reading task ends.
    package mutating func add(
        bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy
    ) -> AsyncStream<Element> {
        removeEnded()
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        lastNumber &+= 1
        let number = lastNumber
        continuation.onTermination = { [ended] _ in _ = ended.numbers.withLock { $0.insert(number) } }
        listeners.append(Listener(number: number, continuation: continuation))
        return stream
    }

    /// - Parameter replacement: what those get instead who have lost the element before; nil for the same.
    package mutating func send(_ element: Element, afterLoss replacement: Element? = nil) {
        removeEnded()
        for index in listeners.indices {
            let next = listeners[index].hasLost ? replacement ?? element : element
            let result = listeners[index].continuation.yield(next)
            listeners[index].hasLost = if case .dropped = result { true } else { false }
        }
    }

    private mutating func removeEnded() {
        let numbers = ended.numbers.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
        if !numbers.isEmpty { listeners.removeAll { numbers.contains($0.number) } }
    }
}
