import AgentContext
import Arithmetic
import AsyncTools
import ControlAPI
import Synchronization

// bounded-names: size offset: sizes are 0 to 2^53-1 (`ProvidedFile.check`), and positions are within them

/// Parts of the files that a client provides: those that it is asked for, and those that came.
///
/// One range is read at a time. The parts behind the one that is read are asked for ahead, `askedLimit` in all, and `heldLimit` are
/// kept, so that memory is bounded whatever the client does, and a file of this size is asked for once though it is read twice.
final class ProvidedParts: Sendable {
    struct File: Sendable {
        /// In the request, from 0 on.
        var place: Int
        var name: String
        var size: Int64
    }

    /// Bytes of a file, as many as `DropPart.longest` but at its end.
    struct Part: Hashable, Sendable {
        var place: Int
        var offset: Int64
        var count: Int

        /// The one that a position is in.
        init(at position: Int64, of file: File) {
            place = file.place
            // bounded: a part has at least one byte
            offset = position - position % Int64(DropPart.longest)
            count = Int(min(Int64(DropPart.longest), file.size - offset))
        }

        var end: Int64 { offset + Int64(count) }
    }

    private struct State {
        var asked: [Part] = []
        /// What was read or came last is at the end.
        var held: [(part: Part, bytes: [UInt8])] = []
        /// Of the files that cannot be sent, by their places.
        var problems: [Int: DropPart.Problem] = [:]
        var arrivalCount = 0
        var isOver = false
    }

    private struct Look {
        /// Nil if the part has not come yet.
        var bytes: [UInt8]?
        /// What the client is to be asked for.
        var unasked: [Part]
        var arrivalCount: Int
    }

    /// Parts that the client has been asked for and has not sent.
    private static let askedLimit = 4
    private static let heldLimit = 8
    /// How long a client is waited for that sends nothing. Less than any limit of the link that the file goes over.
    private static let patience = Duration.seconds(30)

    private let turn = Budget(limit: 1)
    private let arrived = Signal()
    private let state = Mutex(State())

    /// Gives the bytes of a range once they have all come.
    ///
    /// - Parameters:
    ///   - range: within the file.
    ///   - ask: tells the client what is wanted.
    /// - Throws: `ControlError` (`dropFailed` if the client says that it cannot send the file; `timeout` if it sends nothing);
    ///   `CancellationError`, also when the request is over.
    func read(
        _ range: Range<Int64>, of file: File, time: AgentTime, ask: @Sendable (Part) -> Void
    ) async throws -> [UInt8] {
        try await turn.withUnits(1) {
            var bytes: [UInt8] = []
            var position = range.lowerBound
            while position < range.upperBound {
                let part = Part(at: position, of: file)
                let end = min(part.end, range.upperBound)
                let content = try await self.bytes(of: part, of: file, time: time, ask: ask)
                bytes += content[Int(position - part.offset)..<Int(end - part.offset)]
                position = end
            }
            return bytes
        }
    }

    private func bytes(
        of part: Part, of file: File, time: AgentTime, ask: @Sendable (Part) -> Void
    ) async throws -> [UInt8] {
        var deadline = time.monotonic() + Self.patience
        var arrivalCount: Int?
        while true {
            try Task.checkCancellation()
            let look = try look(for: part, of: file)
            for part in look.unasked { ask(part) }
            if let bytes = look.bytes { return bytes }
            // A client that sends other parts is slow, and comes to this one.
            if look.arrivalCount != arrivalCount { deadline = time.monotonic() + Self.patience }
            arrivalCount = look.arrivalCount
            let rest = deadline - time.monotonic()
            guard rest > .zero else {
                state.withLock { $0.asked = [] }
                throw ControlError(
                    .timeout,
                    "\(file.name) was not sent: the page stopped sending it to the agent. Leave the page open, and send it again.",
                    isRetryable: true)
            }
            await arrived.wait(atMost: rest, clock: time.clock)
        }
    }

    /// Looks for a part, and decides what is asked for: it and those behind it, and nothing of elsewhere any more.
    private func look(for part: Part, of file: File) throws -> Look {
        var wanted = [part]
        while wanted.count < Self.askedLimit, let last = wanted.last, last.end < file.size {
            wanted.append(Part(at: last.end, of: file))
        }
        return try state.withLock { state in
            guard !state.isOver else { throw CancellationError() }
            if let problem = state.problems[file.place] { throw Self.error(problem, file.name) }
            var bytes: [UInt8]?
            if let index = state.held.firstIndex(where: { $0.part == part }) {
                let held = state.held.remove(at: index)
                state.held.append(held)
                bytes = held.bytes
            }
            state.asked.removeAll { !wanted.contains($0) }
            let unasked = wanted.filter { part in
                !state.asked.contains(part) && !state.held.contains { $0.part == part }
            }
            state.asked += unasked
            return Look(bytes: bytes, unasked: unasked, arrivalCount: state.arrivalCount)
        }
    }

    private static func error(_ problem: DropPart.Problem, _ name: String) -> ControlError {
        switch problem {
        case .changed:
            ControlError(.dropFailed, "\(name) was not sent: it changed after it was chosen. Choose it again.")
        case .unreadable:
            ControlError(
                .dropFailed,
                "\(name) was not sent: it cannot be read any more. It was changed, moved or deleted; choose it again.")
        }
    }

    /// Takes bytes that were asked for.
    ///
    /// - Throws: `rangeNotSatisfiable` for others, `invalidRequest` for another number of them.
    func put(_ part: DropPart) throws(ControlError) {
        let refusal = state.withLock { state -> ControlError? in
            guard let index = state.asked.firstIndex(where: { $0.place == part.place && $0.offset == part.offset })
            else {
                return ControlError(
                    .rangeNotSatisfiable,
                    "The transfer does not ask for these bytes, or has them. Send what a notice `wanted` names.")
            }
            let asked = state.asked[index]
            if let problem = part.problem {
                state.problems[part.place] = problem
            } else {
                guard part.bytes.count == asked.count else {
                    return ControlError(
                        .invalidRequest, "The transfer asks for \(asked.count) bytes, not \(part.bytes.count).")
                }
                if state.held.count == Self.heldLimit { state.held.removeFirst() }
                state.held.append((asked, part.bytes))
            }
            state.asked.remove(at: index)
            state.arrivalCount &+= 1
            return nil
        }
        if let refusal { throw refusal }
        arrived.notify()
    }

    /// Ends the reads that wait: the request is over.
    func close() {
        state.withLock { state in
            state.isOver = true
            (state.asked, state.held) = ([], [])
        }
        arrived.notify()
    }
}
