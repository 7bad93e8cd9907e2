import Synchronization

/// A first-in first-out line from many producers to one consumer: when `limit` elements wait, producers wait too.
package final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        /// Elements before it are gone; taking one costs no move of the others.
        var head = 0
        var isFinished = false
    }

    private let room: Budget
    private let state = Mutex(State())
    private let hasElement = Signal()

    package init(limit: Int) { room = Budget(limit: limit) }

    /// Appends once there is room. False if the queue was finished or the task cancelled: the element is dropped.
    package func send(_ element: Element) async -> Bool {
        guard await room.take(1) else { return false }
        let isTaken = state.withLock { state in
            guard !state.isFinished else { return false }
            state.elements.append(element)
            return true
        }
        hasElement.notify()
        return isTaken
    }

    /// Appends if there is room at once; else false and the element is dropped.
    package func sendIfRoom(_ element: Element) -> Bool {
        guard room.takeIfFree(1) else { return false }
        let isTaken = state.withLock { state in
            guard !state.isFinished else { return false }
            state.elements.append(element)
            return true
        }
        hasElement.notify()
        return isTaken
    }

    /// For what may be lost when the queue is over: the one who reads it has gone.
    package func sendOrDrop(_ element: Element) async { _ = await send(element) }

    /// The next element; nil once the queue is finished and empty, or the task cancelled.
    package func next() async -> Element? {
        while !Task.isCancelled {
            if let element = nextIfReady() { return element }
            if state.withLock({ $0.isFinished && $0.head == $0.elements.count }) { return nil }
            await hasElement.wait()
        }
        return nil
    }

    /// The next element if one waits already.
    package func nextIfReady() -> Element? {
        let element = state.withLock { state -> Element? in
            guard state.head < state.elements.count else { return nil }
            let element = state.elements[state.head]
            state.head += 1
            if state.head == state.elements.count {
                state.elements.removeAll(keepingCapacity: true)
                state.head = 0
            } else if state.head > 64, state.head * 2 > state.elements.count {
                state.elements.removeFirst(state.head)
                state.head = 0
            }
            return element
        }
        if element != nil { room.give(1) }
        return element
    }

    /// Ends the queue: what is in it can still be taken, producers that wait are let go.
    package func finish() {
        state.withLock { $0.isFinished = true }
        room.close()
        hasElement.notify()
    }
}
