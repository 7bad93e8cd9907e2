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
    /// Of the files that the client provides.
    let parts = ProvidedParts()
    private let say: AsyncStream<DropNotice>.Continuation
    private let answers = Mutex(Answers())

    private struct Answers {
        var waiting: [DropAnswer] = []
        /// The number of the last offer that the user was asked about.
        var question = 0
    }

    init(number: Int) {
        self.number = number
        (notices, say) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    package func tell(_ notice: DropNotice) { say.yield(notice) }

    /// Nothing more is told, nor asked for.
    package func finish() {
        say.finish()
        parts.close()
    }

    /// Takes bytes of a file that the client provides.
    ///
    /// - Throws: `rangeNotSatisfiable` for bytes that were not asked for or are here already, `invalidRequest` for another number of
    ///   them.
    package func put(_ part: DropPart) throws(ControlError) { try parts.put(part) }

    /// Throws `invalidRequest` when nobody takes answers.
    package func put(_ answer: DropAnswer) throws(ControlError) {
        let isTaken = answers.withLock { answers in
            guard answers.waiting.count < Self.answerLimit else { return false }
            answers.waiting.append(answer)
            return true
        }
        guard isTaken else { throw .nothingToAnswer }
        wake.notify()
    }

    /// The oldest answer that was not taken. One to an earlier offer is passed over: it was given before the user saw this one.
    func takeAnswer() -> DropAnswer? {
        answers.withLock { answers in
            while !answers.waiting.isEmpty {
                let answer = answers.waiting.removeFirst()
                guard let question = answer.question, question != answers.question else { return answer }
            }
            return nil
        }
    }

    /// Forgets answers to what was asked before.
    func forgetAnswers() { answers.withLock { $0.waiting = [] } }

    /// Begins to ask about an offer, whose number answers name.
    func ask() -> Int {
        answers.withLock { answers in
            answers.waiting = []
            answers.question += 1
            return answers.question
        }
    }
}
