import AsyncTools
import ControlAPI
import Synchronization

/// The user's side of one request to send or to receive: what is told and what is answered.
package final class DropConversation: Sendable {
    /// Answers that nobody has taken; a user gives one at a time.
    private static let answerLimit = 16

    package let number: Int
    /// To be read by one task. Progress that is told faster than it is read is lost, the oldest first.
    package let notices: AsyncStream<DropNotice>
    /// Something came for whoever works for this request: an answer, or news of its link.
    package let wake = Signal()
    private let say: AsyncStream<DropNotice>.Continuation
    private let answers = Mutex<[DropAnswer]>([])

    init(number: Int) {
        self.number = number
        (notices, say) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    package func tell(_ notice: DropNotice) { say.yield(notice) }

    /// Nothing more is told.
    package func finish() { say.finish() }

    /// Throws `invalidRequest` when nobody takes answers.
    package func put(_ answer: DropAnswer) throws(ControlError) {
        let isTaken = answers.withLock { answers in
            guard answers.count < Self.answerLimit else { return false }
            answers.append(answer)
            return true
        }
        guard isTaken else { throw .nothingToAnswer }
        wake.notify()
    }

    /// The oldest answer that was not taken.
    func takeAnswer() -> DropAnswer? { answers.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    /// Forgets answers to what was asked before.
    func forgetAnswers() { answers.withLock { $0 = [] } }
}
